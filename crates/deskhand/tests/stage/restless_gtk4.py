"""The same as restless_gtk3.py, of GTK 4 widgets and without a menu bar."""

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import GLib, Gtk  # noqa: E402

from stage_log import log  # noqa: E402
from stage_orders import obey  # noqa: E402

Gtk.init()
window = Gtk.Window(title="Restless", default_width=500, default_height=420)
window.connect("close-request", lambda _: log("close") and False)
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6)
window.set_child(box)


def button(name, sensitive=True):
    made = Gtk.Button(label=name, sensitive=sensitive)
    made.connect("clicked", lambda it: log("click", widget=it.get_label()))
    return made


def named(widget, name):
    widget.update_property([Gtk.AccessibleProperty.LABEL], [name])
    return widget


box.append(button("Asleep", sensitive=False))

# A button below a curtain, which takes the clicks.
below, curtain = Gtk.Overlay(), button("Curtain")
below.set_child(button("Under"))
curtain.set_visible(False)
below.add_overlay(curtain)
box.append(below)

rows = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
fruits = ["Apple", "Banana", "Cherry"]
buttons = [button(name) for name in fruits]
for row in buttons:
    rows.append(row)
box.append(rows)

fixed = named(Gtk.Entry(text="fixed", editable=False), "Fixed")
line = named(Gtk.Entry(), "Line")
line.connect("changed", lambda it: log("text", widget="line", text=it.get_text()))
# Has the keyboard and does nothing with it.
deaf = named(Gtk.DrawingArea(focusable=True, content_height=40), "Deaf")
keys = Gtk.EventControllerKey()
keys.connect("key-pressed", lambda *_: log("key", widget="deaf") or True)
deaf.add_controller(keys)
for each in [fixed, line, deaf]:
    box.append(each)

thief = Gtk.Window(title="Thief", default_width=500, default_height=420)
loot = Gtk.Entry()
loot.connect("changed", lambda it: log("text", widget="loot", text=it.get_text()))
thief.set_child(loot)


def recycle(_):
    """The same rows show other things, as toolkits recycle them."""
    fruits.append(fruits.pop(0))
    for row, name in zip(buttons, fruits):
        row.set_label(name)


obey(
    {
        "cover": lambda _: curtain.set_visible(True),
        "recycle": recycle,
        "reorder": lambda _: rows.reorder_child_after(buttons[0], buttons[-1]),
        "steal": lambda _: thief.present(),
        "deafen": lambda _: deaf.grab_focus(),
        "iconify": lambda _: window.minimize(),
        "close": lambda _: window.close(),
    },
    lambda work, text: GLib.idle_add(lambda: work(text) and False),
)
window.present()
log("ready")
GLib.MainLoop().run()
