"""`penstock cache`: where compiled kernels are kept, and how much that is."""
from __future__ import annotations

import argparse

from penstock.native.machine import cache


def main(argv: list[str] | None = None) -> int:
    """Shows the cache, or clears it."""
    parser = argparse.ArgumentParser(prog="penstock cache", description="Compiled kernels that are kept on disk.",
                                     epilog="PENSTOCK_CACHE_DIR names another folder.")
    parser.add_argument("--clear", action="store_true", help="remove all of them")
    options = parser.parse_args(argv)
    if options.clear:
        print(f"removed {_kernels(cache.clear())} from {cache.folder()}")
        return 0
    entries = cache.entries()
    size = sum(status.st_size for _, status in entries)
    print(f"{cache.folder()}: {_kernels(len(entries))}, {size:,} bytes (of at most {cache.LIMIT:,})")
    return 0


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count} kernels"
