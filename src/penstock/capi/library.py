"""How the library and Python meet: ``shim.c`` calls ``connect`` once, and gets the address of each function that it forwards."""
from __future__ import annotations

import ctypes
from typing import Any

from penstock.capi import (
    api_defs,
    attributes,
    descriptions,
    devices,
    differentiation,
    functions,
    graphs,
    imports,
    loops,
    named_sessions,
    operations,
    servers,
    sessions,
)
from penstock.capi.declarations import forwarded
from penstock.capi.entries import ENTRIES, Services, callback

MODULES = (api_defs, attributes, descriptions, devices, differentiation, functions, graphs, imports, loops, named_sessions, operations, servers,
           sessions)
_callbacks: list[Any] = []  # C holds their addresses


def missing() -> list[str]:
    """The functions of the header that no module has."""
    return [each.name for each in forwarded() if each.name not in ENTRIES]


def connect(table: int, count: int, path: str) -> None:
    """Writes the addresses of ``count`` functions to ``table``; ``path`` is that of the library."""
    declared = forwarded()
    if len(declared) != count:
        raise RuntimeError(f"{path} was built for {count} functions and this version of Penstock has {len(declared)}: build it again")
    Services.load(path)
    places = (ctypes.c_void_p * count).from_address(table)
    for index, declaration in enumerate(declared):
        function = callback(declaration)
        _callbacks.append(function)
        places[index] = ctypes.cast(function, ctypes.c_void_p).value
