#!/usr/bin/python3
# A GTK 3 window with what the packaged applications lack: a password field and a spin button.
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk

window = Gtk.Window(title="GTK form")
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
field = Gtk.Entry(text="Ada")
secret = Gtk.Entry(text="hunter2", visibility=False)
spin = Gtk.SpinButton.new_with_range(0, 10, 1)
spin.set_value(4)
combo = Gtk.ComboBoxText()
for word in ["One", "Two", "Three"]:
    combo.append_text(word)
combo.set_active(1)
for child in [field, secret, spin, combo]:
    box.add(child)
window.add(box)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
