"""The same as restless_gtk3.py, of Qt 5 widgets. Qt tells what lies on top at a place."""

import sys

from PyQt5.QtCore import Qt
from PyQt5.QtWidgets import (
    QApplication, QLineEdit, QMainWindow, QPushButton, QVBoxLayout, QWidget,
)

from stage_log import log
from stage_orders_qt5 import obey


class Window(QMainWindow):
    def closeEvent(self, event):
        log("close")
        super().closeEvent(event)


class Deaf(QWidget):
    """Has the keyboard and does nothing with it."""

    def __init__(self):
        super().__init__()
        self.setFocusPolicy(Qt.StrongFocus)
        self.setFixedHeight(40)
        self.setAccessibleName("Deaf")

    def keyPressEvent(self, event):
        log("key", widget="deaf")


application = QApplication(sys.argv[:1])
application.setApplicationName("Restless")
window, box, column = Window(), QWidget(), QVBoxLayout()
window.setWindowTitle("Restless")
window.resize(500, 420)
edit = window.menuBar().addMenu("Edit")
items = {}
for name in ["Undo", "Redo"]:
    items[name] = edit.addAction(name)
    items[name].triggered.connect(lambda _, name=name: log("menu", item=name))


def button(name, enabled=True, parent=None):
    made = QPushButton(name, parent)
    made.setEnabled(enabled)
    made.clicked.connect(lambda _: log("click", widget=made.text()))
    return made


column.addWidget(button("Asleep", enabled=False))

# A button below a curtain, which takes the clicks.
below = QWidget()
below.setFixedSize(400, 40)
under, curtain = button("Under", parent=below), button("Curtain", parent=below)
for each in [under, curtain]:
    each.setGeometry(0, 0, 400, 40)
curtain.hide()
column.addWidget(below)


def cover(_):
    curtain.show()
    curtain.raise_()


rows = QVBoxLayout()
fruits = ["Apple", "Banana", "Cherry"]
buttons = [button(name) for name in fruits]
for row in buttons:
    rows.addWidget(row)
column.addLayout(rows)
fixed, line, deaf = QLineEdit("fixed"), QLineEdit(), Deaf()
fixed.setReadOnly(True)
fixed.setAccessibleName("Fixed")
line.setAccessibleName("Line")
line.textChanged.connect(lambda text: log("text", widget="line", text=text))
for each in [fixed, line, deaf]:
    column.addWidget(each)
box.setLayout(column)
window.setCentralWidget(box)

thief = QWidget()
thief.setWindowTitle("Thief")
thief.resize(500, 420)
loot = QLineEdit(thief)
loot.textChanged.connect(lambda text: log("text", widget="loot", text=text))


def recycle(_):
    """The same rows show other things, as toolkits recycle them."""
    fruits.append(fruits.pop(0))
    for row, name in zip(buttons, fruits):
        row.setText(name)


def reorder(_):
    """The same things stand in other places."""
    rows.removeWidget(buttons[0])
    rows.addWidget(buttons[0])
    rows.activate()


def steal(_):
    thief.move(window.pos())
    thief.show()
    thief.raise_()
    thief.activateWindow()
    loot.setFocus()


obey(
    {
        "cover": cover,
        "recycle": recycle,
        "reorder": reorder,
        "steal": steal,
        "deafen": lambda _: deaf.setFocus(),
        "forget": lambda _: edit.removeAction(items["Undo"]),
        "iconify": lambda _: window.showMinimized(),
        "close": lambda _: window.close(),
    }
)
# It goes on when its window has closed.
application.setQuitOnLastWindowClosed(False)
window.show()
log("ready")
application.exec_()
