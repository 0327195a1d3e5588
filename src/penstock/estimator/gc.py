"""Which exports to keep: filters over the folders of exports, which can be combined. A filter takes paths and returns those to keep, sorted."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from penstock.platform import gfile
from penstock.platform.compat import as_str_any


class Path(NamedTuple):
    """A folder, and the number of the export in it; None if it has none."""

    path: str
    export_version: int | None


Filter = Callable[[Iterable[Path]], list[Path]]


def largest_export_versions(n: int) -> Filter:
    """Keeps the ``n`` exports with the largest numbers."""
    def keep(paths: Iterable[Path]) -> list[Path]:
        numbered = sorted((path.export_version, place, path) for place, path in enumerate(paths) if path.export_version is not None)
        return sorted(path for _, _, path in numbered[max(len(numbered) - n, 0):])
    return keep


def one_of_every_n_export_versions(n: int) -> Filter:
    """Keeps the largest number of each interval [0, n], (n, 2n], (2n, 3n], ..."""
    def keep(paths: Iterable[Path]) -> list[Path]:
        largest: dict[int, Path] = {}
        for path in paths:
            if path.export_version is not None:
                interval = max(path.export_version - 1, 0) // n
                largest[interval] = max(largest.get(interval, path), path, key=lambda path: path.export_version or 0)
        return sorted(largest.values())
    return keep


def mod_export_version(n: int) -> Filter:
    """Keeps the multiples of ``n``."""
    return lambda paths: sorted(path for path in paths if path.export_version is not None and path.export_version % n == 0)


def union(lf: Filter, rf: Filter) -> Filter:
    """Keeps what one of the two filters keeps."""
    return lambda paths: sorted({*lf(paths), *rf(paths)})


def negation(f: Filter) -> Filter:
    """Keeps what the filter does not keep."""
    return lambda paths: sorted(set(paths) - set(f(paths)))


def get_paths(base_dir: Any, parser: Callable[[Path], Path | None]) -> list[Path]:
    """What is in a folder. ``parser`` returns the path with its number, or None for other files."""
    base = as_str_any(base_dir)
    parsed = (parser(Path(os.path.join(base, as_str_any(name).removesuffix("/")), None)) for name in gfile.ListDirectory(base))
    return sorted(path for path in parsed if path is not None)
