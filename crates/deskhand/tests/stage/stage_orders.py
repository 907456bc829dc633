"""Orders for the windows that change when they are told to: one a line on standard input."""

import json
import os
import sys
import threading
import time


def obey(orders, later):
    """Carries out each line `ORDER [TEXT]` in the widgets' own thread, through `later`, and writes when it began
    and when it was done, in seconds since 1970.

    `ORDER*N TEXT` does it N times in a row, with `{}` in the text replaced by the number."""

    def carry_out(order, text, times):
        began = time.time()
        for number in range(times):
            order(text.replace("{}", str(number)))
        print(json.dumps({"began": began, "done": time.time()}), flush=True)

    def listen():
        for line in sys.stdin:
            name, _, text = line.rstrip("\n").partition(" ")
            name, _, times = name.partition("*")
            order = orders[name]
            later(lambda text, order=order, times=int(times or 1): carry_out(order, text, times), text)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
