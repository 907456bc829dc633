"""A window of Qt 5 widgets that change when they are told to. See README.md."""

import sys

from PyQt5.QtWidgets import (
    QApplication, QCheckBox, QLabel, QLineEdit, QProgressBar, QPushButton, QVBoxLayout, QWidget,
)

from stage_orders_qt5 import obey


application = QApplication(sys.argv[:1])
application.setApplicationName("Changes")
window, column = QWidget(), QVBoxLayout()
window.setWindowTitle("Changes (qt5)")
window.resize(400, 300)
check, label, button, bar = QCheckBox("Remember"), QLabel("Ready"), QPushButton("Go"), QProgressBar()
name, password = QLineEdit(), QLineEdit()
password.setEchoMode(QLineEdit.Password)
bar.setRange(0, 1000)
for widget, accessible in [(name, "Name"), (password, "Password"), (bar, "Progress")]:
    widget.setAccessibleName(accessible)
for widget in [check, label, button, name, password, bar]:
    column.addWidget(widget)
window.setLayout(column)
added = {}


def add(text):
    box, inner = QWidget(), QVBoxLayout()
    for part in [QPushButton(text), QLabel(f"about {text}")]:
        inner.addWidget(part)
    box.setLayout(inner)
    column.addWidget(box)
    added[text] = box


def remove(text):
    box = added.pop(text)
    column.removeWidget(box)
    box.hide()
    box.deleteLater()


def widen(_):
    margins = column.contentsMargins()
    column.setContentsMargins(margins.left(), margins.top() + 20, margins.right(), margins.bottom())


orders = {
    "check": lambda _: check.toggle(),
    "label": label.setText,
    "name": name.setText,
    "password": password.setText,
    "enable": lambda on: button.setEnabled(on == "on"),
    "progress": lambda part: bar.setValue(round(float(part) * 1000)),
    "add": add,
    "remove": remove,
    "title": window.setWindowTitle,
    "widen": widen,
    "close": lambda _: window.close(),
}
obey(orders)
window.show()
application.exec_()
