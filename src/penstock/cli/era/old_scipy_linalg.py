"""The place of SciPy's eigensolver before version 1.8: ``from scipy.sparse.linalg.eigen.arpack import eigsh``, as graph networks have it."""
from __future__ import annotations

import sys
from types import ModuleType

_OLD = "scipy.sparse.linalg.eigen"


def restore(linalg: ModuleType) -> None:
    """Gives ``scipy.sparse.linalg`` the package ``eigen`` with the module ``arpack``, if it has none."""
    eigen = sys.modules.setdefault(_OLD, ModuleType(_OLD))
    if not hasattr(eigen, "__path__"):
        eigen.__path__ = []
        arpack = ModuleType(f"{_OLD}.arpack")
        for name in ("eigs", "eigsh", "svds", "ArpackError", "ArpackNoConvergence"):
            setattr(arpack, name, getattr(linalg, name))
        linalg.eigen, eigen.arpack, sys.modules[arpack.__name__] = eigen, arpack, arpack  # type: ignore[attr-defined]
