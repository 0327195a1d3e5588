"""How many files this process may have open."""
from __future__ import annotations

import resource

_ENOUGH = 1 << 16


def raise_open_files() -> int:
    """Raises the soft limit as far as the hard one allows, within reason; returns what it is now. Every connection is a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return min(soft, _ENOUGH) if soft != resource.RLIM_INFINITY else _ENOUGH
