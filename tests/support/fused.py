"""Fused loops for the tests of the compiler: made up at random, run natively, compared with the NumPy kernels."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.opdef import REGISTRY, OpDef
from penstock.native.calls import Array, Buffer
from penstock.native.emitter import Emitter
from penstock.native.fusion.cluster_code import Loop
from penstock.native.fusion.loop_nest import Fold, OpStep
from penstock.native.kernels.axes import broadcast_strides
from penstock.native.table.call_table import CallTable
from support.native import guarded, untouched

TYPES = (dt.float32, dt.float64, dt.int32, dt.int64, dt.bool_, dt.uint8)
FLOATS = (dt.float32, dt.float64)
INTEGERS = (dt.int32, dt.int64, dt.uint8)
FOLDS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}

# Ops whose result is exact, so that anything may follow them: (name, types of T).
_EXACT = {
    FLOATS + INTEGERS: "Add Sub Mul Maximum Minimum Less GreaterEqual Equal NotEqual Relu Relu6 ReluGrad Abs Square SquaredDifference SelectV2",
    FLOATS: "RealDiv Sqrt Floor Ceil Rint DivNoNan TanhGrad IsNan IsFinite Softsign LeakyRelu",
    INTEGERS: "BitwiseAnd BitwiseXor Invert LeftShift RightShift",
    (None,): "LogicalAnd LogicalOr LogicalNot Cast",
}
EXACT = [(name, types) for types, names in _EXACT.items() for name in names.split()]
# Ops that are rounded, none of which makes much of a small difference.
_SMOOTH = "Tanh Sigmoid Erf Sin Cos Softplus Elu Selu Relu Maximum Minimum Add Sub Mul Neg TanhGrad SigmoidGrad Softsign Atan Erfc"
SMOOTH = [(name, FLOATS) for name in _SMOOTH.split()]


@dataclass(frozen=True)
class Sketch:
    """Inputs of some types, steps (operands are ids: inputs first), which values are stored, and which are folded how over which axes."""

    inputs: tuple[DType, ...]
    steps: tuple[OpStep, ...]
    outputs: tuple[int, ...]
    folds: tuple[tuple[str, int], ...] = ()
    reduced: frozenset[int] = frozenset()

    @property
    def dtypes(self) -> list[DType]:
        """The type of each id."""
        return [*self.inputs, *[step.dtypes[0] for step in self.steps]]


def one_op(definition: OpDef, attrs: dict[str, Any], dtypes: Sequence[DType]) -> Sketch:
    """A loop of one op."""
    return Sketch(tuple(dtypes), (OpStep(definition, attrs, tuple(range(len(dtypes)))),), (len(dtypes),))


def call(function: Any, definition: OpDef, attrs: dict[str, Any], arrays: Sequence[Any]) -> Any:
    """A function of an op's class, with what it names."""
    arguments = definition.arguments(list(arrays), attrs)
    names = definition.parameters_of(function)
    return function(*[arguments[name] if isinstance(name, int) else attrs[name] for name in names])


def run_numpy(sketch: Sketch, arrays: Sequence[np.ndarray], shape: tuple[int, ...]) -> list[np.ndarray]:
    """What native code has to give: NumPy kernels one by one, on broadcast inputs; sums and products of floats in float64."""
    values: list[Any] = [np.broadcast_to(array, shape) for array in arrays]
    with np.errstate(all="ignore"):
        for each in sketch.steps:
            result = call(each.definition.kernel, each.definition, each.attrs, [values[operand] for operand in each.operands])
            values.append(np.broadcast_to(np.asarray(result), shape))
        found = [values[output] for output in sketch.outputs]
        for kind, operand in sketch.folds:
            value = values[operand]
            wide = np.float64 if value.dtype.kind == "f" and kind in ("sum", "prod") else value.dtype
            initial = None if kind in ("sum", "prod") else _worst(value.dtype, kind)
            folded = FOLDS[kind].reduce(value, axis=tuple(sorted(sketch.reduced)), dtype=wide, **({} if initial is None else {"initial": initial}))
            found.append(np.asarray(folded).astype(value.dtype))
        return found


