"""Modules that have gone, which are found again when they are imported, and modules of other libraries, which are changed then."""
from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from penstock.cli.era.generated_protos import OldProtos

_HERE = "penstock.cli.era"


class _ModuleAliases:
    """Finds modules that have gone: {its name: the module that stands in for it}."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self.modules else None

    def create_module(self, spec: ModuleSpec) -> None:
        """None: the import system makes an empty module first."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self.modules[module.__name__])


class _ChangedModules:
    """Changes modules when they are imported: {its name: the module that has a function ``restore`` for it}."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in self.modules:
            return None
        restore = importlib.import_module(self.modules.pop(fullname)).restore
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_restore(module: ModuleType) -> None:
            load(module)
            restore(module)

        spec.loader.exec_module = load_and_restore  # type: ignore[method-assign]
        return spec


_GONE = _ModuleAliases({
    "imp": f"{_HERE}.old_imp", "xml.etree.cElementTree": "xml.etree.ElementTree",
    "distutils": f"{_HERE}.old_distutils", "distutils.version": f"{_HERE}.old_distutils", "distutils.util": f"{_HERE}.old_distutils",
    "distutils.spawn": f"{_HERE}.old_distutils", "distutils.dir_util": f"{_HERE}.old_distutils",
    "numpy.testing.utils": "numpy.testing", "numpy.linalg.linalg": "numpy.linalg", "numpy.fft.fftpack": "numpy.fft",
    "sklearn.cross_validation": "sklearn.model_selection", "sklearn.grid_search": "sklearn.model_selection",
    "sklearn.externals": f"{_HERE}.old_sklearn_externals", "sklearn.externals.joblib": "joblib", "sklearn.externals.six": "six",
})
_EMPTIED = _ModuleAliases({"scipy.misc": f"{_HERE}.old_scipy_misc"})  # SciPy still has it, without the functions
_CHANGED = _ChangedModules({
    "h5py": f"{_HERE}.old_h5py", "PIL.Image": f"{_HERE}.old_pillow", "scipy.sparse.linalg": f"{_HERE}.old_scipy_linalg",
    "scipy.stats": f"{_HERE}.old_scipy_names", "scipy.signal": f"{_HERE}.old_scipy_names", "scipy.integrate": f"{_HERE}.old_scipy_names",
    "unittest": f"{_HERE}.old_unittest", "xml.etree.ElementTree": f"{_HERE}.old_etree", "pandas": f"{_HERE}.old_pandas",
    "networkx": f"{_HERE}.old_networkx", "google.protobuf.json_format": f"{_HERE}.old_protobuf",
    "google.protobuf.symbol_database": f"{_HERE}.old_protobuf",
})


def activate() -> None:
    """Modules that are imported from now on are those of the time; so are those that were imported before."""
    if _GONE not in sys.meta_path:
        sys.meta_path.append(_GONE)  # last: a module that is there wins
        sys.meta_path[:0] = [_EMPTIED, _CHANGED, OldProtos()]
    for name in [name for name in _CHANGED.modules if name in sys.modules]:  # imported before: Keras imports h5py before TensorFlow
        importlib.import_module(_CHANGED.modules.pop(name)).restore(sys.modules[name])
