"""The doors: what a call costs that does next to nothing, over stdio and over HTTP, beside the official Python SDK's
server; many clients at once; and what is left of very many calls.

BENCH_CALLS=1000000 makes the run long; 20,000 by default. The tool is `list_sessions`, which looks into memory and
nowhere else; the SDK's server adds two numbers.
"""

import json
import os
import pathlib
import resource
import selectors
import shutil
import socket
import ssl
import statistics
import subprocess
import tempfile
import time

from client import Refused, Server
from peers import VENVS, Deskhand

CALLS = int(os.environ.get("BENCH_CALLS", "20000"))
CLIENTS = int(os.environ.get("BENCH_CLIENTS", "1000"))
# So many calls before anything is measured: threads are there then, and memory that is used again and again.
WARM = 500
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "deskhand-bench", "version": "1"}}}


def doors(row, say, resident):
    python = VENVS / "mcp/bin/python"
    beside = [str(python), str(pathlib.Path(__file__).parent / "sdk_server.py")]
    if not python.exists():
        say("The Python SDK is not installed (target/peers/mcp), so it is not measured.")
        beside = None
    over_stdio(row, resident, beside)
    with tempfile.TemporaryDirectory() as folder:
        with Doors(folder) as served:
            over_http(row, resident, served, beside)
            at_once(row, served)
        encrypted(row, say, folder)


class Held:
    """What a process has: it must not grow with the calls."""

    def __init__(self, pid, resident):
        self.memory = resident([pid])
        self.files = len(os.listdir(f"/proc/{pid}/fd"))
        self.threads = len(os.listdir(f"/proc/{pid}/task"))


def growth(row, what, count, before, after):
    grown = after.memory - before.memory
    row("doors", f"memory after {count} calls {what}, from {before.memory:.1f} MB", grown, "MB", goal="<= 1", holds=grown <= 1)
    for name, was, now in [("files", before.files, after.files), ("threads", before.threads, after.threads)]:
        # The pool of threads breathes: one or two more are no growth with the calls.
        row("doors", f"{name} after {count} calls {what}, from {was}", now - was, "more", goal="<= 2", holds=now - was <= 2)


def timed(call, count):
    """Milliseconds of each call."""
    spent = []
    for _ in range(count):
        began = time.perf_counter()
        call()
        spent.append((time.perf_counter() - began) * 1000)
    return spent


def compare(row, what, ours, theirs, most, times):
    """Median and slowest hundredth; where the machine is slower, the ratio to the SDK's server still counts."""
    p50, p99 = statistics.median(ours), sorted(ours)[len(ours) * 99 // 100]
    others, goal, holds = [], f"<= {most}", p50 <= most
    if theirs:
        others = [("Python SDK", statistics.median(theirs))]
        goal, holds = f"{goal}, or >= {times}x faster", holds or times <= others[0][1] / p50
    row("doors", f"trivial call {what}, median of {len(ours)}", p50, "ms", others, goal, holds)
    others = [("Python SDK", sorted(theirs)[len(theirs) * 99 // 100])] if theirs else []
    row("doors", f"trivial call {what}, slowest of a hundred", p99, "ms", others)


def over_stdio(row, resident, beside):
    deskhand = Deskhand().start()
    server = deskhand.server

    def ours():
        server.request("tools/call", {"name": "list_sessions", "arguments": {}})

    timed(ours, WARM)
    if b"isError\":false" not in server.request("tools/call", {"name": "list_sessions", "arguments": {}}):
        raise Refused("list_sessions fails")
    before = Held(server.process.pid, resident)
    spent = timed(ours, CALLS)
    after = Held(server.process.pid, resident)
    theirs = None
    if beside:
        peer = Server(beside).initialize()

        def add():
            peer.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})

        timed(add, WARM)
        theirs = timed(add, min(CALLS, 2000))
        peer.stop()
    compare(row, "over stdio", spent, theirs, 0.08, 20)
    growth(row, "over stdio", CALLS, before, after)
    deskhand.stop()


class Doors:
    """A server over HTTP, with its address and its token."""

    def __init__(self, folder, *options):
        token = pathlib.Path(folder, "token")
        self.command = [str(Deskhand().program), "serve", "--http", "--port", "0", "--token-file", str(token), *options]
        self.token_file = token

    def __enter__(self):
        began = time.perf_counter()
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if b'"event":"http"' in line:
                break
        else:
            raise Refused(f"the server does not start: {b''.join(said)[-300:]}")
        line = json.loads(line)
        # What it logs is read, so that it never waits for its reader.
        self.reader = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)
        self.process.stderr.close()
        self.host, port = line["url"].split("://")[1].rstrip("/").rsplit(":", 1)
        self.port = int(port)
        self.token = self.token_file.read_text().strip()
        kept = self.keep()
        kept.ask("GET", "/health", None)
        self.started = (time.perf_counter() - began) * 1000
        kept.close()
        return self

    def keep(self, tls=None):
        return Kept(self.host, self.port, {"Authorization": f"Bearer {self.token}"}, tls)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)
        self.reader.wait(10)