def _worst(dtype: np.dtype, kind: str) -> Any:
    if dtype.kind == "f":
        return -np.inf if kind == "max" else np.inf
    return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max


class Native:
    """A sketch for given shapes and strides, compiled. Calling it checks that nothing is written beyond the outputs."""

    def __init__(self, sketch: Sketch, arrays: Sequence[np.ndarray], shape: tuple[int, ...], threads: int = 2) -> None:
        emitter, loop = Emitter(threads), Loop(shape, sketch.reduced)
        self._inputs = [Array(Buffer("input", array.nbytes), array.dtype, array.shape, array.strides) for array in arrays]
        refs = [loop.input(each, broadcast_strides(each.shape, each.strides, shape)) for each in self._inputs]
        for step in sketch.steps:
            refs += loop.step(step, [refs[operand] for operand in step.operands])
        self._outputs = [emitter.empty(shape, sketch.dtypes[output].np) for output in sketch.outputs]
        for output, array in zip(sketch.outputs, self._outputs):
            loop.output(refs[output], array, array.strides, True)
        kept = [axis for axis in range(len(shape)) if axis not in sketch.reduced]
        for kind, operand in sketch.folds:
            (ref,) = loop.step(Fold(kind, (), sketch.dtypes[operand]), [refs[operand]])
            array = emitter.empty([shape[axis] for axis in kept], sketch.dtypes[operand].np)
            along = dict(zip(kept, array.strides))
            loop.output(ref, array, tuple(along.get(axis, 0) for axis in range(len(shape))), False)
            self._outputs.append(array)
        loop.emit(emitter, "test")
        self.calls = emitter.calls
        self._table = CallTable(emitter, self._inputs, self._outputs)
        self._table.compile()

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        results = [guarded(array.shape, array.dtype) for array in self._outputs]
        assert self._table.run([*arrays, *[result for result, _ in results]]) is None
        assert all(untouched(memory) for _, memory in results), "wrote beyond an output"
        return [result for result, _ in results]


def run_native(sketch: Sketch, arrays: Sequence[np.ndarray], shape: tuple[int, ...], threads: int = 2) -> list[np.ndarray]:
    """Compiles and runs."""
    return Native(sketch, arrays, shape, threads)(arrays)


def native_op(name: str, *arrays: np.ndarray, **attrs: Any) -> np.ndarray:
    """An op of arrays of one shape."""
    dtypes = [as_dtype(array.dtype) for array in arrays]
    return run_native(one_op(REGISTRY[name], attrs or {"T": dtypes[0]}, dtypes), arrays, arrays[0].shape)[0]


def sample(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], special: bool = True) -> np.ndarray:
    """Values of a type, with some of the awkward ones."""
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        info = np.iinfo(dtype.np)
        values = rng.integers(-9 if info.min else 0, 10, shape)
        awkward = np.array([info.min, info.max, info.min + 1, info.max // 3], dtype.np)
        return np.where(rng.random(shape) < 0.1 * special, rng.choice(awkward, shape), values).astype(dtype.np)
    values = rng.normal(0, 2, shape)
    awkward = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-25, 300.5, -70000.25, 3e9, 1.0])
    with np.errstate(all="ignore"):
        return np.where(rng.random(shape) < 0.1 * special, rng.choice(awkward, shape), values).astype(dtype.np)


def flushed(array: np.ndarray) -> np.ndarray:
    """With 0 for numbers too small to be normal: that is what native code takes them for."""
    small = np.abs(array) < np.finfo(array.dtype).tiny if array.dtype.kind == "f" else np.False_
    return np.where(small, np.copysign(array.dtype.type(0), array), array) if small.any() else array


