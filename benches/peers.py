"""The servers that are compared, each behind the same few words."""

import os
import pathlib
import subprocess
import tempfile

from client import Refused, Server

ROOT = pathlib.Path(__file__).parent.parent
VENVS = ROOT / "target/peers"


class Deskhand:
    name, program = "deskhand", ROOT / "target/release/deskhand"

    def __init__(self):
        self.program = pathlib.Path(os.environ.get("BENCH_DESKHAND", self.program))
        self.command = [str(self.program), "serve", "--profile", "full"]

    def start(self):
        self.server = Server(self.command).initialize()
        return self

    def picture(self, **arguments):
        native = {"format": "png", "max_width": 0, "max_height": 0, "max_bytes": 0}
        return self.server.call("take_screenshot", **{**native, **arguments})

    def picture_of_default(self):
        return self.server.call("take_screenshot")

    def stop(self):
        self.server.stop()


class Peer:
    """A rival. Each has a folder of its own to be at home in, so that none finds another's settings."""

    package = executable = None
    arguments = ()

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="deskhand-bench-home-")
        # pyautogui insists on this file.
        pathlib.Path(self.home, ".Xauthority").touch()
        self.environment = {**os.environ, "HOME": self.home}
        self.program = VENVS / self.name / "bin" / (self.executable or self.name)
        self.command = [str(self.program), *self.arguments]

    def installed(self):
        return self.program.exists()

    def start(self):
        self.server = Server(self.command, self.environment).initialize()
        return self

    def stop(self):
        self.server.stop()


class Harness(Peer):
    name, arguments = "linux-x11-harness", ("mcp",)

    def start(self):
        super().start()
        self.display = os.environ["DISPLAY"]
        self.server.ask("lxh_display_attach", display_id=self.display)
        found = subprocess.run(["xwininfo", "-root"], capture_output=True, text=True, check=True).stdout
        self.root = int(found.split("Window id: ")[1].split()[0], 16)
        return self

    def picture(self):
        return self.server.call("lxh_capture_window", display_id=self.display, window_id=self.root)

    def click(self, x, y):
        return self.server.call("lxh_input_click", display_id=self.display, x=x, y=y)

    def type(self, text):
        return self.server.call("lxh_input_type", display_id=self.display, text=text)

    def tree(self, pid, window):
        return self.server.call(
            "lxh_get_window_state", display_id=self.display, pid=pid, window_id=window, include_tree=True
        )

    def windows(self):
        return self.server.call("lxh_list_user_windows")

    def stop(self):
        super().stop()
        # Its daemon outlives it.
        subprocess.run([str(self.program), "stop"], env=self.environment, capture_output=True, timeout=20)


class ComputerControl(Peer):
    name = "computer-control-mcp"

    def picture(self):
        return self.server.call("take_screenshot")

    def windows(self):
        return self.server.call("list_windows")


class Opendesk(Peer):
    name, arguments = "opendesk", ("mcp",)

    def picture(self):
        return self.server.call("screenshot")


class BadAss(Peer):
    name = "bad-ass-mcp"

    def picture(self):
        return self.server.call("screenshot")

    def windows(self):
        return self.server.call("list_windows")


RIVALS = [Harness, ComputerControl, Opendesk, BadAss]


def rivals(say):
    """Those that are installed and start; the others are said."""
    started = []
    for kind in RIVALS:
        peer = kind()
        if not peer.installed():
            say(f"{peer.name} is not installed, so it is not measured.")
            continue
        try:
            started.append(peer.start())
        except (Refused, OSError, ValueError) as error:
            say(f"{peer.name} does not start, so it is not measured: {error}")
    return started
