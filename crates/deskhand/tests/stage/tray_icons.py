"""An indicator (argument `indicator`), or an icon that a panel embeds (argument `embedded`); writes down clicks."""

import json
import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk

LOG = open(sys.argv[2], "a", buffering=1)


def log(**event):
    LOG.write(json.dumps(event) + "\n")


menu = Gtk.Menu()
for name in ("Alpha", "Beta"):
    entry = Gtk.MenuItem(label=name)
    entry.connect("activate", lambda entry: log(event="clicked", item=entry.get_label()))
    menu.append(entry)
inner = Gtk.Menu()
deep = Gtk.MenuItem(label="Deep")
deep.connect("activate", lambda entry: log(event="clicked", item="Deep"))
inner.append(deep)
more = Gtk.MenuItem(label="More")
more.set_submenu(inner)
menu.append(more)
menu.show_all()
if sys.argv[1] == "indicator":
    gi.require_version("AyatanaAppIndicator3", "0.1")
    from gi.repository import AyatanaAppIndicator3 as Indicators

    indicator = Indicators.Indicator.new("deskhand-indicator", "edit-copy", Indicators.IndicatorCategory.OTHER)
    indicator.set_status(Indicators.IndicatorStatus.ACTIVE)
    indicator.set_title("An indicator")
    indicator.set_menu(menu)
else:
    icon = Gtk.StatusIcon.new_from_icon_name("edit-copy")
    icon.set_title("Embedded icon")
    icon.connect("activate", lambda icon: log(event="activated"))
    icon.connect("popup-menu", lambda icon, button, time: log(event="menu", button=button))
Gtk.main()
