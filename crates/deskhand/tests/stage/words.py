"""A full-screen window that is nothing but pixels: words on panels as desktops have them, light and dark, and
no accessible element says any of them. `words.py WORDS LOG`: WORDS holds a word a line; LOG gets a JSON line for
where each word was drawn, then `ready`, then one for each click on a word, which is also shown at the bottom.
"""

import json
import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
gi.require_version("PangoCairo", "1.0")
from gi.repository import Gdk, Gtk, Pango, PangoCairo  # noqa: E402

# Left, top, width, height, background, color, height of the letters in pixels, how many words.
PANELS = [
    (40, 40, 560, 290, "#ffffff", "#000000", 13, 60),
    (640, 40, 560, 290, "#1e1e1e", "#e6e6e6", 12, 60),
    (1240, 40, 640, 290, "#f6f5f4", "#2e3436", 11, 60),
    (40, 380, 560, 400, "#ffffff", "#14147c", 16, 50),
    (640, 380, 560, 300, "#f0f0f0", "#5a5a5a", 10, 40),
    (1240, 380, 640, 500, "#002b36", "#839496", 14, 34),
]

words = open(sys.argv[1], encoding="utf-8").read().split("\n")
log = open(sys.argv[2], "a", buffering=1, encoding="utf-8")
places, clicked = [], []


def color(context, text):
    rgba = Gdk.RGBA()
    rgba.parse(text)
    context.set_source_rgb(rgba.red, rgba.green, rgba.blue)


def write(context, text, x, y, size):
    layout = PangoCairo.create_layout(context)
    font = Pango.FontDescription("DejaVu Sans")
    font.set_absolute_size(size * Pango.SCALE)
    layout.set_font_description(font)
    layout.set_text(text, -1)
    context.move_to(x, y)
    PangoCairo.show_layout(context, layout)
    return layout.get_pixel_size()


def measure(context, text, size):
    context.save()
    context.rectangle(0, 0, 0, 0)
    context.clip()
    found = write(context, text, 0, 0, size)
    context.restore()
    return found


def draw(area, context):
    places.clear()
    color(context, "#305070")
    context.paint()
    rest = iter(words)
    for left, top, width, height, ground, ink, size, count in PANELS:
        color(context, ground)
        context.rectangle(left, top, width, height)
        context.fill()
        color(context, "#c0c0c0")
        context.rectangle(left + 0.5, top + 0.5, width, height)
        context.set_line_width(1)
        context.stroke()
        x, y = left + 12, top + 12
        for _, word in zip(range(count), rest):
            wide, high = measure(context, word, size)
            if left + width - 12 < x + wide:
                x, y = left + 12, y + int(size * 1.6)
            color(context, ink)
            write(context, word, x, y, size)
            places.append((word, x, y, wide, high))
            x += wide + measure(context, " ", size)[0]
    color(context, "#ffffff")
    if clicked:
        write(context, f"Clicked: {clicked[-1]}", 40, 1000, 14)
    if not draw.ready:
        for word, x, y, wide, high in places:
            log.write(json.dumps({"word": word, "x": x, "y": y, "width": wide, "height": high}) + "\n")
        log.write(json.dumps({"event": "ready"}) + "\n")
        draw.ready = True


draw.ready = False


def click(area, event):
    for word, x, y, wide, high in places:
        if x <= event.x < x + wide and y <= event.y < y + high:
            clicked.append(word)
            log.write(json.dumps({"event": "clicked", "word": word}) + "\n")
            area.queue_draw()


window = Gtk.Window(title="Words")
window.fullscreen()
area = Gtk.DrawingArea()
area.add_events(Gdk.EventMask.BUTTON_PRESS_MASK)
area.connect("draw", draw)
area.connect("button-press-event", click)
window.add(area)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
