"""What programs of 2016-2019 expect of NumPy, the standard library and other libraries, and what has gone since.

``penstock run`` and ``install_as_tensorflow()`` activate it; nothing else does. A name is only added where it is missing, to the module that had it
(``numpy_names``, ``python_names``); functions and arrays take again what they took (``numpy_functions``, ``numpy_arrays``). Modules that have gone
(``imp``, ``distutils``) are found when they are imported; other libraries (h5py, pandas) are changed back then (``modules``).
"""
from __future__ import annotations

import os
import sys
import warnings

from penstock.cli.era import modules, numpy_arrays, numpy_functions, numpy_names, python_names

QUIET = "PENSTOCK_QUIET"  # environment variable: no line on stderr


def activate(tell: bool = True) -> list[str]:
    """Adds the names, and tells so in one line on stderr. Returns what was added: ``numpy.float``, ..."""
    added = []
    for owner, names in (*numpy_names.REMOVED, *python_names.removed()):
        for name, value in names.items():
            if name not in vars(owner):  # not hasattr(): that would call a module's __getattr__, which warns
                setattr(owner, name, value)
                added.append(f"{getattr(owner, '__qualname__', owner.__name__)}.{name}")
    python_names.accept_old_arguments()
    numpy_functions.accept_old_arguments()
    added += python_names.restore_methods() + numpy_arrays.restore()
    modules.activate()
    if not sys.warnoptions:  # an old program would get a warning at every step; `python -W default` brings them back
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, SyntaxWarning):
            warnings.simplefilter("ignore", category)
    if added and tell and not os.environ.get(QUIET):
        print(_summary(added), file=sys.stderr)
    return added


def _summary(added: list[str]) -> str:
    of_numpy = sum(name.startswith("numpy.") for name in added)
    return (f"penstock run: {len(added)} names that programs of 2016-2019 expect are back, {of_numpy} of them numpy's "
            f"(--no-era: without them; {QUIET}=1: without this line)")
