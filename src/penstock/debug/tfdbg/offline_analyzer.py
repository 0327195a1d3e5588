"""``python -m penstock.debug.tfdbg.offline_analyzer --dump_dir=FOLDER``: looks into a dump after the program has ended."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from penstock.debug.tfdbg.analyzer import Analyzer
from penstock.debug.tfdbg.commands import CommandLine
from penstock.debug.tfdbg.dump_dir import DebugDumpDir, has_inf_or_nan


def main(argv: Sequence[str] | None = None) -> int:
    """Reads commands; the exit code is 1 if there is no dump."""
    parser = argparse.ArgumentParser(prog="offline_analyzer", description="Look into the dump of a debugged run.")
    parser.add_argument("--dump_dir", required=True, help="the folder of one run, such as session_root/run_1500000000000000_1")
    parser.add_argument("--ui_type", choices=("curses", "readline"), default="curses", help="a whole screen, where there is one, or lines")
    parser.add_argument("--log_usage", nargs="?", help="nothing is ever logged")
    parser.add_argument("--validate_graph", nargs="?", help="a graph is always read as it is")
    options = parser.parse_args(argv)
    try:
        dump = DebugDumpDir(options.dump_dir)
    except OSError as error:
        print(f"offline_analyzer: {error}", file=sys.stderr)
        return 1
    line = CommandLine(ui=options.ui_type)
    Analyzer(dump, {"has_inf_or_nan": has_inf_or_nan}, line.config).register(line)
    line.converse(f"tfdbg offline: {options.dump_dir}", "lt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
