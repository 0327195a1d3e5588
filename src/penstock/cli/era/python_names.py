"""The names that the standard library has removed since, and arguments that its functions took."""
from __future__ import annotations

import collections
import collections.abc
import errno
import inspect
import json
import math
import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from penstock.cli.era.c_types import add_methods
from penstock.cli.era.changes import Function, replace
from penstock.platform.inspection import ArgSpec, getargspec

_ABSTRACT = {name: getattr(collections.abc, name) for name in collections.abc.__all__}


def removed() -> list[tuple[Any, dict[str, Any]]]:
    """(object, the names that it should have)."""
    import base64  # here, so that only a program that runs with these names pays for the modules
    import configparser
    import fractions
    import locale

    return [
        (collections, _ABSTRACT),
        (inspect, {"getargspec": getargspec, "ArgSpec": ArgSpec}),
        (time, {"clock": time.process_time}),
        (fractions, {"gcd": math.gcd}),
        (threading.Thread, {"isAlive": threading.Thread.is_alive}),
        (base64, {"encodestring": base64.encodebytes, "decodestring": base64.decodebytes}),
        (os, {"errno": errno}),
        (configparser, {"SafeConfigParser": configparser.ConfigParser}),
        (configparser.RawConfigParser, {"readfp": lambda self, fp, filename=None: self.read_file(fp, filename)}),
        (locale, {"format": lambda percent, value, grouping=False, monetary=False: locale.format_string(percent, value, grouping, monetary)}),
    ]


def restore_methods() -> list[str]:
    """Those of types that are written in C; returns the names that were added."""
    import array  # here, for the same reason

    def append_bytes(self: array.array, data: Any) -> None:
        self.frombytes(data)

    return add_methods(array.array, {"tostring": array.array.tobytes, "fromstring": append_bytes})


def accept_old_arguments() -> None:
    """``random.randint(0, 10 / 2)``, ``random.sample({1, 2}, 1)`` and ``json.loads(text, encoding="utf-8")``, as they were up to Python 3.11."""
    replace(random, "sample", _of_sets)
    for name in ("randint", "randrange"):
        replace(random, name, _of_whole_floats)
    for name in ("load", "loads"):
        replace(json, name, _without_encoding)


def _of_sets(sample: Function) -> Function:
    def sample_any(population: Any, *args: Any, **options: Any) -> Any:
        return sample(tuple(population) if isinstance(population, collections.abc.Set) else population, *args, **options)

    return sample_any


def _of_whole_floats(draw: Callable[..., int]) -> Callable[..., int]:
    def whole(value: Any) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def draw_between(*limits: Any, **options: Any) -> int:
        return draw(*map(whole, limits), **{name: whole(value) for name, value in options.items()})

    return draw_between


def _without_encoding(load: Function) -> Function:
    def load_any(*args: Any, encoding: Any = None, **options: Any) -> Any:
        return load(*args, **options)

    return load_any