class Kept:
    """A connection that is kept, and as little around it as can be: http.client would cost more than the server."""

    def __init__(self, host, port, headers, tls=None):
        self.socket = socket.create_connection((host, port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.headers = {"Host": f"{host}:{port}", "Content-Type": "application/json", **headers}

    def request(self, method, path, message):
        body = b"" if message is None else json.dumps(message).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        return f"{method} {path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def ask(self, method, path, message):
        return self.exchange(self.request(method, path, message))

    def exchange(self, request):
        self.socket.sendall(request)
        answer = self.socket.recv(65536)
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self.more()
        head = answer[:end].lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0]) if b"content-length" in head else 0
        while len(answer) < end + 4 + length:
            answer += self.more()
        if not head.startswith((b"http/1.1 200", b"http/1.1 202")):
            raise Refused(answer[:300])
        return answer[:end].decode(), answer[end + 4:]

    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise Refused("the server closed the connection")
        return got

    def session(self, accept):
        """Opens an MCP session."""
        self.headers["Accept"] = accept
        head, _ = self.ask("POST", "/mcp", HELLO)
        lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
        self.headers["Mcp-Session-Id"] = lines["mcp-session-id"]
        self.headers["MCP-Protocol-Version"] = HELLO["params"]["protocolVersion"]
        self.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def close(self):
        self.socket.close()


def called(name, **arguments):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def over_http(row, resident, served, beside):
    pid = served.process.pid
    row("doors", "start to the first answer over HTTP", served.started, "ms", goal="<= 20", holds=served.started <= 20)
    idle = resident([pid])
    row("doors", "memory of an idle server with --http", idle, "MB", goal="<= 15", holds=idle <= 15)
    plain, mcp = served.keep(), served.keep().session("application/json")
    for kept, path, most in [(mcp, "/mcp", 0.3), (plain, "/", 0.3)]:
        request = kept.request("POST", path, called("list_sessions"))
        timed(lambda: kept.exchange(request), WARM)
        before = Held(pid, resident)
        spent = timed(lambda: kept.exchange(request), CALLS)
        after = Held(pid, resident)
        theirs = sdk_over_http(beside) if beside and path == "/mcp" else None
        compare(row, f"over HTTP at {path}", spent, theirs, most, 10)
        growth(row, f"over HTTP at {path}", CALLS, before, after)
        kept.close()


def sdk_over_http(beside):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([*beside, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while True:
            try:
                kept = Kept("127.0.0.1", port, {}).session("application/json, text/event-stream")
                break
            except OSError:
                if end < time.monotonic():
                    raise
                time.sleep(0.1)
        request = kept.request("POST", "/mcp", called("add", a=1, b=2))
        timed(lambda: kept.exchange(request), 100)
        return timed(lambda: kept.exchange(request), min(CALLS, 1000))
    finally:
        process.terminate()
        process.wait()


def at_once(row, served):
    """Clients that are all there at the same time, each with several requests on its own connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, CLIENTS + 200)), hard))
    each, wrong, answered = 5, 0, 0
    began = time.perf_counter()
    all_kept = [served.keep() for _ in range(CLIENTS)]
    request = all_kept[0].request("POST", "/", called("list_sessions"))
    waiting = selectors.DefaultSelector()
    for kept in all_kept:
        kept.left, kept.got = each, b""
        kept.socket.setblocking(False)
        waiting.register(kept.socket, selectors.EVENT_READ, kept)
        kept.socket.send(request)
    end = time.monotonic() + 60
    while waiting.get_map() and time.monotonic() < end:
        for key, _ in waiting.select(1):
            kept = key.data
            got = kept.socket.recv(65536)
            kept.got += got
            head, _, body = kept.got.partition(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if got and not (length and len(body) == int(length)):
                continue
            good = head.startswith(b"HTTP/1.1 200") and b"\"result\"" in body
            answered, wrong, kept.got = answered + good, wrong + (not good), b""
            kept.left = kept.left - 1 if got else 0
            if kept.left:
                kept.socket.send(request)
            else:
                waiting.unregister(kept.socket)
    spent = (time.perf_counter() - began) * 1000
    missing = CLIENTS * each - answered
    row("doors", f"errors among {CLIENTS} HTTP clients at once, {each} calls each, in {spent:.0f} ms", wrong + missing, "", goal="0",
        holds=wrong + missing == 0)
    for kept in all_kept:
        kept.close()


def encrypted(row, say, folder):
    certificate, key = f"{folder}/cert.pem", f"{folder}/key.pem"
    if not shutil.which("openssl"):
        say("There is no openssl to make a certificate with, so TLS is not measured.")
        return
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=desk", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", certificate, "-keyout", key]
    subprocess.run(made, check=True, capture_output=True)
    tls = ssl.create_default_context(cafile=certificate)
    with TlsDoors(folder, tls, "--tls-cert", certificate, "--tls-key", key) as served:
        kept = served.keep()
        request = kept.request("POST", "/", called("list_sessions"))
        timed(lambda: kept.exchange(request), WARM)
        compare(row, "over HTTPS at /", timed(lambda: kept.exchange(request), min(CALLS, 20000)), None, 0.3, 10)
        kept.close()
        shaken = statistics.median(timed(lambda: served.keep().close(), 50))
        row("doors", "TLS handshake", shaken, "ms")


class TlsDoors(Doors):
    def __init__(self, folder, tls, *options):
        super().__init__(folder, *options)
        self.tls = tls

    def keep(self):
        return Doors.keep(self, self.tls)
