"""A window of Qt 5 widgets that writes down what reaches it. See README.md."""

import signal
import sys

from PyQt5.QtCore import QMimeData, QPoint, Qt, QTimer
from PyQt5.QtGui import QDrag
from PyQt5.QtWidgets import (
    QAbstractItemView, QApplication, QCheckBox, QFrame, QHBoxLayout, QLabel, QLineEdit, QListWidget,
    QMainWindow, QPlainTextEdit, QPushButton, QScrollArea, QSlider, QVBoxLayout, QWidget,
)

from stage_log import FRUITS, KEYS, MODIFIERS, ROWS, Clicks, box, log, log_key, ready

MASKS = dict(zip(MODIFIERS, [Qt.ControlModifier, Qt.ShiftModifier, Qt.AltModifier, Qt.MetaModifier]))
BUTTONS = {Qt.LeftButton: 1, Qt.MiddleButton: 2, Qt.RightButton: 3, Qt.BackButton: 8, Qt.ForwardButton: 9}
# Qt's own names of keys, where the X11 name in KEYS is another one.
NAMES = {
    Qt.Key_Return: "Return", Qt.Key_Enter: "KP_Enter", Qt.Key_Escape: "Escape", Qt.Key_Tab: "Tab",
    Qt.Key_Backtab: "Tab", Qt.Key_Space: "space", Qt.Key_Backspace: "BackSpace", Qt.Key_Delete: "Delete",
    Qt.Key_Insert: "Insert", Qt.Key_Home: "Home", Qt.Key_End: "End", Qt.Key_PageUp: "Page_Up",
    Qt.Key_PageDown: "Page_Down", Qt.Key_Left: "Left", Qt.Key_Right: "Right", Qt.Key_Up: "Up",
    Qt.Key_Down: "Down", Qt.Key_Control: "Control_L", Qt.Key_Shift: "Shift_L", Qt.Key_Alt: "Alt_L",
    Qt.Key_Meta: "Super_L", Qt.Key_Super_L: "Super_L", Qt.Key_Super_R: "Super_R",
    Qt.Key_AltGr: "ISO_Level3_Shift", Qt.Key_CapsLock: "Caps_Lock", Qt.Key_NumLock: "Num_Lock",
    Qt.Key_ScrollLock: "Scroll_Lock", Qt.Key_Print: "Print", Qt.Key_Pause: "Pause", Qt.Key_Menu: "Menu",
    **{Qt.Key_F1 + number: f"F{number + 1}" for number in range(24)},
}
KEYPAD = {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9,
          "+": "Add", "-": "Subtract", "*": "Multiply", "/": "Divide", ".": "Decimal"}


def modifiers(state):
    return [name for name, mask in MASKS.items() if state & mask]


class Button(QPushButton):
    """Knows which click is the pointer's: the signal comes while the release is handled."""

    def __init__(self, name, label):
        super().__init__(label)
        self.clicks, self.pointer = Clicks(), None
        self.clicked.connect(lambda: self.log(name))

    def log(self, name):
        event = self.pointer
        fields, state = {}, Qt.NoModifier
        if event:
            fields = {"button": BUTTONS.get(event.button(), 0), "count": self.clicks.last[-1]}
            state = event.modifiers()
        log("click", widget=name, **fields, modifiers=modifiers(state))

    def mousePressEvent(self, event):
        # Also called by Qt for the second press of a double click.
        self.clicks.count(BUTTONS.get(event.button(), 0), event.x(), event.y(), event.timestamp())
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event):
        self.pointer = event
        super().mouseReleaseEvent(event)
        self.pointer = None


class Source(QLabel):
    def mousePressEvent(self, event):
        self.pressed_at = event.pos()

    def mouseMoveEvent(self, event):
        far = (event.pos() - self.pressed_at).manhattanLength() >= QApplication.startDragDistance()
        if not (event.buttons() & Qt.LeftButton and far):
            return
        log("drag", widget="source")
        drag, data = QDrag(self), QMimeData()
        data.setText("cargo")
        drag.setMimeData(data)
        drag.exec_(Qt.CopyAction)


