"""A desktop's own panel: it waits for the name of the keeper, and shows a button for each item."""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gio, GLib, Gtk

XML = """<node><interface name='org.kde.StatusNotifierWatcher'>
<method name='RegisterStatusNotifierItem'><arg type='s' direction='in'/></method>
<method name='RegisterStatusNotifierHost'><arg type='s' direction='in'/></method>
<property name='RegisteredStatusNotifierItems' type='as' access='read'/>
<property name='IsStatusNotifierHostRegistered' type='b' access='read'/></interface></node>"""
items = []
panel, box = Gtk.Window(title="Panel"), Gtk.Box()
panel.add(box)
panel.show_all()
bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def show(connection, result):
    button = Gtk.Button(label=connection.call_finish(result).unpack()[0])
    box.add(button)
    button.show()


def called(connection, sender, path, interface, method, arguments, invocation):
    if method == "RegisterStatusNotifierItem":
        service = arguments.unpack()[0]
        items.append(sender + service if service.startswith("/") else service)
        name, path = (sender, service) if service.startswith("/") else (service, "/StatusNotifierItem")
        bus.call(name, path, "org.freedesktop.DBus.Properties", "Get",
                 GLib.Variant("(ss)", ("org.kde.StatusNotifierItem", "Title")), None, 0, 5000, None, show)
    invocation.return_value(None)


def read(connection, sender, path, interface, name):
    if name == "RegisteredStatusNotifierItems":
        return GLib.Variant("as", items)
    return GLib.Variant("b", True)


bus.register_object("/StatusNotifierWatcher", Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0], called, read, None)
Gio.bus_own_name_on_connection(bus, "org.kde.StatusNotifierWatcher", 0, None, None)
Gtk.main()
