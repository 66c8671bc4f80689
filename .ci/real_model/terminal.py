"""A program at a terminal of its own, as a person sits at it."""

import os
import pty
import re
import select
import signal
import time

# The longest that anything may take to be shown, in seconds.
PATIENCE = 60

# What moves the cursor or changes colours, and shows nothing.
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class Terminal:
    def __init__(self, folder, command):
        self._seen = 0
        self._raw = b""
        self._process, self._keys = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.environ["TERM"] = "xterm"
            os.execv(command[0], [str(part) for part in command])

    @property
    def text(self):
        return CONTROLS.sub("", self._raw.decode(errors="replace"))

    def see(self, wanted):
        """Waits until `wanted` is shown, after what was waited for before."""
        end = time.monotonic() + PATIENCE
        while (found := self.text.find(wanted, self._seen)) < 0:
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"no {wanted!r} in what is shown:\n{self.text}")
        self._seen = found + len(wanted)

    def shows(self, wanted):
        if wanted not in self.text:
            raise AssertionError(f"no {wanted!r} in what is shown:\n{self.text}")

    def say(self, line):
        os.write(self._keys, line.encode() + b"\r")

    def hang_up(self):
        """The window is closed, and whatever is left of the program is killed."""
        os.close(self._keys)
        end = time.monotonic() + PATIENCE
        while os.waitpid(self._process, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self._process, signal.SIGKILL)
            time.sleep(0.05)

    def _read(self):
        ready, _, _ = select.select([self._keys], [], [], 1)
        if not ready:
            return True
        try:
            piece = os.read(self._keys, 65536)
        except OSError:
            return False
        self._raw += piece
        return bool(piece)
