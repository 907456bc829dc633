"""An item of the notification area that fills its menu late, and writes down what reaches it.

Arguments: the log, and the milliseconds that filling takes. The menu is empty until it is announced; "Later" below
"More" is filled by an announcement of its own.
"""

import json
import sys

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib

LOG, DELAY = open(sys.argv[1], "a", buffering=1), int(sys.argv[2])
ITEM = """<node><interface name='org.kde.StatusNotifierItem'>
<method name='Activate'><arg type='i' direction='in'/><arg type='i' direction='in'/></method>
<method name='ContextMenu'><arg type='i' direction='in'/><arg type='i' direction='in'/></method>
<property name='Id' type='s' access='read'/><property name='Title' type='s' access='read'/>
<property name='Status' type='s' access='read'/><property name='Menu' type='o' access='read'/>
<property name='ItemIsMenu' type='b' access='read'/></interface></node>"""
MENU = """<node><interface name='com.canonical.dbusmenu'>
<method name='GetLayout'><arg type='i' direction='in'/><arg type='i' direction='in'/><arg type='as' direction='in'/>
<arg type='u' direction='out'/><arg type='(ia{sv}av)' direction='out'/></method>
<method name='AboutToShow'><arg type='i' direction='in'/><arg type='b' direction='out'/></method>
<method name='Event'><arg type='i' direction='in'/><arg type='s' direction='in'/><arg type='v' direction='in'/>
<arg type='u' direction='in'/></method>
<signal name='LayoutUpdated'><arg type='u'/><arg type='i'/></signal></interface></node>"""
filled = set()
checked = False
revision = 1
bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def log(**event):
    LOG.write(json.dumps(event) + "\n")


def layout():
    def item(number, properties, below=()):
        values = {name: GLib.Variant("s" if isinstance(value, str) else "b" if isinstance(value, bool) else "i", value)
                  for name, value in properties.items()}
        return GLib.Variant("(ia{sv}av)", (number, values, list(below)))

    late = [item(21, {"label": "La_ter"})] if 2 in filled else []
    top = [
        item(1, {"label": "_Ready", "toggle-type": "checkmark", "toggle-state": int(checked)}),
        item(9, {"type": "separator"}),
        item(2, {"label": "More", "children-display": "submenu"}, late),
        item(3, {"label": "Never", "enabled": False}),
        item(4, {"label": "Unseen", "visible": False}),
    ]
    return item(0, {"children-display": "submenu"}, top if 0 in filled else [])


def fill(number):
    global revision
    filled.add(number)
    revision += 1
    bus.emit_signal(None, "/Menu", "com.canonical.dbusmenu", "LayoutUpdated", GLib.Variant("(ui)", (revision, number)))
    log(event="filled", item=number)
    return False


def called(connection, sender, path, interface, method, arguments, invocation):
    global checked
    arguments = arguments.unpack()
    if method == "GetLayout":
        invocation.return_value(GLib.Variant.new_tuple(GLib.Variant("u", revision), layout()))
        return
    if method == "AboutToShow":
        if arguments[0] in (0, 2) and arguments[0] not in filled:
            GLib.timeout_add(DELAY, fill, arguments[0])
        log(event="announced", item=arguments[0])
        invocation.return_value(GLib.Variant("(b)", (arguments[0] not in filled,)))
        return
    log(event=method, arguments=[str(argument) for argument in arguments])
    if method == "Event" and arguments[0] == 1:
        checked = not checked
    invocation.return_value(None)


def read(connection, sender, path, interface, name):
    return {
        "Id": GLib.Variant("s", "late"),
        "Title": GLib.Variant("s", "Late item"),
        "Status": GLib.Variant("s", "Active"),
        "Menu": GLib.Variant("o", "/Menu"),
        "ItemIsMenu": GLib.Variant("b", False),
    }[name]


bus.register_object("/StatusNotifierItem", Gio.DBusNodeInfo.new_for_xml(ITEM).interfaces[0], called, read, None)
bus.register_object("/Menu", Gio.DBusNodeInfo.new_for_xml(MENU).interfaces[0], called, None, None)


def appeared(*_):
    bus.call("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher", "org.kde.StatusNotifierWatcher",
             "RegisterStatusNotifierItem", GLib.Variant("(s)", (bus.get_unique_name(),)), None, 0, 5000, None, None)
    log(event="registered")


Gio.bus_watch_name_on_connection(bus, "org.kde.StatusNotifierWatcher", 0, appeared, None)
log(event="ready")
GLib.MainLoop().run()
