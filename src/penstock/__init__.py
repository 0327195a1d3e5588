"""Penstock: the TensorFlow 1 dataflow system in Python. ``import penstock as tf`` gives the TensorFlow 1 API.

Public names are looked up in the tables of ``penstock.api`` when they are first used. Some of them are also names of implementation modules
(``penstock.gradients`` holds the function ``tf.gradients``): as an attribute of this package the public object wins, and code inside the
package says ``from penstock.gradients import ...``.
"""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from penstock.platform import loading  # noqa: F401 (notes when this process began to load the package)

# isort: split
from penstock.api import root

__version__ = "0.1.0"


class _Face(ModuleType):
    """A package whose submodules do not hide its public names."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds each submodule to its package in this way.
        if not (name in root.ORIGINS and isinstance(value, ModuleType) and value.__name__ == f"{__name__}.{name}"):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        about = [name for name in super().__dir__() if name.startswith("__") and name != "__getattr__"]  # __name__, __doc__, ...
        return sorted({*root.ORIGINS, *about, "__version__", "install_as_tensorflow"})


def __getattr__(name: str) -> Any:
    # Not of the class: a class with this method makes each look at a name of the module slower.
    value = globals()[name] = getattr(root, name)
    return value


def install_as_tensorflow(era: bool = True) -> None:
    """Makes ``import tensorflow`` mean Penstock, in this process, and brings back the names of NumPy and Python that programs of 2016-2019 expect.

    It does what ``penstock run`` does; ``era=False`` leaves the names out. Raises RuntimeError if TensorFlow itself has been imported.
    """
    from penstock.api.alias import install_as_tensorflow as install  # most programs do not need it
    from penstock.cli import era as names  # nor these

    install()
    if era:
        names.activate(tell=False)


sys.modules[__name__].__class__ = _Face
__all__ = root.__all__

from penstock import ops as _ops  # noqa: E402, F401 (registers every operation; below the class above, whose rule holds for its submodules)