class Target(QLabel):
    def dragEnterEvent(self, event):
        if event.mimeData().hasText():
            event.acceptProposedAction()

    def dropEvent(self, event):
        log("drop", widget="target", text=event.mimeData().text())
        event.acceptProposedAction()


class Canvas(QFrame):
    def __init__(self):
        super().__init__()
        self.clicks = Clicks()
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.StrongFocus)
        self.setFixedHeight(190)
        self.setStyleSheet("background: #deedff")

    def pointer(self, what, event):
        button = BUTTONS.get(event.button(), 0)
        common = {"widget": "canvas", "button": button, "modifiers": modifiers(event.modifiers())}
        place = {"x": event.x(), "y": event.y()}
        log(what, **common, **place, screen_x=event.globalX(), screen_y=event.globalY())
        if what == "press":
            self.clicks.count(button, event.x(), event.y(), event.timestamp())
        elif self.clicks.last and self.clicks.last[0] == button:
            log("click", **common, count=self.clicks.last[-1], **place)

    def mousePressEvent(self, event):
        self.pointer("press", event)

    # Qt sends the second press of a double click as this instead.
    mouseDoubleClickEvent = mousePressEvent

    def mouseReleaseEvent(self, event):
        self.pointer("release", event)

    def mouseMoveEvent(self, event):
        down = [number for button, number in BUTTONS.items() if event.buttons() & button]
        place = {"x": event.x(), "y": event.y()}
        log("motion", widget="canvas", modifiers=modifiers(event.modifiers()), buttons=down, **place)

    def wheelEvent(self, event):
        turned = event.angleDelta()
        # Alt turns the wheel sideways in Qt; the log tells what the wheel did.
        dx, dy = -turned.x() / 120, -turned.y() / 120
        if event.modifiers() & Qt.AltModifier:
            dx, dy = dy, dx
        log("wheel", widget="canvas", dx=dx, dy=dy, modifiers=modifiers(event.modifiers()))

    def event(self, event):
        # Tab would move the focus before keyPressEvent sees it.
        if event.type() in (event.KeyPress, event.KeyRelease):
            self.key(event, event.type() == event.KeyPress)
            return True
        return super().event(event)

    def key(self, event, down):
        name, text = NAMES.get(event.key(), ""), event.text()
        if event.modifiers() & Qt.KeypadModifier and text in KEYPAD:
            name = f"KP_{KEYPAD[text]}"
        if not text.isprintable() or not text:
            # With Ctrl held the text is a control character, and on release there may be none.
            text = chr(event.key()).lower() if event.key() < 0x1000000 else ""
        log_key("canvas", KEYS.get(name) or text, down, modifiers(event.modifiers()))


