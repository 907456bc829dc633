"""A window of GTK 4 widgets that writes down what reaches it. See README.md."""

import signal

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Graphene", "1.0")
gi.require_version("Gtk", "4.0")
from gi.repository import Gdk, Gio, GLib, GObject, Graphene, Gtk  # noqa: E402

from stage_log import FRUITS, KEYS, MODIFIERS, ROWS, Clicks, box, log, log_key, ready  # noqa: E402

MASKS = dict(zip(MODIFIERS, [
    Gdk.ModifierType.CONTROL_MASK, Gdk.ModifierType.SHIFT_MASK, Gdk.ModifierType.ALT_MASK,
    Gdk.ModifierType.SUPER_MASK,
]))
BUTTONS = {1: Gdk.ModifierType.BUTTON1_MASK, 2: Gdk.ModifierType.BUTTON2_MASK, 3: Gdk.ModifierType.BUTTON3_MASK}


def modifiers(state):
    return [name for name, mask in MASKS.items() if state & mask]


class Stage(Gtk.ApplicationWindow):
    def __init__(self, application):
        super().__init__(application=application, title="Stage (gtk4)", default_width=900, default_height=640)
        self.widgets, self.clicks, self.pointer, self.shown = {}, Clicks(), None, False
        everything = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        everything.append(self.menu_bar())
        columns = Gtk.Box(spacing=12, homogeneous=True, vexpand=True)
        for side in ("start", "end", "top", "bottom"):
            columns.set_property(f"margin-{side}", 8)
        columns.append(self.controls())
        columns.append(self.texts())
        columns.append(self.rows())
        everything.append(columns)
        everything.append(self.canvas())
        self.set_child(everything)
        for name, widget in self.widgets.items():
            focus = Gtk.EventControllerFocus()
            focus.connect("enter", lambda _controller, name=name: log("focus", widget=name))
            widget.add_controller(focus)
        self.connect("close-request", lambda _: log("close"))

    def keep(self, name, accessible, widget):
        widget.update_property([Gtk.AccessibleProperty.LABEL], [accessible])
        widget.set_name(name)
        self.widgets[name] = widget
        return widget

    def menu_bar(self):
        tree = {"File": ["New", "Open…", "Quit"], "View": ["Dark", {"Zoom": ["In", "Out"]}]}
        model = Gio.Menu()
        for title, items in tree.items():
            model.append_submenu(title, self.submenu(items, title))
        bar = Gtk.PopoverMenuBar(menu_model=model)
        self.widgets["menu"] = bar
        return bar

    def submenu(self, items, path):
        menu = Gio.Menu()
        for item in items:
            if isinstance(item, dict):
                for inner, inner_items in item.items():
                    menu.append_submenu(inner, self.submenu(inner_items, f"{path}/{inner}"))
                continue
            name = f"{path}-{item}".replace("/", "-").replace("…", "").lower()
            state = GLib.Variant("b", False) if item == "Dark" else None
            action = Gio.SimpleAction.new_stateful(name, None, state) if state else Gio.SimpleAction.new(name)
            action.connect("activate", self.menu_item, f"{path}/{item}")
            self.add_action(action)
            menu.append(item, f"win.{name}")
        return menu

    def menu_item(self, action, _parameter, path):
        checked = {}
        if action.get_state() is not None:
            checked = {"checked": not action.get_state().get_boolean()}
            action.set_state(GLib.Variant("b", checked["checked"]))
        log("menu", item=path, **checked)
        if path == "File/Quit":
            self.close()

    def controls(self):
        column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=8)
        for name, label in [("ok", "OK"), ("disabled", "Disabled")]:
            button = self.keep(name, label, Gtk.Button(label=label, sensitive=name != "disabled"))
            button.connect("clicked", self.clicked, name)
            pointer = Gtk.GestureClick(button=0, propagation_phase=Gtk.PropagationPhase.CAPTURE)
            pointer.connect("pressed", self.button_pressed)
            button.add_controller(pointer)
            column.append(button)
        check = self.keep("check", "Remember", Gtk.CheckButton(label="Remember"))
        check.connect("toggled", lambda check: log("toggle", widget="check", checked=check.get_active()))
        column.append(check)
        for name, label in [("entry", "Name"), ("password", "Password")]:
            entry = self.keep(name, label, Gtk.Entry(placeholder_text=label, visibility=name == "entry"))
            entry.connect("changed", lambda entry, name=name: log("text", widget=name, text=entry.get_text()))
            column.append(entry)
        slider = self.keep("slider", "Volume", Gtk.Scale.new_with_range(Gtk.Orientation.HORIZONTAL, 0, 100, 1))
        slider.set_round_digits(0)
        slider.set_value(50)
        slider.connect("value-changed", lambda slider: log("value", widget="slider", value=round(slider.get_value())))
        column.append(slider)
        column.append(self.drag_and_drop())
        return column

    def button_pressed(self, gesture, _presses, x, y):
        button = gesture.get_current_button()
        count = self.clicks.count(button, x, y, gesture.get_current_event_time())
        self.pointer = {"button": button, "count": count, "modifiers": modifiers(gesture.get_current_event_state())}

    def clicked(self, button, name):
        # The gesture saw the press of this very click, unless the keyboard or accessibility activated it.
        pointer, self.pointer = self.pointer, None
        log("click", widget=name, **(pointer or {"modifiers": []}))

    def drag_and_drop(self):
        line = Gtk.Box(spacing=8, homogeneous=True)
        for name, label in [("source", "Drag me"), ("target", "Drop here")]:
            frame = Gtk.Frame(child=Gtk.Label(label=label), height_request=50)
            line.append(self.keep(name, label, frame))
        drag = Gtk.DragSource(actions=Gdk.DragAction.COPY)
        drag.connect("prepare", lambda *_: Gdk.ContentProvider.new_for_value("cargo"))
        drag.connect("drag-begin", lambda *_: log("drag", widget="source"))
        self.widgets["source"].add_controller(drag)
        drop = Gtk.DropTarget.new(GObject.TYPE_STRING, Gdk.DragAction.COPY)
        drop.connect("drop", lambda _drop, text, _x, _y: log("drop", widget="target", text=text) or True)
        self.widgets["target"].add_controller(drop)
        return line

    def texts(self):
        column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=8)
        text = self.keep("text", "Notes", Gtk.TextView(wrap_mode=Gtk.WrapMode.WORD_CHAR))
        buffer = text.get_buffer()
        buffer.connect("changed", lambda buffer: log("text", widget="text", text=buffer.props.text))
        column.append(Gtk.ScrolledWindow(child=text, has_frame=True, height_request=140, vexpand=True))
        self.fruits = self.keep("list", "Fruits", Gtk.ListBox())
        for fruit in FRUITS:
            self.fruits.append(self.fruit(fruit))
        column.append(Gtk.Frame(child=self.fruits))
        return column

    def fruit(self, name):
        row = Gtk.ListBoxRow(child=Gtk.Label(label=name, xalign=0))
        drag = Gtk.DragSource(actions=Gdk.DragAction.MOVE)
        drag.connect("prepare", lambda *_: Gdk.ContentProvider.new_for_value(f"fruit:{name}"))
        row.add_controller(drag)
        drop = Gtk.DropTarget.new(GObject.TYPE_STRING, Gdk.DragAction.MOVE)
        drop.connect("drop", self.fruit_dropped, row)
        row.add_controller(drop)
        return row

    def fruit_dropped(self, _drop, text, _x, _y, onto):
        rows = [self.fruits.get_row_at_index(index) for index in range(len(FRUITS))]
        moved = next((row for row in rows if f"fruit:{row.get_child().get_label()}" == text), None)
        if moved is None or moved is onto:
            return False
        place = onto.get_index()
        self.fruits.remove(moved)
        self.fruits.insert(moved, place)
        items = [self.fruits.get_row_at_index(index).get_child().get_label() for index in range(len(FRUITS))]
        log("order", widget="list", items=items)
        return True

    def rows(self):
        inner = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        for row in ROWS:
            inner.append(Gtk.Label(label=row, xalign=0, height_request=24))
        scrolled = self.keep("rows", "Rows", Gtk.ScrolledWindow(child=inner, has_frame=True))
        down, right = scrolled.get_vadjustment(), scrolled.get_hadjustment()
        for adjustment in (down, right):
            adjustment.connect(
                "value-changed",
                lambda _: log("scroll", widget="rows", x=round(right.get_value()), y=round(down.get_value())),
            )
        return scrolled

    def canvas(self):
        canvas = self.keep("canvas", "Canvas", Gtk.DrawingArea(focusable=True, height_request=190))
        canvas.set_draw_func(self.draw)
        # One gesture a button: a single one for all ignores a second button while the first is down. The raw
        # events themselves do not reach Python.
        for button in (1, 2, 3, 8, 9):
            gesture = Gtk.GestureClick(button=button)
            gesture.connect("pressed", self.canvas_button, button, "press")
            gesture.connect("released", self.canvas_button, button, "release")
            canvas.add_controller(gesture)
        motion = Gtk.EventControllerMotion()
        motion.connect("motion", self.canvas_motion)
        canvas.add_controller(motion)
        wheel = Gtk.EventControllerScroll(flags=Gtk.EventControllerScrollFlags.BOTH_AXES)
        wheel.connect("scroll", self.canvas_wheel)
        canvas.add_controller(wheel)
        keys = Gtk.EventControllerKey()
        keys.connect("key-pressed", self.canvas_key, True)
        keys.connect("key-released", self.canvas_key, False)
        canvas.add_controller(keys)
        return canvas

    def draw(self, _canvas, paint, _width, _height):
        paint.set_source_rgb(0.87, 0.93, 1.0)
        paint.paint()
        if not self.shown:
            self.shown = True
            GLib.idle_add(self.ready)

    def place(self, widget):
        _, point = widget.compute_point(self, Graphene.Point())
        return point.x, point.y

    def ready(self):
        places = {}
        for name, widget in self.widgets.items():
            places[name] = box(*self.place(widget), widget.get_width(), widget.get_height())
        ready("gtk4", places)

    def canvas_button(self, gesture, _presses, x, y, button, what):
        common = {"widget": "canvas", "button": button, "modifiers": modifiers(gesture.get_current_event_state())}
        place = {"x": round(x), "y": round(y)}
        log(what, **common, **place)
        if what == "press":
            self.widgets["canvas"].grab_focus()
            self.clicks.count(button, x, y, gesture.get_current_event_time())
        elif self.clicks.last and self.clicks.last[0] == button:
            log("click", **common, count=self.clicks.last[-1], **place)

    def canvas_motion(self, motion, x, y):
        state = motion.get_current_event_state()
        down = [button for button, mask in BUTTONS.items() if state & mask]
        log("motion", widget="canvas", modifiers=modifiers(state), buttons=down, x=round(x), y=round(y))

    def canvas_wheel(self, wheel, dx, dy):
        log("wheel", widget="canvas", dx=dx, dy=dy, modifiers=modifiers(wheel.get_current_event_state()))
        return True

    def canvas_key(self, _keys, value, _code, state, down):
        name, character = Gdk.keyval_name(value) or "", chr(Gdk.keyval_to_unicode(value) or 0)
        key = KEYS.get(name) or (character if character.isprintable() else name)
        log_key("canvas", key, down, modifiers(state))
        return True


application = Gtk.Application(flags=Gio.ApplicationFlags.NON_UNIQUE)
application.connect("activate", lambda application: Stage(application).present())
GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, application.quit)
application.run()
