"""The fuzzer: ops with random types, shapes, values and attributes. Run as a program, it prints one JSON line per failure.

    python tests/support/fuzz.py SEED COUNT [OP...]

Half of the calls are random altogether, half are examples of the table with one thing changed, which get further into the kernels. What may come
out of building or running is a result, TypeError, ValueError, or an OpError. Problems that start with "bare" are OpErrors that the runtime made of
an error of NumPy's or Python's: the kernel should have said it better. It is a program so that a crash or a hang is a result as well: the op
under way is the last line of the file that FUZZ_LOG names.
"""
from __future__ import annotations

import json
import os
import random
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[2] / "src"), str(Path(__file__).parents[1])]

from penstock import errors  # noqa: E402
from penstock.graph import dtypes  # noqa: E402
from penstock.graph.attrs import REQUIRED, Attr  # noqa: E402
from penstock.graph.dtypes import DType  # noqa: E402
from penstock.graph.graph import Graph  # noqa: E402
from penstock.graph.opdef import REGISTRY  # noqa: E402
from support import build  # noqa: E402
from support.examples import Example, State, load, plain  # noqa: E402

MEMORY = 5 << 29  # bytes of address space: an op that would fill the machine fails instead
SLOW = 10  # seconds that no call on such small inputs may take
TYPES = [dtypes.as_dtype(name) for name in (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex64", "complex128",
    "bool", "string")]
EXTENTS = [0, 1, 1, 2, 2, 3, 4, 5]
INTEGERS = [-3, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 100, 2**31 - 1, -2**31, 2**63 - 1, -2**63]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, float("nan"), float("inf"), -float("inf"), 1e30, 1e-30]
STRINGS = ["", "a", "abc", "3.5", "-7", "x y", "ü", b"\xff\x00", "SAME", "NHWC", "%", "(", "\\", "*", "no/such/file"]
ATTR_INTS = [-2, -1, 0, 0, 1, 1, 2, 2, 3, 7, 2**31 - 1]


