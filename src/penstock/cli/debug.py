"""``penstock debug prog.py args...``: a TensorFlow 1 program, unmodified, in the debugger of its sessions: on the terminal, or on a page."""
from __future__ import annotations

import argparse

from penstock.cli.run import add_program, inside_program, run_program
from penstock.debug.tfdbg.every_run import EveryRun
from penstock.debugger.serving import run_on_page
from penstock.pages.serving import add_page_options
from penstock.session.observers import observing_runs

EPILOG = """\
On the terminal the program stops before its first run, and tfdbg's command line reads commands; `help` tells which. With --browser it stops there,
too, and a page shows graph, source and values. Runs of other threads than the main one, which fill queues, are not debugged.
"""


def main(argv: list[str]) -> int:
    """Runs a program in the debugger; returns its exit code."""
    parser = argparse.ArgumentParser(prog="penstock debug", description="Run a TensorFlow 1 program in the debugger of its sessions.", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", action="store_true", help="on a page of your browser")
    add_page_options(parser)
    parser.add_argument("--ui", choices=("curses", "readline"), default="curses",
                        help="on the terminal: a whole screen, if the terminal has one (curses), or lines (default: %(default)s)")
    add_program(parser)
    options = parser.parse_args(argv)
    if options.browser:
        return run_on_page(parser, options, lambda: run_program(options, parser.prog), inside_program)
    with observing_runs(EveryRun(options.ui)):
        return run_program(options, parser.prog)
