"""The registrar of menus that desktops with one menu bar for all windows have: Qt applications export theirs then."""

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib

NAME = "com.canonical.AppMenu.Registrar"
XML = """<node><interface name='com.canonical.AppMenu.Registrar'>
<method name='RegisterWindow'><arg type='u' direction='in'/><arg type='o' direction='in'/></method>
<method name='UnregisterWindow'><arg type='u' direction='in'/></method>
<method name='GetMenuForWindow'><arg type='u' direction='in'/><arg type='s' direction='out'/>
<arg type='o' direction='out'/></method></interface></node>"""
windows = {}


def called(connection, sender, path, interface, method, arguments, invocation):
    arguments = arguments.unpack()
    if method == "RegisterWindow":
        windows[arguments[0]] = (sender, arguments[1])
    elif method == "UnregisterWindow":
        windows.pop(arguments[0], None)
    else:
        invocation.return_value(GLib.Variant("(so)", windows.get(arguments[0], ("", "/"))))
        return
    invocation.return_value(None)


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
node = Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0]
bus.register_object("/com/canonical/AppMenu/Registrar", node, called, None, None)
Gio.bus_own_name_on_connection(bus, NAME, 0, lambda *_: print("ready", flush=True), None)
GLib.MainLoop().run()
