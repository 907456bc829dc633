"""One MCP client for every server that is measured, so that none is read faster than another."""

import fcntl
import json
import os
import select
import subprocess
import time

PIPE_BYTES = 1 << 20
F_SETPIPE_SZ = 1031


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
        self.number, self.rest = 0, b""

    def send(self, text):
        os.write(self.stdin, text.encode() + b"\n")

    def receive(self, timeout=60):
        """The next line as bytes. Parts are joined once: a picture has megabytes."""
        parts, self.rest, deadline = [self.rest], b"", time.monotonic() + timeout
        while b"\n" not in parts[-1]:
            if not select.select([self.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Refused(f"no reply within {timeout} s")
            parts.append(os.read(self.stdout, PIPE_BYTES))
            if not parts[-1]:
                raise Refused("the server ended")
        last, self.rest = parts[-1].split(b"\n", 1)
        return b"".join(parts[:-1]) + last

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
        return (time.perf_counter() - began) * 1000, line

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
