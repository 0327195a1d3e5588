"""``tf.app.run``: parse the flags, call ``main(argv)``, exit with what it returns."""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from absl.flags import Error

from penstock.platform.flags import FLAGS

_HELP = ("-h", "--help", "-help", "--helpfull", "--helpshort")


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Calls ``main`` (by default the ``main`` of the running program) with the arguments that are not flags.

    Undefined flags are left in ``argv``, as TensorFlow does. ``--help`` prints the program's docstring and its flags.
    """
    program = sys.modules["__main__"]
    main = main or program.main
    arguments = list(sys.argv if argv is None else argv)
    if any(argument in _HELP for argument in arguments[1:]) and "help" not in FLAGS:
        _print_help(program.__doc__)
        sys.exit(1)
    try:
        rest = FLAGS(arguments, known_only=True)
    except Error as error:
        print(f"FATAL Flags parsing error: {error}\nPass --help to see help on flags.", file=sys.stderr)
        sys.exit(1)
    sys.exit(main(rest))


def _print_help(text: str | None) -> None:
    print(f"\n{text or 'USAGE: ' + sys.argv[0] + ' [flags]'}\nflags:\n{FLAGS.get_help()}")
