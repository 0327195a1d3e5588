"""Lines per folder and file: `make size`. Watch this table; a long file is a missing name.

Usage: python tools/size.py [FOLDER ...]     (default: src/penstock tests benchmarks tools)
"""
from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src/penstock", "tests", "benchmarks", "tools")
LONGEST_ALLOWED = 600
BAR_WIDTH = 30


def count_lines(folder: Path) -> dict[Path, int]:
    """The number of lines of each Python file under `folder`."""
    return {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(folder.rglob("*.py"))}


def print_tree(sizes: dict[Path, int]) -> None:
    """One heading per folder, one line with a bar per file, longest file first."""
    by_folder: defaultdict[Path, dict[Path, int]] = defaultdict(dict)
    for path, lines in sizes.items():
        by_folder[path.parent][path] = lines
    longest = max(sizes.values(), default=1) or 1
    for folder, files in sorted(by_folder.items()):
        print(f"\n{folder.relative_to(ROOT)}/   {len(files)} files, {sum(files.values()):,} lines")
        for path, lines in sorted(files.items(), key=lambda item: -item[1]):
            bar = "█" * round(BAR_WIDTH * lines / longest)
            mark = f"  over {LONGEST_ALLOWED}!" if lines > LONGEST_ALLOWED else ""
            print(f"  {path.name:<28} {lines:>6,}  {bar}{mark}")


def print_summary(sizes: dict[Path, int]) -> None:
    """The totals, and how far the files are from the house rule (median under 200, none over 600)."""
    over = sum(lines > LONGEST_ALLOWED for lines in sizes.values())
    print(f"\n{len(sizes)} files, {sum(sizes.values()):,} lines; median {median(sizes.values()):.0f}, "
          f"longest {max(sizes.values()):,}, {over} over {LONGEST_ALLOWED}")


def main(folders: list[str]) -> None:
    """Print the report for `folders`, given relative to the root of the repository."""
    sizes: dict[Path, int] = {}
    for name in folders or FOLDERS:
        sizes.update(count_lines(ROOT / name))
    if not sizes:
        sys.exit("no Python files there")
    print_tree(sizes)
    print_summary(sizes)


if __name__ == "__main__":
    main(sys.argv[1:])
