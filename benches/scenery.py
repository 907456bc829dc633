"""What stands on the desktop while it is measured: real applications, and small windows that change."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

from Xlib import X, XK, display
from Xlib.ext import xtest

STAGES = pathlib.Path(__file__).parent.parent / "crates/deskhand/tests/stage"
WORDS = "the quick brown fox jumps over a lazy dog while settings open files and windows move".split()


def descendants(number):
    """The processes that a process started, and those that these started."""
    children = subprocess.run(["pgrep", "-P", str(number)], capture_output=True, text=True).stdout.split()
    return [int(found) for child in children for found in [child, *descendants(child)]]


def rest(seconds=30):
    """Waits until the machine has had little to do for a second."""
    def busy():
        fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        return sum(fields) - fields[3] - fields[4], sum(fields)

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        before = busy()
        time.sleep(1)
        after = busy()
        if (after[0] - before[0]) * 20 < after[1] - before[1]:
            return


class Scenery:
    """Starts programs and ends them, the last first."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deskhand-bench-"))
        self.processes = []
        self.x = display.Display()
        self.root = self.x.screen().root
        self.width, self.height = self.x.screen().width_in_pixels, self.x.screen().height_in_pixels

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            for number in [process.pid, *descendants(process.pid)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGCONT)
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *command):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def words(self, words):
        """A full-screen window of nothing but these words; ends with its process."""
        log = self.folder / "words.jsonl"
        (self.folder / "words").write_text("\n".join(words), encoding="utf-8")
        process = self.start("/usr/bin/python3", str(STAGES / "words.py"), str(self.folder / "words"), str(log))
        end = time.monotonic() + 20
        while not (log.exists() and '"ready"' in log.read_text(encoding="utf-8")):
            if end < time.monotonic():
                raise TimeoutError("the page of words did not show")
            time.sleep(0.05)
        return process

    def freeze(self):
        """Stops every application once it has come to rest, with all its processes, so that none of them
        changes the screen or takes a share of the cores while others are measured."""
        rest()
        for process in self.processes:
            for number in [process.pid, *descendants(process.pid)]:
                os.kill(number, signal.SIGSTOP)
        rest()

    def titles(self):
        listed = subprocess.run(["wmctrl", "-l"], capture_output=True, text=True).stdout
        return [line.split(None, 3)[3] for line in listed.splitlines() if len(line.split(None, 3)) == 4]

    def await_window(self, part, seconds=60):
        deadline = time.monotonic() + seconds
        while not any(part in title for title in self.titles()):
            if deadline < time.monotonic():
                raise SystemExit(f"No window called {part!r} came up within {seconds} s; there are {self.titles()}.")
            time.sleep(0.1)

    def place(self, part, x, y, width, height):
        subprocess.run(["wmctrl", "-r", part, "-e", f"0,{x},{y},{width},{height}"], check=True)

    def chromium(self, page, title):
        path = self.folder / f"{title}.html"
        path.write_text(f"<!doctype html><meta charset=utf-8><title>{title}</title>{page}", encoding="utf-8")
        options = [
            "--no-first-run", "--no-default-browser-check", "--password-store=basic", "--disable-gpu",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
            "--force-renderer-accessibility", f"--user-data-dir={self.folder / title}-profile",
        ]
        if os.geteuid() == 0:
            options += ["--no-sandbox", "--test-type"]
        self.start("chromium", *options, f"--app=file://{path}")
        self.await_window(title)

    def stage(self, toolkit):
        """The stage of a toolkit, and the log of what reaches it."""
        log = self.folder / f"stage-{toolkit}.jsonl"
        process = self.start("/usr/bin/python3", str(STAGES / f"stage_{toolkit}.py"), str(log))
        stage = Stage(log, process.pid)
        stage.pid = stage.wait(lambda event: event["event"] == "ready", 60)["pid"]
        return stage

    def for_pictures(self):
        """Windows, text and a photograph over the whole screen."""
        text = self.folder / "text.txt"
        generator = random.Random(1)
        lines = (" ".join(generator.choice(WORDS) for _ in range(14)) for _ in range(200))
        text.write_text("\n".join(lines), encoding="utf-8")
        self.chromium(PHOTOGRAPH % " ".join(generator.choice(WORDS) for _ in range(3000)), "Photograph")
        self.start("gtk3-widget-factory")
        self.await_window("gtk3-widget-factory")
        self.start("mousepad", str(text))
        self.await_window("Mousepad")
        width, height = self.width, self.height
        self.place("Photograph", 0, 0, width * 3 // 4, height * 3 // 4)
        self.place("Mousepad", width // 2, height // 3, width // 2 - 8, height // 2)
        self.place("gtk3-widget-factory", 20, height - 560, 900, 520)
        time.sleep(3)

    def words(self, words):
        """A full-screen window of nothing but these words; ends with its process."""
        log = self.folder / "words.jsonl"
        (self.folder / "words").write_text("\n".join(words), encoding="utf-8")
        process = self.start("/usr/bin/python3", str(STAGES / "words.py"), str(self.folder / "words"), str(log))
        end = time.monotonic() + 20
        while not (log.exists() and '"ready"' in log.read_text(encoding="utf-8")):
            if end < time.monotonic():
                raise TimeoutError("the page of words did not show")
            time.sleep(0.05)
        return process

    def patch(self, x, y, width, height):
        """A small window above all others."""
        window = self.root.create_window(
            x, y, width, height, 0, X.CopyFromParent, background_pixel=0x303030, override_redirect=True
        )
        window.map()
        self.x.sync()
        return window

    def blink(self, window, number):
        window.change_attributes(background_pixel=0x303030 if number % 2 else 0xF0F0F0)
        window.clear_area()
        self.x.sync()

    def sweep(self, window, number):
        """Moves a line as high as the screen, so that no strip of the picture stays what it was."""
        window.configure(x=number * 37 % self.width)
        self.x.sync()

    def windows(self, count):
        for number in range(count):
            window = self.root.create_window(40 + number * 10, 40 + number * 10, 200, 120, 0, X.CopyFromParent)
            window.set_wm_name(f"Window {number}")
            window.set_wm_class("bench", "Bench")
            window.map()
        self.x.sync()

    def keys(self, *names):
        """A chord by XTEST."""
        codes = [self.x.keysym_to_keycode(XK.string_to_keysym(name)) for name in names]
        for code in codes:
            xtest.fake_input(self.x, X.KeyPress, code)
        for code in reversed(codes):
            xtest.fake_input(self.x, X.KeyRelease, code)
        self.x.sync()

    def type_plainly(self, text):
        """ASCII by XTEST without a gap or a look: as fast as keys can be sent."""
        shift = self.x.keysym_to_keycode(XK.XK_Shift_L)
        for character in text:
            code, level = list(self.x.keysym_to_keycodes(ord(character)))[0]
            if level:
                xtest.fake_input(self.x, X.KeyPress, shift)
            xtest.fake_input(self.x, X.KeyPress, code)
            xtest.fake_input(self.x, X.KeyRelease, code)
            if level:
                xtest.fake_input(self.x, X.KeyRelease, shift)
        self.x.sync()


class Stage:
    """A window that writes down what reaches it."""

    def __init__(self, log, pid):
        self.log, self.pid, self.seen = log, pid, 0
        self.file = None

    def events(self):
        """Those that came since the last look."""
        if self.file is None:
            if not self.log.exists():
                return []
            self.file = open(self.log, encoding="utf-8")
        lines = []
        while True:
            place = self.file.tell()
            line = self.file.readline()
            if not line.endswith("\n"):
                self.file.seek(place)
                return [json.loads(line) for line in lines]
            lines.append(line)

    def wait(self, wanted, seconds=10):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for event in self.events():
                if wanted(event):
                    return event
            time.sleep(0.0005)
        return None


def page_of(rows):
    """A page of about four accessible nodes a row."""
    return "".join(f"<p><a href='#{n}'>Link {n}</a> and a word <button>Do {n}</button></p>" for n in range(rows))


def interactive_page(count):
    return "".join(f"<p>{n} <button>Button {n}</button> <input aria-label='Field {n}'></p>" for n in range(count))


PHOTOGRAPH = """
<style>body{margin:0;font:14px sans-serif} canvas{width:60vw;height:60vh;float:left;margin:0 12px 0 0}</style>
<canvas id=c width=800 height=600></canvas><p>%s</p>
<script>
const paint = c.getContext('2d'), image = paint.createImageData(800, 600);
let seed = 7; const grain = () => (seed = seed * 1103515245 + 12345 & 0x7fffffff) / 0x7fffffff * 14;
for (let y = 0; y < 600; y++) for (let x = 0; x < 800; x++) {
  const at = (y * 800 + x) * 4, hill = 300 + 80 * Math.sin(x / 90) + 30 * Math.sin(x / 23);
  const wave = 40 * Math.sin(x / 31 + y / 47) + 20 * Math.cos(y / 13);
  const color = y < hill ? [90 + y / 4, 140 + y / 5, 220 - y / 6] : [60 + wave, 110 + wave + y / 9, 50 + wave / 2];
  for (let i = 0; i < 3; i++) image.data[at + i] = color[i] + grain();
  image.data[at + 3] = 255;
}
paint.putImageData(image, 0, 0);
</script>"""
