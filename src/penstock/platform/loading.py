"""When this process began to load the package. Files that change later, by an upgrade in place or an edit, are not what runs here.

``penstock/__init__.py`` imports this module before all others.
"""
from __future__ import annotations

import time

_TICK = 0.01  # seconds: the clock that stamps files is that of the scheduler, which may be this late

LOADED_SINCE = time.time() - _TICK  # in the clock of the file system
