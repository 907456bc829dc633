"""Something else that a desktop has running. Prints `ready` when it has taken effect, and stays.

    x_client.py confine X Y WIDTH HEIGHT    keeps the pointer inside a window there, as games do
    x_client.py double-click MILLISECONDS   a settings daemon with this time for double clicks (XSETTINGS)
"""

import struct
import sys

from Xlib import X, display

connection = display.Display()
root = connection.screen().root


def confine(x, y, width, height):
    window = root.create_window(x, y, width, height, 0, X.CopyFromParent, override_redirect=True)
    window.map()
    connection.sync()
    mask = X.ButtonPressMask | X.PointerMotionMask
    taken = window.grab_pointer(False, mask, X.GrabModeAsync, X.GrabModeAsync, window, X.NONE, X.CurrentTime)
    assert taken == X.GrabSuccess, taken


def double_click(time):
    name = b"Net/DoubleClickTime"
    padding = b"\0" * (-len(name) % 4)
    setting = struct.pack("<BxH", 0, len(name)) + name + padding + struct.pack("<Ii", 0, time)
    window = root.create_window(-1, -1, 1, 1, 0, X.CopyFromParent)
    settings = connection.intern_atom("_XSETTINGS_SETTINGS")
    window.change_property(settings, settings, 8, struct.pack("<BxxxII", 0, 0, 1) + setting)
    window.set_selection_owner(connection.intern_atom("_XSETTINGS_S0"), X.CurrentTime)


what, numbers = sys.argv[1], [int(number) for number in sys.argv[2:]]
{"confine": confine, "double-click": double_click}[what](*numbers)
connection.sync()
print("ready", flush=True)
while True:
    connection.next_event()