class Fuzzer:
    """Draws calls from a seeded generator."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def call(self, op_type: str) -> Example:
        """A call of an op, from nothing or from an example."""
        examples = load().get(op_type) or []
        if examples and self.random.random() < 0.6:
            return self._changed(self.random.choice(examples))
        return self._drawn(op_type)

    def _drawn(self, op_type: str) -> Example:
        definition = REGISTRY[op_type]
        chosen = {name: self._type(attr) for name, attr in definition.attrs.items() if attr.kind == "type"}
        shape = self._shape()
        inputs: list[Any] = []
        for arg in definition.inputs:
            dtype = arg.dtype or chosen.get(arg.type_attr or "") or self.random.choice(TYPES)
            if self.random.random() < 0.4:
                shape = self._shape()
            count = self.random.randint(0, 3)
            one = [self._input(dtype, shape, arg.is_ref) for _ in range(max(count, 1))]
            inputs.append(one[:count] if arg.is_list else one[0])
        return Example(op_type, tuple(inputs), self._attrs(definition, chosen), op_type)

    def _attrs(self, definition: Any, chosen: dict[str, DType]) -> dict[str, Any]:
        found = {}
        for name, attr in definition.attrs.items():
            if name in definition.inferred or (attr.default is not REQUIRED and self.random.random() < 0.5):
                continue
            found[name] = chosen[name] if name in chosen else self._attr(attr)
        return found

    def _changed(self, example: Example) -> Example:
        """An example with an input or an attribute of another kind, shape or value."""
        definition = REGISTRY[example.op_type]
        inputs, attrs = list(example.inputs), dict(example.attrs)
        choices = [("input", index) for index in range(len(inputs))] + [("attr", n) for n in definition.attrs if n not in definition.inferred]
        for kind, where in self.random.sample(choices, min(len(choices), self.random.randint(1, 2))):
            if kind == "attr":
                attrs[where] = self._attr(definition.attrs[where])
            else:
                inputs[where] = self._change_input(inputs[where])
        return Example(example.op_type, tuple(inputs), attrs, example.label)

    def _change_input(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            items = [self._change_input(item) if self.random.random() < 0.5 else item for item in value]
            return items[:self.random.randint(0, len(items))] if self.random.random() < 0.3 else items
        if isinstance(value, State):
            return State(self._change_input(value.value), value.is_resource)
        if callable(value):
            return value
        array = plain(value)
        dtype = dtypes.as_dtype(array.dtype) if self.random.random() < 0.8 else self.random.choice(TYPES)
        shape = list(array.shape) if self.random.random() < 0.4 else self._near(array.shape)
        return self._array(dtype, shape)

    def _near(self, shape: tuple[int, ...]) -> list[int]:
        extents = list(shape)
        action = self.random.randint(0, 3)
        if action == 0 and extents:
            extents[self.random.randrange(len(extents))] = self.random.choice(EXTENTS)
        elif action == 1 and extents:
            del extents[self.random.randrange(len(extents))]
        elif action == 2:
            extents.insert(self.random.randint(0, len(extents)), self.random.choice(EXTENTS))
        else:
            return self._shape()
        return extents

    def _input(self, dtype: DType, shape: list[int], is_ref: bool) -> Any:
        if is_ref or dtype is dtypes.resource:
            held = dtype if dtype is not dtypes.resource else self.random.choice(TYPES)
            return State(self._array(held, shape), dtype is dtypes.resource)
        return self._array(dtype, shape)

    def _type(self, attr: Attr) -> DType:
        allowed = TYPES if attr.allowed is None else [dtype for dtype in TYPES if dtype in attr.allowed]
        return self.random.choice(allowed if allowed and self.random.random() < 0.95 else TYPES)

    def _shape(self) -> list[int]:
        return [self.random.choice(EXTENTS) for _ in range(self.random.choice([0, 0, 1, 1, 2, 2, 3, 4, 5]))]

    def _array(self, dtype: DType, shape: list[int]) -> np.ndarray:
        count = int(np.prod(shape, dtype=np.int64))
        if dtype is dtypes.string or not dtype.is_numpy_compatible:
            items = [self.random.choice(STRINGS) for _ in range(count)]
            result = np.empty(count, object)
            result[:] = [item.encode() if isinstance(item, str) else item for item in items]
            return result.reshape(shape)
        wild = self.random.random() < 0.3
        if dtype.is_integer:
            low, high = (-2 if not dtype.is_unsigned else 0), 5
            values = [self.random.choice(INTEGERS) if wild else self.random.randint(low, high) for _ in range(count)]
            values = [min(max(value, int(dtype.min)), int(dtype.max)) for value in values]
        elif dtype.is_bool:
            values = [self.random.random() < 0.5 for _ in range(count)]
        else:
            values = [self.random.choice(FLOATS) if wild else self.random.gauss(0, 1) for _ in range(count)]
        with np.errstate(all="ignore"):
            return np.array(values, dtype.np).reshape(shape)

    def _attr(self, attr: Attr) -> Any:
        if attr.kind.startswith("list("):
            inner = Attr(attr.kind[5:-1], allowed=attr.allowed)
            return [self._attr(inner) for _ in range(self.random.choice([0, 1, 2, 3, 4, 4, 5]))]
        if attr.allowed is not None and self.random.random() < 0.9:
            return self.random.choice(sorted(attr.allowed, key=str))
        draw = {"int": lambda: self.random.choice(ATTR_INTS), "float": lambda: self.random.choice(FLOATS), "bool": lambda: self.random.random() < 0.5,
                "string": lambda: self.random.choice(STRINGS), "type": lambda: self.random.choice(TYPES),
                "shape": lambda: self.random.choice([None, [None], self._shape(), [None, *self._shape()]]),
                "tensor": lambda: self._array(self.random.choice(TYPES), self._shape()), "func": lambda: "no_such_function"}
        return draw[attr.kind]()


def attempt(example: Example, source: Any) -> str | None:
    """What is wrong with how the call ended; None if it ended well, with a result or with a proper error."""
    try:
        with Graph().as_default() as graph:
            call = build.Call(example, source)
    except (TypeError, ValueError):
        return None
    except errors.OpError as error:
        return _problem("building", error)
    except Exception as error:
        return _problem("building", error)
    try:
        with build.session(graph) as running:
            if call.setup:
                running.run(call.setup)
            results = running.run([build.fetchable(call.outputs), call.op], call.feeds(), options=_options(call.op))[0]
    except errors.OpError as error:
        if isinstance(error, errors.InternalError):
            return _problem("running", error.__cause__ or error)
        if error.__cause__ is None or isinstance(error, errors.ResourceExhaustedError):
            return None  # raised on purpose
        return _problem("bare", error.__cause__)
    except Exception as error:
        return _problem("running", error)
    for tensor, result in zip(build.fetchable(call.outputs), results):
        array = np.asarray(result, object) if isinstance(result, bytes) else np.asarray(result)
        if array.dtype != tensor.dtype.base_dtype.np:
            return f"type: {array.dtype} instead of {tensor.dtype.name}"
        is_old_handle = tensor.dtype.is_ref and tensor.dtype.base_dtype is dtypes.string  # fetched: container and name
        if not tensor.shape.is_compatible_with(array.shape) and not (is_old_handle and array.shape == (2,)):
            return f"shape: {list(array.shape)} instead of {tensor.shape}"
    return None


def _options(op: Any) -> Any:
    from tensorboard.compat.proto.config_pb2 import RunOptions
    return RunOptions(timeout_in_ms=500) if op.definition.blocking else None


def _problem(phase: str, error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}penstock{os.sep}" in frame.filename]
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{phase}: {type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}{where}"


def shown(example: Example) -> str:
    """A call as text, to be reproduced by hand."""
    def one(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(one(item) for item in value) + "]"
        if isinstance(value, State):
            return f"{'resource' if value.is_resource else 'variable'}({one(value.value)})"
        if callable(value):
            return "<built>"
        array = plain(value)
        return f"{array.dtype}{list(array.shape)}" + (f"={array.tolist()}" if array.size <= 6 else "")
    return f"{example.op_type}({', '.join([one(v) for v in example.inputs] + [f'{k}={v!r}' for k, v in example.attrs.items()])})"


def main(seed: int, count: int, names: list[str]) -> None:
    """Tries ``count`` calls, spread evenly over the ops."""
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    fuzzer = Fuzzer(seed)
    # Ops whose names begin with an underscore are made by the runtime alone, out of checked ones.
    names = names or sorted(n for n, d in REGISTRY.items() if d.__module__.startswith("penstock.") and d.kernel is not None and n[0] != "_")
    with open(os.environ.get("FUZZ_LOG", os.devnull), "w") as log:
        for index in range(count):
            example = fuzzer.call(names[index % len(names)])
            source = fuzzer.random.choice([build.as_constant, build.as_unknown, build.as_partly_known])
            log.write(f"{shown(example)}\n")
            log.flush()
            start = time.monotonic()
            problem = attempt(example, source)
            if problem is None and time.monotonic() - start > SLOW:
                problem = f"time: {time.monotonic() - start:.0f} seconds"
            if problem is not None:
                print(json.dumps({"op": example.op_type, "problem": problem, "call": shown(example)}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
