"""The operations of the C++ front end, as text."""
from __future__ import annotations


def header() -> str:
    """``penstock/ops.h``."""
    return "#pragma once\n"
