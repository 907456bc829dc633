"""A text field of one toolkit that writes what it holds into a file: editor.py gtk3|gtk4|qt5 FILE."""

import os
import sys

toolkit, path = sys.argv[1], sys.argv[2]


def write(text):
    with open(path + ".new", "w", newline="") as file:
        file.write(text)
    os.replace(path + ".new", path)


def gtk(version):
    import gi

    gi.require_version("Gtk", version)
    from gi.repository import GLib, Gtk

    view = Gtk.TextView()
    buffer = view.get_buffer()
    buffer.connect("changed", lambda b: write(b.get_text(b.get_start_iter(), b.get_end_iter(), True)))
    return Gtk, GLib, view


def focused(field):
    write("")
    return False


if toolkit == "gtk3":
    Gtk, GLib, view = gtk("3.0")
    window = Gtk.Window(title="editor")
    window.set_default_size(700, 500)
    window.add(view)
    window.connect("focus-in-event", lambda *_: focused(view))
    window.show_all()
    view.grab_focus()
    Gtk.main()
elif toolkit == "gtk4":
    Gtk, GLib, view = gtk("4.0")
    app = Gtk.Application()

    def start(app):
        window = Gtk.ApplicationWindow(application=app, title="editor")
        window.set_default_size(700, 500)
        window.set_child(view)
        window.connect("notify::is-active", lambda w, _: w.is_active() and focused(view))
        window.present()
        view.grab_focus()

    app.connect("activate", start)
    app.run([])
else:
    from PyQt5.QtWidgets import QApplication, QPlainTextEdit

    class Edit(QPlainTextEdit):
        def focusInEvent(self, event):
            super().focusInEvent(event)
            focused(self)

    app = QApplication([])
    edit = Edit()
    edit.setWindowTitle("editor")
    edit.resize(700, 500)
    edit.textChanged.connect(lambda: write(edit.toPlainText()))
    edit.show()
    edit.setFocus()
    app.exec()
