"""The cases of ``cases/*.py`` on Penstock against recordings of real TensorFlow 1 (see ``record.py``).

Compared are values (exact for integers, bools and strings; by precision for floats), types, static shapes (Penstock may know more, not less), and the
names and op types of the tensors. Where TensorFlow raises, Penstock raises the same class, or one derived from it.
"""
from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from support.compare import difference

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import replay  # noqa: E402 (shared with the recorder, which runs outside of this tree's packages)


class _Broken:
    """A file of cases that cannot be read: it fails as one test and does not hide the others."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self) -> Any:
        raise self.error


def _collect() -> list[Any]:
    found = []
    for family in replay.families():
        try:
            cases = replay.cases_of(family, tf, np)
        except Exception as error:
            cases = [("<the whole file>", _Broken(error))]
        found.extend(pytest.param(family, name, function, id=f"{family}-{name}") for name, function in cases)
    return found


@functools.lru_cache
def _recordings(family: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    path = HERE / "data" / f"{family}.npz"
    return replay.read(str(path)) if path.exists() else ({}, {})


@pytest.mark.parametrize(("family", "name", "function"), _collect())
def test_golden(family, name, function):
    if isinstance(function, _Broken):
        function()
    table, arrays = _recordings(family)
    command = f"python3.7 tests/golden/record.py {family}   (with TensorFlow 1.15)"
    assert name in table, f"the case is not recorded yet; run: {command}"
    wanted = table[name]
    assert wanted["source"] == replay.digest(function), f"the case has changed since it was recorded; run: {command}"
    if "error" in wanted:
        _check_error(function, wanted)
        return
    _check_values(function, wanted, [arrays.get(f"{name}|{index}") for index in range(len(wanted["outputs"]))])


def _check_error(function: Any, wanted: dict[str, Any]) -> None:
    try:
        _replay(function)
    except Exception as error:
        classes = [cls.__name__ for cls in type(error).__mro__]
        assert wanted["error"] in classes, f"TensorFlow: {wanted['error']}: {wanted['message']}\nPenstock: {type(error).__name__}: {error}"
    else:
        pytest.fail(f"TensorFlow raises {wanted['error']}: {wanted['message']}; Penstock does not")


def _replay(function: Any) -> tuple[Any, list[Any], list[Any]]:
    """Like ``replay.run``, but errors come through with their traceback."""
    with tf.Graph().as_default() as graph:
        built = function()
        tensors = [tensor for element in replay.flatten(built) for tensor in replay.parts(element)]
        with tf.Session(graph=graph) as session:
            replay._initialize(tf, graph, session)
            fetched = iter(session.run([t for t in tensors if replay.fetched(t)]))
    return built, tensors, [next(fetched) if replay.fetched(t) else None for t in tensors]


def _check_values(function: Any, wanted: dict[str, Any], values: list[np.ndarray | None]) -> None:
    built, tensors, results = _replay(function)
    assert replay.structure(built) == wanted["structure"]
    for index, (tensor, recorded, result, value) in enumerate(zip(tensors, wanted["outputs"], results, values)):
        where = f"output {index} ({recorded['name']})"
        assert tensor.dtype.name == recorded["dtype"], f"{where}: type {tensor.dtype.name} instead of {recorded['dtype']}"
        _check_shape(where, tensor.shape, recorded["shape"])
        assert (tensor.name, tensor.op.type) == (recorded["name"], recorded["type"]), f"{where}: name or op type differs"
        if value is None:
            continue
        kind = np.dtype(object) if isinstance(result, bytes) else np.asarray(result).dtype
        assert kind == tensor.dtype.base_dtype.np, f"{where}: the result is {kind}"
        problem = difference(replay.restored(replay.stored(result)), replay.restored(value), factor=_factor(recorded["dtype"]))
        assert problem is None, f"{where}: {problem}"


def _factor(dtype: str) -> float:
    return 1000.0 if dtype.startswith("bfloat16") else 1.0  # stored as float32: the tolerance is that of bfloat16


def _check_shape(where: str, shape: Any, recorded: list[int | None] | None) -> None:
    wanted = tf.TensorShape(recorded)
    assert shape.is_compatible_with(wanted), f"{where}: static shape {shape} instead of {wanted}"
    if recorded is not None:
        assert shape.ndims is not None, f"{where}: the rank is not known, but TensorFlow knows {wanted}"
        less = [axis for axis, extent in enumerate(recorded) if extent is not None and shape.as_list()[axis] is None]
        assert not less, f"{where}: static shape {shape} knows less than TensorFlow's {wanted}"
