"""A desktop's own keeper of the notification area: it waits for the name, and knows one item of nobody."""

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib

XML = """<node><interface name='org.kde.StatusNotifierWatcher'>
<method name='RegisterStatusNotifierItem'><arg type='s' direction='in'/></method>
<method name='RegisterStatusNotifierHost'><arg type='s' direction='in'/></method>
<property name='RegisteredStatusNotifierItems' type='as' access='read'/>
<property name='IsStatusNotifierHostRegistered' type='b' access='read'/></interface></node>"""
items = []
bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def called(connection, sender, path, interface, method, arguments, invocation):
    if method == "RegisterStatusNotifierItem":
        service = arguments.unpack()[0]
        items.append(sender + service if service.startswith("/") else service)
    invocation.return_value(None)


def read(connection, sender, path, interface, name):
    if name == "RegisteredStatusNotifierItems":
        return GLib.Variant("as", items)
    return GLib.Variant("b", True)


bus.register_object("/StatusNotifierWatcher", Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0], called, read, None)
Gio.bus_own_name_on_connection(bus, "org.kde.StatusNotifierWatcher", 0, None, None)
GLib.MainLoop().run()
