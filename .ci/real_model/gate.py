"""A way to a server that can hold an answer back in its middle, and add to requests.

A tiny model answers faster than anybody could interrupt it. Behind a held gate
its answer stands still after the first words, for as long as it takes.
"""

import json
import re
import socket
import threading

# An event of a stream that has words in it, up to its end.
WORDS = re.compile(rb'"content":"[^"]+"[^\n]*\n\n')

# How long a request's body is.
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class Gate:
    """Listens on a port of its own and passes bytes on, to a server and back."""

    def __init__(self, host, port):
        self._server = (host, port)
        self._open = threading.Event()
        self._open.set()
        self._cut = False
        self._holds = threading.Event()
        self._demand = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d/v1" % self._listener.getsockname()[1]
        self._start(self._accept)

    def hold(self):
        """Lets the first words of each answer through, and no more."""
        self._holds.clear()
        self._open.clear()

    def await_held(self, patience):
        """Waits until an answer is held; false if none is in so many seconds."""
        return self._holds.wait(patience)

    def release(self):
        """Lets everything through again."""
        self._open.set()

    def cut(self):
        """Drops what is held, as a network does that goes away."""
        self._cut = True
        self._open.set()

    def insist(self, demand):
        """Passes each request on as `demand` makes it, or as it is for `None`."""
        self._demand = demand

    @staticmethod
    def _start(work, *arguments):
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self._listener.accept()
            try:
                server = socket.create_connection(self._server)
            except OSError:
                client.close()
                continue
            self._start(self._joined, self._ask, client, server)
            self._start(self._joined, self._answer, server, client)

    @staticmethod
    def _joined(work, source, sink):
        """Passes bytes on until one side ends, and then ends the other."""
        try:
            work(source, sink)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _ask(self, client, server):
        came = b""
        while piece := client.recv(65536):
            came += piece
            head, end, body = came.partition(b"\r\n\r\n")
            length = LENGTH.search(head)
            if not end or (length and len(body) < int(length[1])):
                continue
            if length and self._demand:
                body = json.dumps(self._demand(json.loads(body))).encode()
                head = LENGTH.sub(b"\r\nContent-Length: %d" % len(body), head)
            server.sendall(head + end + body)
            came = b""

    def _answer(self, server, client):
        kept = b""
        while piece := server.recv(65536):
            kept += piece
            if self._open.is_set():
                client.sendall(kept)
                kept = b""
            elif words := WORDS.search(kept):
                client.sendall(kept[: words.end()])
                kept = kept[words.end() :]
                self._holds.set()
                self._open.wait()
                if self._cut:
                    return
        client.sendall(kept)
