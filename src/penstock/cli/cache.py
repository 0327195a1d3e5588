"""`penstock cache`: where compiled kernels are kept, and how much that is."""
from __future__ import annotations

import argparse

from penstock.cli.warming import warm
from penstock.native.machine import cache


def main(argv: list[str] | None = None) -> int:
    """Shows the cache, clears it, or fills it with what common models need."""
    parser = argparse.ArgumentParser(prog="penstock cache", description="Compiled kernels that are kept on disk.",
                                     epilog="PENSTOCK_CACHE_DIR names another folder.")
    parser.add_argument("--clear", action="store_true", help="remove all of them")
    parser.add_argument("--warm", action="store_true", help="make those that common models need; takes a minute or so")
    options = parser.parse_args(argv)
    if options.clear:
        print(f"removed {_kernels(cache.clear())} from {cache.folder()}")
        return 0
    if options.warm:
        for name in warm():
            print(f"ready: {name}", flush=True)
    entries = cache.entries()
    size = sum(status.st_size for _, status in entries)
    print(f"{cache.folder()}: {_kernels(len(entries))}, {size:,} bytes (of at most {cache.LIMIT:,})")
    return 0


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count} kernels"
