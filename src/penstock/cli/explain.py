"""``penstock explain prog.py args...``: runs a program, then prints on standard error where its steps spent their time.

For each plan (a set of fetches and feeds): what was fused into which kernel, each kernel's time, rate and share of the step, the memory that is
planned for it, and which nodes NumPy ran, and why. Steps wait for the compiler, unless PENSTOCK_COMPILE says otherwise: what counts is how they run
in the long run.
"""
from __future__ import annotations

import argparse
import os
import sys

from penstock.cli import run
from penstock.debug.explain import Explainer
from penstock.native.config import set_compiler


def main(argv: list[str]) -> int:
    """Runs a program and explains its steps, also if it ends with an error."""
    parser = argparse.ArgumentParser(prog="penstock explain", description="Run a program, then tell where its steps spent their time.",
                                     epilog="What stands behind the program goes to the program; -m and --no-era are those of `penstock run`.")
    parser.add_argument("--plans", type=int, default=5, metavar="N", help="plans to show, those with the most time first (default: %(default)s)")
    parser.add_argument("--kernels", type=int, default=15, metavar="N", help="kernels of each plan (default: %(default)s)")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...")
    options = parser.parse_args(argv)
    if not options.program:
        parser.error("which program?")
    if "PENSTOCK_COMPILE" not in os.environ:
        set_compiler("eager")
    with Explainer() as explainer:
        try:
            return run.main(options.program)
        finally:
            sys.stdout.flush()
            print(explainer.text(options.plans, options.kernels), file=sys.stderr)
