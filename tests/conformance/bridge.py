#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Streamable HTTP in front of a server that speaks on standard input and output, for the conformance suite.

    bridge.py PORT SERVER [ARG...]

Messages are passed on byte by byte, one a line; only as much is looked at as is needed to find the stream they belong to.
A session of 2025 has a process of its own; what comes without a session shares one.
"""
import json
import queue
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
LOCAL = ("localhost", "127.0.0.1", "[::1]")
HEADER_MISMATCH = -32020


class Server:
    """One process, and the streams that wait for its messages."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.streams = {}  # the id of a request → (its queue, its progress token)
        self.lock = threading.Lock()
        threading.Thread(target=self.listen, daemon=True).start()

    def send(self, line):
        with self.lock:
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()

    def listen(self):
        for line in self.process.stdout:
            message = json.loads(line)
            for stream in self.streams_of(message):
                stream.put((line.rstrip(b"\n"), message))

    def streams_of(self, message):
        """A response goes to its request, a notification to what it names, the rest to the latest."""
        params = message.get("params") or {}
        known = list(self.streams.items())
        if "method" not in message:
            return [stream for number, (stream, _) in known if number == message.get("id")]
        named = (params.get("_meta") or {}).get("io.modelcontextprotocol/subscriptionId")
        if named is not None:
            return [stream for number, (stream, _) in known if number == named]
        token = params.get("progressToken")
        if token is not None:
            return [stream for _, (stream, wanted) in known if wanted == token][-1:]
        return [stream for _, (stream, _) in known][-1:]

    def open(self, message):
        stream = queue.Queue()
        token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
        self.streams[message["id"]] = (stream, token)
        return stream

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Bridge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    argv, sessions, shared, lock = [], {}, None, threading.Lock()

    def log_message(self, *_):
        pass

    def is_local(self):
        """A web page must not reach us by a name of its own."""
        host = self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        names = [host] + ([origin.partition("://")[2]] if origin else [])
        return all(name.rpartition(":")[0] in LOCAL or name in LOCAL for name in names)

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, text, number=None):
        self.answer(status, json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}).encode())

    def do_GET(self):
        self.answer(405 if self.is_local() else 403)

    def do_DELETE(self):
        server = self.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if server:
            server.end()
        self.answer(200 if server else 404)

    def do_POST(self):
        line = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.is_local():
            self.answer(403)
            return
        try:
            message = json.loads(line)
        except ValueError:
            self.refuse(400, -32700, "Parse error")
            return
        server, headers = self.server_for(message)
        if server:
            self.forward(server, line.replace(b"\n", b" "), message, headers)

    def server_for(self, message):
        session = self.headers.get("Mcp-Session-Id")
        meta = ((message.get("params") or {}).get("_meta") or {}) if isinstance(message, dict) else {}
        if session:
            if session not in self.sessions:
                self.answer(404)
            return self.sessions.get(session), {}
        if isinstance(message, dict) and message.get("method") == "initialize" and VERSION_KEY not in meta:
            session = uuid.uuid4().hex
            self.sessions[session] = Server(self.argv)
            return self.sessions[session], {"Mcp_Session_Id": session}
        if VERSION_KEY in meta and self.headers.get("MCP-Protocol-Version") != meta[VERSION_KEY]:
            self.refuse(400, HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version", message.get("id"))
            return None, {}
        with self.lock:
            if not Bridge.shared:
                Bridge.shared = Server(self.argv)
        return Bridge.shared, {}

    def forward(self, server, line, message, headers):
        is_request = isinstance(message, dict) and "method" in message and message.get("id") is not None
        if not is_request:
            server.send(line)
            self.answer(202)
            return
        stream = server.open(message)
        try:
            server.send(line)
            self.relay(stream, message["id"], headers, is_session="Mcp-Session-Id" in self.headers or bool(headers))
        except OSError:  # the client went away: that cancels what it waits for
            server.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                    "params": {"requestId": message["id"]}}).encode())
        finally:
            server.streams.pop(message["id"], None)

    @staticmethod
    def status_of(message, is_session):
        error = message.get("error")
        if not error or is_session:
            return 200
        if error["code"] == -32601:
            return 404
        is_ours = error["code"] in (-32020, -32021, -32022) or "_meta" in error["message"]
        return 400 if is_ours else 200

    def relay(self, stream, number, headers, is_session):
        line, message = stream.get(timeout=60)
        if message.get("id") == number and "method" not in message:
            self.answer(self.status_of(message, is_session), line, **headers)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        while True:
            self.wfile.write(b"event: message\ndata: " + line + b"\n\n")
            self.wfile.flush()
            if message.get("id") == number and "method" not in message:
                self.close_connection = True
                return
            line, message = stream.get(timeout=60)


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that closes its connection is no news."""


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    Bridge.argv = arguments[1:]
    http = Quiet(("127.0.0.1", int(arguments[0])), Bridge)
    print(http.server_address[1], flush=True)
    http.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
