"""What the compiler says if there is no native code for something."""
from __future__ import annotations


class Unsupported(Exception):
    """There is no native code for this, and there never will be in this process; the message says why. NumPy has to run it."""
