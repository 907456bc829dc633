"""One MCP client for every server that is measured, so that none is read faster than another."""

import fcntl
import json
import os
import select
import subprocess
import time

PIPE_BYTES = 1 << 20
F_SETPIPE_SZ = 1031


# Room that servers which have stopped gave back: to touch 32 MB takes longer than a server to start.
SPARE = []


def memory():
    """Room for the longest line, touched once."""
    return SPARE.pop() if SPARE else bytearray(b"\1" * (32 << 20))


class Refused(Exception):
    """The server said no, or went away."""


class Server:
    """A server on the other end of two pipes."""

    def __init__(self, command, environment=None):
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout.fileno()
        fcntl.fcntl(self.stdout, F_SETPIPE_SZ, PIPE_BYTES)
        self.number, self.filled, self.arrived = 0, 0, 0.0
        self.buffer = memory()

    def send(self, text):
        os.write(self.stdin, text.encode() + b"\n")

    def receive(self, timeout=60):
        """The next line as bytes. A picture has megabytes: they are read into memory that is there already,
        so that little is measured but the server."""
        deadline, looked = time.monotonic() + timeout, 0
        while (end := self.buffer.find(b"\n", looked, self.filled)) < 0:
            looked = self.filled
            if not select.select([self.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Refused(f"no reply within {timeout} s")
            got = os.readv(self.stdout, [memoryview(self.buffer)[self.filled:]])
            if not got:
                raise Refused("the server ended")
            self.filled += got
        self.arrived = time.perf_counter()
        line = bytes(memoryview(self.buffer)[:end])
        self.buffer[: self.filled - end - 1] = self.buffer[end + 1 : self.filled]
        self.filled -= end + 1
        return line

    def request(self, method, params, timeout=60):
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        line = self.receive(timeout)
        # Some servers send notifications in between; these are short.
        while len(line) < 5000 and json.loads(line).get("id") != self.number:
            line = self.receive(timeout)
        return line

    def initialize(self):
        self.request("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "deskhand-bench", "version": "1"},
        })
        os.write(self.stdin, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return self

    def call(self, tool, timeout=20, **arguments):
        """One call: its time in milliseconds and the whole reply line."""
        began = time.perf_counter()
        line = self.request("tools/call", {"name": tool, "arguments": arguments}, timeout)
        return (self.arrived - began) * 1000, line

    def ask(self, tool, timeout=20, **arguments):
        """One call that has to succeed: its result as the server meant it."""
        reply = json.loads(self.call(tool, timeout, **arguments)[1])
        if "error" in reply or reply["result"].get("isError"):
            raise Refused(f"{tool}: {str(reply)[:300]}")
        text = "".join(block.get("text", "") for block in reply["result"]["content"])
        try:
            return json.loads(text)
        except ValueError:
            return text

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        SPARE.append(self.buffer)
