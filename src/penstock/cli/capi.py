"""`penstock capi`: builds libpenstock, TensorFlow's C API, with its headers."""
from __future__ import annotations

import argparse
import sys

from penstock.capi.build import CannotBuild, build


def main(argv: list[str] | None = None) -> int:
    """Builds it into a folder, or says what is missing."""
    parser = argparse.ArgumentParser(
        prog="penstock capi", description="Build libpenstock: the C API of TensorFlow 1.15 as a shared library, with headers for C and C++.",
        epilog="It needs a C compiler ($CC, cc, gcc, clang, or `pip install ziglang`) and a Python with its library (libpython). Programs find it by "
               "-I DIR/include -L DIR/lib -lpenstock (or -ltensorflow), or as DIR/lib/libtensorflow.so; it uses this Python, or the one that "
               "$PENSTOCK_PYTHON names when they run.")
    parser.add_argument("--build", metavar="DIR", required=True, help="the folder that gets include/ and lib/")
    options = parser.parse_args(argv)
    try:
        library = build(options.build)
    except CannotBuild as error:
        print(error, file=sys.stderr)
        return 1
    print(library)
    return 0
