"""A window of GTK 3 widgets that writes down what reaches it. See README.md."""

import signal

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402

from stage_log import FRUITS, KEYS, MODIFIERS, ROWS, Clicks, box, log, log_key, ready  # noqa: E402

MASKS = dict(zip(MODIFIERS, [
    Gdk.ModifierType.CONTROL_MASK, Gdk.ModifierType.SHIFT_MASK, Gdk.ModifierType.MOD1_MASK,
    Gdk.ModifierType.SUPER_MASK | Gdk.ModifierType.MOD4_MASK,
]))
BUTTONS = {1: Gdk.ModifierType.BUTTON1_MASK, 2: Gdk.ModifierType.BUTTON2_MASK, 3: Gdk.ModifierType.BUTTON3_MASK}
WHEEL = {
    Gdk.ScrollDirection.UP: (0, -1), Gdk.ScrollDirection.DOWN: (0, 1),
    Gdk.ScrollDirection.LEFT: (-1, 0), Gdk.ScrollDirection.RIGHT: (1, 0),
}


def modifiers(state):
    return [name for name, mask in MASKS.items() if state & mask]


class Stage(Gtk.Window):
    def __init__(self):
        super().__init__(title="Stage (gtk3)", default_width=900, default_height=640)
        self.widgets, self.clicks, self.shown = {}, Clicks(), False
        everything = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        everything.pack_start(self.menu_bar(), False, False, 0)
        columns = Gtk.Box(spacing=12, border_width=8)
        columns.pack_start(self.controls(), True, True, 0)
        columns.pack_start(self.texts(), True, True, 0)
        columns.pack_start(self.rows(), True, True, 0)
        everything.pack_start(columns, True, True, 0)
        everything.pack_start(self.canvas(), False, False, 8)
        self.add(everything)
        for name, widget in self.widgets.items():
            widget.connect("focus-in-event", lambda _widget, _event, name=name: log("focus", widget=name))
        self.connect("destroy", self.closed)

    def keep(self, name, accessible, widget):
        widget.get_accessible().set_name(accessible)
        widget.set_name(name)
        self.widgets[name] = widget
        return widget

    def menu_bar(self):
        tree = {"File": ["New", "Open…", "Quit"], "View": ["Dark", {"Zoom": ["In", "Out"]}]}
        bar = Gtk.MenuBar()
        for title, items in tree.items():
            bar.append(self.submenu(title, items, title))
        self.widgets["menu"] = bar
        return bar

    def submenu(self, title, items, path):
        top, menu = Gtk.MenuItem(label=title), Gtk.Menu()
        for item in items:
            if isinstance(item, dict):
                for inner, inner_items in item.items():
                    menu.append(self.submenu(inner, inner_items, f"{path}/{inner}"))
                continue
            entry = Gtk.CheckMenuItem(label=item) if item == "Dark" else Gtk.MenuItem(label=item)
            entry.connect("activate", self.menu_item, f"{path}/{item}")
            menu.append(entry)
        top.set_submenu(menu)
        return top

    def menu_item(self, item, path):
        checked = {"checked": item.get_active()} if isinstance(item, Gtk.CheckMenuItem) else {}
        log("menu", item=path, **checked)
        if path == "File/Quit":
            self.destroy()

    def controls(self):
        column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=8)
        for name, label in [("ok", "OK"), ("disabled", "Disabled")]:
            button = self.keep(name, label, Gtk.Button(label=label))
            button.connect("clicked", self.clicked, name)
            button.connect("button-press-event", self.button_pressed)
            button.set_sensitive(name != "disabled")
            column.pack_start(button, False, False, 0)
        check = self.keep("check", "Remember", Gtk.CheckButton(label="Remember"))
        check.connect("toggled", lambda check: log("toggle", widget="check", checked=check.get_active()))
        column.pack_start(check, False, False, 0)
        for name, label in [("entry", "Name"), ("password", "Password")]:
            entry = self.keep(name, label, Gtk.Entry(placeholder_text=label, visibility=name == "entry"))
            entry.connect("changed", lambda entry, name=name: log("text", widget=name, text=entry.get_text()))
            column.pack_start(entry, False, False, 0)
        slider = self.keep("slider", "Volume", Gtk.Scale.new_with_range(Gtk.Orientation.HORIZONTAL, 0, 100, 1))
        slider.set_draw_value(False)
        slider.set_round_digits(0)
        slider.set_value(50)
        slider.connect("value-changed", lambda slider: log("value", widget="slider", value=round(slider.get_value())))
        column.pack_start(slider, False, False, 0)
        column.pack_start(self.drag_and_drop(), False, False, 0)
        return column

    def clicked(self, _button, name):
        event = Gtk.get_current_event()
        pointer, state = {}, 0
        if event and event.type == Gdk.EventType.BUTTON_RELEASE:
            pointer = {"button": event.button.button, "count": self.clicks.last[-1] if self.clicks.last else 1}
            state = event.button.state
        log("click", widget=name, **pointer, modifiers=modifiers(state))

    def button_pressed(self, _button, event):
        if event.type == Gdk.EventType.BUTTON_PRESS:
            self.clicks.count(event.button, event.x, event.y, event.time)

    def drag_and_drop(self):
        line = Gtk.Box(spacing=8, homogeneous=True)
        source, target = Gtk.EventBox(), Gtk.EventBox()
        for name, label, place in [("source", "Drag me", source), ("target", "Drop here", target)]:
            frame = Gtk.Frame(height_request=50)
            frame.add(Gtk.Label(label=label))
            place.add(frame)
            line.pack_start(self.keep(name, label, place), True, True, 0)
        source.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY)
        source.drag_source_add_text_targets()
        source.connect("drag-begin", lambda *_: log("drag", widget="source"))
        source.connect("drag-data-get", lambda _w, _c, data, *_: data.set_text("cargo", -1))
        target.drag_dest_set(Gtk.DestDefaults.ALL, [], Gdk.DragAction.COPY)
        target.drag_dest_add_text_targets()
        target.connect(
            "drag-data-received",
            lambda _w, _c, _x, _y, data, *_: log("drop", widget="target", text=data.get_text()),
        )
        return line

    def texts(self):
        column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=8)
        text = self.keep("text", "Notes", Gtk.TextView(wrap_mode=Gtk.WrapMode.WORD_CHAR))
        buffer = text.get_buffer()
        buffer.connect("changed", lambda buffer: log("text", widget="text", text=buffer.props.text))
        scrolled = Gtk.ScrolledWindow(shadow_type=Gtk.ShadowType.IN, height_request=140)
        scrolled.add(text)
        column.pack_start(scrolled, True, True, 0)
        store = Gtk.ListStore(str)
        for fruit in FRUITS:
            store.append([fruit])
        fruits = self.keep("list", "Fruits", Gtk.TreeView(model=store, headers_visible=False, reorderable=True))
        fruits.append_column(Gtk.TreeViewColumn("Fruits", Gtk.CellRendererText(), text=0))
        # Dragging a row inserts it at its new place and then deletes the old one.
        store.connect("row-deleted", lambda store, _path: log("order", widget="list", items=[r[0] for r in store]))
        frame = Gtk.Frame()
        frame.add(fruits)
        column.pack_start(frame, False, False, 0)
        return column

    def rows(self):
        inner = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        for row in ROWS:
            inner.pack_start(Gtk.Label(label=row, xalign=0, height_request=24), False, False, 0)
        scrolled = self.keep("rows", "Rows", Gtk.ScrolledWindow(shadow_type=Gtk.ShadowType.IN))
        scrolled.add(inner)
        down, right = scrolled.get_vadjustment(), scrolled.get_hadjustment()
        for adjustment in (down, right):
            adjustment.connect(
                "value-changed",
                lambda _: log("scroll", widget="rows", x=round(right.get_value()), y=round(down.get_value())),
            )
        return scrolled

    def canvas(self):
        canvas = self.keep("canvas", "Canvas", Gtk.DrawingArea(can_focus=True, height_request=190))
        canvas.add_events(
            Gdk.EventMask.BUTTON_PRESS_MASK | Gdk.EventMask.BUTTON_RELEASE_MASK | Gdk.EventMask.SCROLL_MASK
            | Gdk.EventMask.POINTER_MOTION_MASK | Gdk.EventMask.KEY_PRESS_MASK | Gdk.EventMask.KEY_RELEASE_MASK
        )
        canvas.connect("draw", self.draw)
        for event in ["button-press-event", "button-release-event"]:
            canvas.connect(event, self.canvas_button)
        canvas.connect("motion-notify-event", self.canvas_motion)
        canvas.connect("scroll-event", self.canvas_wheel)
        for event in ["key-press-event", "key-release-event"]:
            canvas.connect(event, self.canvas_key)
        return canvas

    def draw(self, canvas, paint):
        paint.set_source_rgb(0.87, 0.93, 1.0)
        paint.paint()
        if not self.shown:
            self.shown = True
            GLib.idle_add(self.ready)

    def ready(self):
        places = {}
        for name, widget in self.widgets.items():
            x, y = widget.translate_coordinates(self, 0, 0)
            places[name] = box(x, y, widget.get_allocated_width(), widget.get_allocated_height())
        ready("gtk3", places)

    def canvas_button(self, canvas, event):
        what = {Gdk.EventType.BUTTON_PRESS: "press", Gdk.EventType.BUTTON_RELEASE: "release"}.get(event.type)
        if not what:
            return True
        place = {"x": round(event.x), "y": round(event.y)}
        screen = {"screen_x": round(event.x_root), "screen_y": round(event.y_root)}
        common = {"widget": "canvas", "button": event.button, "modifiers": modifiers(event.state)}
        log(what, **common, **place, **screen, sent=bool(event.send_event))
        if what == "press":
            canvas.grab_focus()
            self.clicks.count(event.button, event.x, event.y, event.time)
        elif self.clicks.last and self.clicks.last[0] == event.button:
            log("click", **common, count=self.clicks.last[-1], **place)
        return True

    def canvas_motion(self, _canvas, event):
        down = [button for button, mask in BUTTONS.items() if event.state & mask]
        log("motion", widget="canvas", modifiers=modifiers(event.state), buttons=down, x=round(event.x), y=round(event.y), sent=bool(event.send_event))

    def canvas_wheel(self, _canvas, event):
        dx, dy = WHEEL.get(event.direction, (event.delta_x, event.delta_y))
        log("wheel", widget="canvas", dx=dx, dy=dy, modifiers=modifiers(event.state), sent=bool(event.send_event))
        return True

    def canvas_key(self, _canvas, event):
        name = Gdk.keyval_name(event.keyval) or ""
        character = chr(Gdk.keyval_to_unicode(event.keyval) or 0)
        key = KEYS.get(name) or (character if character.isprintable() else name)
        down = event.type == Gdk.EventType.KEY_PRESS
        log_key("canvas", key, down, modifiers(event.state))
        return True

    def closed(self, _window):
        log("close")
        Gtk.main_quit()


GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, Gtk.main_quit)
Stage().show_all()
Gtk.main()
