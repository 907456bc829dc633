"""A window that does what lets actions fail, when it is told to: covers, reorders, takes the keyboard, goes away.

    /usr/bin/python3 restless_gtk3.py LOG     orders on standard input, as stage_orders.py has them
"""

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402

from stage_log import log  # noqa: E402
from stage_orders import obey  # noqa: E402

window = Gtk.Window(title="Restless", default_width=500, default_height=420)
window.connect("destroy", lambda _: log("close"))
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6)
window.add(box)

bar = Gtk.MenuBar()
edit = Gtk.MenuItem(label="Edit")
menu = Gtk.Menu()
edit.set_submenu(menu)
bar.append(edit)
items = {}
for name in ["Undo", "Redo"]:
    items[name] = Gtk.MenuItem(label=name)
    items[name].connect("activate", lambda _, name=name: log("menu", item=name))
    menu.append(items[name])
box.pack_start(bar, False, False, 0)


def button(name, sensitive=True):
    made = Gtk.Button(label=name, sensitive=sensitive)
    made.connect("clicked", lambda it: log("click", widget=it.get_label()))
    return made


box.pack_start(button("Asleep", sensitive=False), False, False, 0)

# A button below a curtain, which takes the clicks.
under = Gtk.Overlay()
under.add(button("Under"))
curtain = Gtk.Button(label="Curtain", no_show_all=True, halign=Gtk.Align.FILL, valign=Gtk.Align.FILL)
curtain.connect("clicked", lambda _: log("click", widget="Curtain"))
under.add_overlay(curtain)
box.pack_start(under, False, False, 0)

rows = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
fruits = ["Apple", "Banana", "Cherry"]
buttons = [button(name) for name in fruits]
for row in buttons:
    rows.pack_start(row, False, False, 0)
box.pack_start(rows, False, False, 0)

fixed = Gtk.Entry(text="fixed", editable=False)
fixed.get_accessible().set_name("Fixed")
box.pack_start(fixed, False, False, 0)
line = Gtk.Entry()
line.get_accessible().set_name("Line")
line.connect("changed", lambda it: log("text", widget="line", text=it.get_text()))
box.pack_start(line, False, False, 0)

# Has the keyboard and does nothing with it.
deaf = Gtk.DrawingArea(can_focus=True, height_request=40)
deaf.get_accessible().set_name("Deaf")
deaf.add_events(Gdk.EventMask.KEY_PRESS_MASK)
deaf.connect("key-press-event", lambda *_: log("key", widget="deaf") or True)
box.pack_start(deaf, False, False, 0)

thief = Gtk.Window(title="Thief", default_width=500, default_height=420)
loot = Gtk.Entry()
loot.connect("changed", lambda it: log("text", widget="loot", text=it.get_text()))
thief.add(loot)


def recycle(_):
    """The same rows show other things, as toolkits recycle them."""
    fruits.append(fruits.pop(0))
    for row, name in zip(buttons, fruits):
        row.set_label(name)


def reorder(_):
    """The same things stand in other places."""
    rows.reorder_child(buttons[0], -1)


def steal(_):
    thief.show_all()
    thief.move(*window.get_position())
    thief.present_with_time(Gdk.CURRENT_TIME)


obey(
    {
        "cover": lambda _: curtain.show(),
        "recycle": recycle,
        "reorder": reorder,
        "steal": steal,
        "deafen": lambda _: deaf.grab_focus(),
        "forget": lambda _: menu.remove(items["Undo"]),
        "iconify": lambda _: window.iconify(),
        "close": lambda _: window.destroy(),
    },
    lambda work, text: GLib.idle_add(lambda: work(text) and False),
)
window.show_all()
log("ready")
Gtk.main()
