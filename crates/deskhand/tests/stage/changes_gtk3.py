"""A window of GTK 3 widgets that change when they are told to. See README.md."""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

from stage_orders import obey  # noqa: E402

window = Gtk.Window(title="Changes (gtk3)", default_width=400, default_height=300)
column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
check, label = Gtk.CheckButton(label="Remember"), Gtk.Label(label="Ready")
button, bar = Gtk.Button(label="Go"), Gtk.ProgressBar()
name, password = Gtk.Entry(), Gtk.Entry(visibility=False)
for widget, accessible in [(name, "Name"), (password, "Password"), (bar, "Progress")]:
    widget.get_accessible().set_name(accessible)
for widget in [check, label, button, name, password, bar]:
    column.pack_start(widget, False, False, 0)
window.add(column)
added = {}


def add(text):
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
    for part in [Gtk.Button(label=text), Gtk.Label(label=f"about {text}")]:
        box.pack_start(part, False, False, 0)
    column.pack_start(box, False, False, 0)
    box.show_all()
    added[text] = box


orders = {
    "check": lambda _: check.set_active(not check.get_active()),
    "label": label.set_text,
    "name": name.set_text,
    "password": password.set_text,
    "enable": lambda on: button.set_sensitive(on == "on"),
    "progress": lambda part: bar.set_fraction(float(part)),
    "add": add,
    "remove": lambda text: added.pop(text).destroy(),
    "title": window.set_title,
    "widen": lambda _: check.set_margin_top(check.get_margin_top() + 20),
    "close": lambda _: window.destroy(),
}
obey(orders, lambda order, text: GLib.idle_add(order, text))
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