def random_sketch(rng: np.random.Generator, exact: bool, rank: int, reduce: bool) -> Sketch:
    """Some inputs, some ops on them, one to three results, some of them folded."""
    types = TYPES if exact else (FLOATS[rng.integers(2)],)
    inputs = [types[i] for i in rng.integers(0, len(types), rng.integers(1, 5))]
    values, steps = list(inputs), []
    for _ in range(rng.integers(1, 13)):
        made = _random_step(rng, values, EXACT if exact else SMOOTH)
        if made is not None:
            steps.append(made)
            values.append(made.dtypes[0])
    folds: set[tuple[str, int]] = set()
    foldable = [index for index, dtype in enumerate(values) if not dtype.is_bool]
    for _ in range(rng.integers(1, 4) if reduce and foldable else 0):
        folds.add((list(FOLDS)[rng.integers(4)], int(foldable[rng.integers(len(foldable))])))
    outputs = {int(index) for index in rng.integers(len(inputs), len(values), rng.integers(0, 3))} if steps else set()
    if not outputs and not folds:
        return random_sketch(rng, exact, rank, reduce)
    axes = frozenset(int(axis) for axis in range(rank) if rng.integers(2)) or frozenset(range(rank))
    return Sketch(tuple(inputs), tuple(steps), tuple(sorted(outputs)), tuple(sorted(folds)), axes if folds else frozenset())


def _random_step(rng: np.random.Generator, values: list[DType], table: list[Any]) -> OpStep | None:
    """An op for which there are operands of its types; None if chance did not find one."""
    name, types = table[rng.integers(len(table))]
    definition = REGISTRY[name]
    dtype = types[rng.integers(len(types))]
    attrs = {} if dtype is None else {"T": dtype}
    if name == "Cast":
        attrs = {"SrcT": values[rng.integers(len(values))], "DstT": TYPES[rng.integers(len(TYPES))], "Truncate": False}
    definition.fill_defaults(attrs)
    operands = []
    for arg in definition.inputs:
        wanted = arg.dtype if arg.type_attr is None else attrs[arg.type_attr]
        having = [i for i, value in enumerate(values) if value is wanted]
        if not having:
            return None
        operands.append(int(having[rng.integers(len(having))]))
    return OpStep(definition, attrs, tuple(operands))


def difference(got: np.ndarray, wanted: np.ndarray, ulps: float = 0, loose: float = 0.0) -> str | None:
    """Where two arrays differ by more than so many units in the last place (or, relative to the largest value, by ``loose``); None if nowhere.

    What is too small to be a normal number is as good as 0.
    """
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    with np.errstate(all="ignore"):
        good = got == wanted
        if got.dtype.kind == "f":
            good |= np.isnan(got) & np.isnan(wanted)
            size = np.maximum(np.abs(wanted), np.finfo(got.dtype).tiny)
            good |= np.abs(got - wanted) <= ulps * np.spacing(size) + loose * np.maximum(size, 1)
            good |= np.abs(got - wanted) <= np.finfo(got.dtype).tiny
    if np.all(good):
        return None
    where = tuple(np.argwhere(~np.asarray(good))[0]) if got.ndim else ()
    return f"{int(np.sum(~good))} of {got.size} elements differ; at {where}: {got[where]!r} instead of {wanted[where]!r}"


def arrays_for(rng: np.random.Generator, dtypes: Sequence[DType], shape: tuple[int, ...], special: bool = True) -> list[np.ndarray]:
    """Inputs that broadcast to a shape, of all kinds: whole, broadcast along some axes, scalars, strided, reversed, transposed."""
    return [_variant(rng, dtype, shape, special) for dtype in dtypes]


def _variant(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], special: bool) -> np.ndarray:
    kind = rng.integers(8)
    if kind == 0:
        return sample(rng, dtype, (), special)
    if kind == 1:
        return sample(rng, dtype, tuple(1 if rng.integers(2) else extent for extent in shape), special)
    if kind == 2:
        return sample(rng, dtype, shape[rng.integers(0, len(shape) + 1):], special)
    if kind == 3 and shape:
        return sample(rng, dtype, (*shape[:-1], 2 * shape[-1]), special)[..., ::2]
    if kind == 4 and shape:
        return sample(rng, dtype, shape, special)[::-1]
    if kind == 5:
        return sample(rng, dtype, shape[::-1], special).T
    return sample(rng, dtype, shape, special)