class Stage(QMainWindow):
    def __init__(self):
        super().__init__()
        self.widgets, self.shown = {}, False
        self.setWindowTitle("Stage (qt5)")
        self.resize(900, 640)
        self.menus()
        everything, columns = QVBoxLayout(), QHBoxLayout()
        columns.addLayout(self.controls(), 1)
        columns.addLayout(self.texts(), 1)
        columns.addWidget(self.rows(), 1)
        everything.addLayout(columns, 1)
        everything.addWidget(self.keep("canvas", "Canvas", Canvas()))
        content = QWidget()
        content.setLayout(everything)
        self.setCentralWidget(content)
        QApplication.instance().focusChanged.connect(self.focus_changed)

    def keep(self, name, accessible, widget):
        widget.setAccessibleName(accessible)
        widget.setObjectName(name)
        self.widgets[name] = widget
        return widget

    def focus_changed(self, _before, now):
        if now and now.objectName() in self.widgets:
            log("focus", widget=now.objectName())

    def menus(self):
        bar = self.menuBar()
        bar.setNativeMenuBar(False)
        tree = {"File": ["New", "Open…", "Quit"], "View": ["Dark", {"Zoom": ["In", "Out"]}]}
        for title, items in tree.items():
            self.submenu(bar.addMenu(title), items, title)
        self.widgets["menu"] = bar

    def submenu(self, menu, items, path):
        for item in items:
            if isinstance(item, dict):
                for inner, inner_items in item.items():
                    self.submenu(menu.addMenu(inner), inner_items, f"{path}/{inner}")
                continue
            action = menu.addAction(item)
            action.setCheckable(item == "Dark")
            action.triggered.connect(lambda checked, path=f"{path}/{item}": self.menu_item(path, checked))

    def menu_item(self, path, checked):
        log("menu", item=path, **({"checked": checked} if path == "View/Dark" else {}))
        if path == "File/Quit":
            self.close()

    def controls(self):
        column = QVBoxLayout()
        for name, label in [("ok", "OK"), ("disabled", "Disabled")]:
            button = self.keep(name, label, Button(name, label))
            button.setEnabled(name != "disabled")
            column.addWidget(button)
        check = self.keep("check", "Remember", QCheckBox("Remember"))
        check.toggled.connect(lambda checked: log("toggle", widget="check", checked=checked))
        column.addWidget(check)
        for name, label in [("entry", "Name"), ("password", "Password")]:
            entry = self.keep(name, label, QLineEdit())
            entry.setPlaceholderText(label)
            entry.setEchoMode(QLineEdit.Password if name == "password" else QLineEdit.Normal)
            entry.textChanged.connect(lambda text, name=name: log("text", widget=name, text=text))
            column.addWidget(entry)
        slider = self.keep("slider", "Volume", QSlider(Qt.Horizontal))
        slider.setRange(0, 100)
        slider.setValue(50)
        slider.valueChanged.connect(lambda value: log("value", widget="slider", value=value))
        column.addWidget(slider)
        line = QHBoxLayout()
        for name, label, place in [("source", "Drag me", Source("Drag me")), ("target", "Drop here", Target("Drop here"))]:
            place.setFrameShape(QFrame.Box)
            place.setFixedHeight(50)
            place.setAcceptDrops(name == "target")
            line.addWidget(self.keep(name, label, place))
        column.addLayout(line)
        column.addStretch()
        return column

    def texts(self):
        column = QVBoxLayout()
        text = self.keep("text", "Notes", QPlainTextEdit())
        text.textChanged.connect(lambda: log("text", widget="text", text=text.toPlainText()))
        column.addWidget(text, 1)
        fruits = self.keep("list", "Fruits", QListWidget())
        fruits.addItems(FRUITS)
        fruits.setDragDropMode(QAbstractItemView.InternalMove)
        fruits.setFixedHeight(130)
        model = fruits.model()
        # A moved row is inserted first and removed afterward; only then the order is whole.
        changed = lambda *_: log("order", widget="list", items=[fruits.item(i).text() for i in range(fruits.count())])
        model.rowsMoved.connect(changed)
        model.rowsRemoved.connect(changed)
        column.addWidget(fruits)
        return column

    def rows(self):
        inner, column = QWidget(), QVBoxLayout()
        for row in ROWS:
            label = QLabel(row)
            label.setFixedHeight(24)
            column.addWidget(label)
        column.setSpacing(0)
        inner.setLayout(column)
        area = self.keep("rows", "Rows", QScrollArea())
        area.setWidget(inner)
        area.setWidgetResizable(True)
        down, right = area.verticalScrollBar(), area.horizontalScrollBar()
        for bar in (down, right):
            bar.valueChanged.connect(lambda _: log("scroll", widget="rows", x=right.value(), y=down.value()))
        return area

    def paintEvent(self, event):
        super().paintEvent(event)
        if not self.shown:
            self.shown = True
            QTimer.singleShot(0, self.ready)

    def ready(self):
        places = {}
        for name, widget in self.widgets.items():
            at = widget.mapTo(self, QPoint(0, 0))
            places[name] = box(at.x(), at.y(), widget.width(), widget.height())
        ready("qt5", places)

    def closeEvent(self, _event):
        log("close")


application = QApplication(sys.argv[:1])
application.setApplicationName("Stage")
signal.signal(signal.SIGTERM, signal.SIG_DFL)
stage = Stage()
stage.show()
application.exec_()
