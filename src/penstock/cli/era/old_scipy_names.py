"""Names that modules of SciPy had before: distributions up to version 1.6, rules of integration up to 1.14, windows up to 1.13."""
from __future__ import annotations

from types import ModuleType

_RENAMED = {
    "scipy.stats": {"frechet_r": "weibull_min", "frechet_l": "weibull_max"},
    "scipy.integrate": {"simps": "simpson", "trapz": "trapezoid", "cumtrapz": "cumulative_trapezoid"},
}
_WINDOWS = ("barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop gaussian general_gaussian hamming hann "
            "kaiser nuttall parzen triang tukey")


def restore(module: ModuleType) -> None:
    """Gives a module of SciPy its old names."""
    for old, new in _RENAMED.get(module.__name__, {}).items():
        if not hasattr(module, old):
            setattr(module, old, getattr(module, new))
    if module.__name__ == "scipy.signal":
        for name in _WINDOWS.split():
            if not hasattr(module, name):
                setattr(module, name, getattr(module.windows, name))
        if not hasattr(module, "hanning"):
            module.hanning = module.windows.hann  # type: ignore[attr-defined]
