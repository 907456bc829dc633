"""A Chromium window with stage.html, which writes down what reaches it. See README.md.

The page sends its events to a server on the loopback interface, which writes the log. Further arguments go
to Chromium.
"""

import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from stage_log import log

PAGE = pathlib.Path(__file__).with_name("stage.html").read_bytes()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200 if self.path == "/" else 404, PAGE if self.path == "/" else b"")

    def do_POST(self):
        for event in json.loads(self.rfile.read(int(self.headers["Content-Length"]))):
            if event["event"] == "ready":
                event["pid"] = chromium.pid
            log(event.pop("event"), **event)
        self.answer(204, b"")

    def answer(self, code, body):
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def start_chromium(profile, url):
    # With the window manager's frame, the X window is the page and nothing else.
    settings = pathlib.Path(profile, "Default", "Preferences")
    settings.parent.mkdir()
    settings.write_text(json.dumps({"browser": {"custom_chrome_frame": False}}))
    command = [
        "chromium", f"--app={url}", f"--user-data-dir={profile}", "--window-size=900,640", "--no-first-run",
        "--no-default-browser-check", "--password-store=basic", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-background-networking", "--disable-component-update", "--disable-features=Translate",
        "--force-renderer-accessibility",
    ]
    if os.geteuid() == 0:
        # The second one keeps a bar that warns of the first from pushing the page down.
        command += ["--no-sandbox", "--test-type"]
    return subprocess.Popen(command + sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
profile = tempfile.mkdtemp(prefix="stage-chromium-")
chromium = start_chromium(profile, f"http://127.0.0.1:{server.server_port}/")
signal.signal(signal.SIGTERM, lambda *_: chromium.terminate())
threading.Thread(target=server.serve_forever, daemon=True).start()
chromium.wait()
server.shutdown()
shutil.rmtree(profile, ignore_errors=True)
