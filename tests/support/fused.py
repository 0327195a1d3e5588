"""Fused bodies for the tests of the compiler: run by NumPy kernels, made up at random, compared."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.compiler.fusion_body import Body, Instruction, Reduction
from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.graph.opdef import REGISTRY, OpDef

TYPES = (dt.float32, dt.float64, dt.int32, dt.int64, dt.bool_, dt.uint8)
FLOATS = (dt.float32, dt.float64)
INTEGERS = (dt.int32, dt.int64, dt.uint8)
_REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}

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


def call(function: Any, definition: OpDef, attrs: dict[str, Any], arrays: Sequence[Any]) -> Any:
    """A function of an op's class, with what it names."""
    arguments = definition.arguments(list(arrays), attrs)
    names = definition._parameters(function)
    return function(*[arguments[name] if isinstance(name, int) else attrs[name] for name in names])


def run_numpy(body: Body, arrays: Sequence[np.ndarray], shape: tuple[int, ...]) -> list[np.ndarray]:
    """What the kernel has to give: NumPy kernels one by one, on broadcast inputs; sums in float64."""
    values: list[Any] = [np.broadcast_to(array, shape) for array in arrays]
    with np.errstate(all="ignore"):
        for each in body.instructions:
            result = call(each.definition.kernel, each.definition, each.attrs, [values[operand] for operand in each.operands])
            values.append(np.broadcast_to(np.asarray(result), shape))
        outputs = [values[output] for output in body.outputs]
        return outputs if body.reduce is None else [_reduced(output, body.reduce) for output in outputs]


def _reduced(value: np.ndarray, reduce: Reduction) -> np.ndarray:
    split = reduce.split(value.ndim)
    axes = tuple(range(split)) if reduce.axes == "first" else tuple(range(split, value.ndim))
    wide = np.float64 if value.dtype.kind == "f" else value.dtype
    if reduce.kind in ("max", "min"):
        return _REDUCE[reduce.kind](value, axis=axes)
    result = _REDUCE[reduce.kind](value, axis=axes, dtype=wide)
    return np.asarray(result).astype(value.dtype)


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
    awkward = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-40, 300.5, -70000.25, 3e9, 1.0, 5e-324])
    with np.errstate(all="ignore"):
        return np.where(rng.random(shape) < 0.1 * special, rng.choice(awkward, shape), values).astype(dtype.np)


def random_body(rng: np.random.Generator, exact: bool, reduce: Reduction | None = None) -> Body:
    """Some inputs, some ops on them, one to three results."""
    types = TYPES if exact else (FLOATS[rng.integers(2)],)
    inputs = [types[i] for i in rng.integers(0, len(types), rng.integers(1, 5))]
    values, instructions = list(inputs), []
    for _ in range(rng.integers(1, 13)):
        made = _random_instruction(rng, values, EXACT if exact else SMOOTH)
        if made is not None:
            instructions.append(made)
            values.append(made.dtype)
    good = [i for i, dtype in enumerate(values) if i >= len(inputs) and (reduce is None or _reducible(dtype, reduce.kind))]
    if not good:
        return random_body(rng, exact, reduce)
    outputs = {good[-1], *rng.choice(good, rng.integers(0, 3)).tolist()}
    return Body(tuple(inputs), tuple(instructions), tuple(sorted(outputs)), reduce)


def _reducible(dtype: DType, kind: str) -> bool:
    return dtype.is_floating or (dtype.is_integer and kind != "mean")


def _random_instruction(rng: np.random.Generator, values: list[DType], table: list[Any]) -> Instruction | None:
    """An op for which there are operands of its types; None if chance did not find one."""
    name, types = table[rng.integers(len(table))]
    definition = REGISTRY[name]
    dtype = types[rng.integers(len(types))]
    attrs = {} if dtype is None else {"T": dtype}
    if name == "Cast":
        attrs = {"SrcT": values[rng.integers(len(values))], "DstT": TYPES[rng.integers(len(TYPES))], "Truncate": False}
    definition._fill_defaults(attrs)
    operands = []
    for arg in definition.inputs:
        wanted = arg.dtype if arg.type_attr is None else attrs[arg.type_attr]
        having = [i for i, value in enumerate(values) if value is wanted]
        if not having:
            return None
        operands.append(int(having[rng.integers(len(having))]))
    return Instruction(definition, attrs, tuple(operands))


def difference(got: np.ndarray, wanted: np.ndarray, ulps: float = 0, loose: float = 0.0) -> str | None:
    """Where two arrays differ by more than so many units in the last place (or, relative to the largest value, by ``loose``); None if nowhere."""
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    with np.errstate(all="ignore"):
        good = got == wanted
        if got.dtype.kind == "f":
            good |= np.isnan(got) & np.isnan(wanted)
            size = np.maximum(np.abs(wanted), np.finfo(got.dtype).tiny)
            good |= np.abs(got - wanted) <= ulps * np.spacing(size) + loose * np.maximum(size, 1)
    if np.all(good):
        return None
    where = tuple(np.argwhere(~np.asarray(good))[0]) if got.ndim else ()
    return f"{int(np.sum(~good))} of {got.size} elements differ; at {where}: {got[where]!r} instead of {wanted[where]!r}"


def arrays_for(rng: np.random.Generator, dtypes: Sequence[DType], shape: tuple[int, ...], special: bool = True) -> list[np.ndarray]:
    """Inputs that broadcast to a shape, of all kinds: whole, broadcast along some axes, scalars, strided, reversed, transposed, unaligned."""
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
    if kind == 6:
        array = sample(rng, dtype, shape, special)
        raw = np.zeros(array.nbytes + 1, np.uint8)
        unaligned = raw[1:].view(dtype.np).reshape(shape) if array.size else array
        unaligned[...] = array
        return unaligned
    return sample(rng, dtype, shape, special)
