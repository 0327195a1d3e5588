"""Names of event files, which TensorBoard sorts by their time."""
from __future__ import annotations

import itertools
import os
import socket
import time

_numbers = itertools.count()


def new_event_path(logdir: str, suffix: str = "") -> str:
    """The path of an event file that does not exist yet; its folder is made."""
    os.makedirs(logdir or ".", exist_ok=True)
    name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{suffix}"
    return os.path.join(logdir, name)
