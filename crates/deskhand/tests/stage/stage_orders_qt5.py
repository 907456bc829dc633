"""Orders for windows of Qt 5: carried from the thread that reads them to the one that the widgets live in."""

from PyQt5.QtCore import QObject, pyqtSignal

import stage_orders


class Courier(QObject):
    came = pyqtSignal(object, str)

    def later(self, order, text):
        self.came.emit(order, text)


_courier = Courier()
_courier.came.connect(lambda order, text: order(text))


def obey(orders):
    stage_orders.obey(orders, _courier.later)
