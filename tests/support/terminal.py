"""Programs on a pseudo-terminal."""
from __future__ import annotations

import os
import pty
import subprocess
import sys
import time


class Terminal:
    """Python with these arguments on a pseudo-terminal; ``folder`` is its home."""

    def __init__(self, arguments: list[str], folder, **environment: str) -> None:
        self._terminal, inner = pty.openpty()
        environment = {**os.environ, "HOME": str(folder), "TERM": "dumb", "PENSTOCK_QUIET": "1", **environment}
        self.process = subprocess.Popen([sys.executable, *arguments], stdin=inner, stdout=inner, stderr=inner,
                                        env=environment, close_fds=True)
        os.close(inner)
        self.text = ""

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, text: str) -> str:
        """What came since the last call, up to ``text``."""
        deadline = time.monotonic() + 120
        while text not in self.text:
            assert time.monotonic() < deadline, self.text
            try:
                self.text += os.read(self._terminal, 65536).decode()
            except OSError:  # the program has ended
                assert text in self.text, self.text
        before, _, self.text = self.text.partition(text)
        return (before + text).replace("\r\n", "\n")

    def wait_for_end(self) -> int:
        """The exit code of a program that ends by itself. Its last words are read: without a terminal it would fail to say them."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                self.text += os.read(self._terminal, 65536).decode()
            except OSError:  # it has ended
                break
        return self.process.wait(60)

    def close(self) -> None:
        """Takes the terminal away."""
        os.close(self._terminal)
        self.process.wait(60)
