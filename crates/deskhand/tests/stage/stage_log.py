"""The log that every stage writes, and the words that are the same in all of them."""

import json
import os
import sys

FRUITS = ["Apple", "Banana", "Cherry", "Date", "Elderberry"]
ROWS = [f"Row {number}" for number in range(1, 101)]
MODIFIERS = ["ctrl", "shift", "alt", "meta"]

# X11 names of keys that have another name in Deskhand; Qt and browsers are brought to these first.
KEYS = {
    "Return": "enter", "Escape": "escape", "Tab": "tab", "ISO_Left_Tab": "tab", "space": "space",
    "BackSpace": "backspace", "Delete": "delete", "Insert": "insert", "Home": "home", "End": "end",
    "Page_Up": "page_up", "Page_Down": "page_down", "Prior": "page_up", "Next": "page_down", "Left": "left",
    "Right": "right", "Up": "up", "Down": "down", "Control_L": "ctrl", "Control_R": "ctrl_right",
    "Shift_L": "shift", "Shift_R": "shift_right", "Alt_L": "alt", "Alt_R": "alt_right", "Meta_L": "meta",
    "Super_L": "meta", "Super_R": "meta_right", "ISO_Level3_Shift": "alt_gr", "Caps_Lock": "caps_lock",
    "Num_Lock": "num_lock", "Scroll_Lock": "scroll_lock", "Print": "print_screen", "Pause": "pause",
    "Menu": "menu", "KP_Enter": "numpad_enter", "KP_Add": "numpad_add", "KP_Subtract": "numpad_subtract",
    "KP_Multiply": "numpad_multiply", "KP_Divide": "numpad_divide", "KP_Decimal": "numpad_decimal",
    **{f"KP_{digit}": f"numpad_{digit}" for digit in range(10)},
    **{f"F{number}": f"f{number}" for number in range(1, 25)},
}

_file = open(sys.argv[1], "a", buffering=1, encoding="utf-8")


def log(event, **fields):
    """Writes one event; the file is line-buffered, so that a reader sees it at once."""
    _file.write(json.dumps({"event": event, **fields}, ensure_ascii=False) + "\n")


def ready(toolkit, widgets):
    log("ready", toolkit=toolkit, pid=os.getpid(), title=f"Stage ({toolkit})", widgets=widgets)


def box(x, y, width, height):
    return {"x": round(x), "y": round(y), "width": round(width), "height": round(height)}


def log_key(widget, key, down, modifiers):
    """Leaves out the key itself: toolkits differ in whether it counts as down already."""
    log("key", widget=widget, key=key, down=down, modifiers=[m for m in modifiers if m != key.removesuffix("_right")])


class Clicks:
    """Counts clicks in a row: the same button, soon enough, near enough."""

    def __init__(self):
        self.last = None

    def count(self, button, x, y, time_ms):
        count = 1
        if self.last:
            before, was_x, was_y, was_ms, was_count = self.last
            near = abs(x - was_x) <= 5 and abs(y - was_y) <= 5
            if before == button and near and time_ms - was_ms <= 400:
                count = was_count + 1
        self.last = (button, x, y, time_ms, count)
        return count
