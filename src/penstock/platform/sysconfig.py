"""``tf.sysconfig``: what a C++ compiler would need. Penstock has no C++ library, and says so."""
from __future__ import annotations

from typing import NoReturn

from penstock.errors import UnimplementedError


def _no_library(*_: object) -> NoReturn:
    raise UnimplementedError(None, None, "Penstock is written in Python: there are no TensorFlow headers or libraries to compile against. "
                             "An operation of your own is a Python class: see `penstock.graph.opdef.op`.")


def get_include() -> str:
    """Raises: there are no C++ headers."""
    return _no_library()


def get_lib() -> str:
    """Raises: there is no C++ library."""
    return _no_library()


def get_compile_flags() -> list[str]:
    """Raises: there are no C++ headers."""
    return _no_library()


def get_link_flags() -> list[str]:
    """Raises: there is no C++ library."""
    return _no_library()
