"""The parts of the module ``imp``, gone since Python 3.12, that programs use."""
from __future__ import annotations

import sys
from importlib import reload
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source, module_from_spec, spec_from_file_location
from types import ModuleType

__all__ = ["cache_from_source", "load_source", "new_module", "reload"]


def new_module(name: str) -> ModuleType:
    """An empty module."""
    return ModuleType(name)


def load_source(name: str, pathname: str, file: object = None) -> ModuleType:
    """Loads a file as the module ``name``, again if it was loaded before."""
    spec = spec_from_file_location(name, pathname, loader=SourceFileLoader(name, pathname))
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {pathname!r}")
    module = sys.modules.setdefault(name, module_from_spec(spec))
    spec.loader.exec_module(module)
    return module
