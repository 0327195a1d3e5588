"""Native kernels against the NumPy kernels: every op that has a lowering, and bodies made up at random."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import penstock.ops  # noqa: F401 (fills the registry)
from penstock.compiler import native
from penstock.compiler.fusion_body import KINDS, Body, Instruction, Reduction, Unsupported, single
from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.graph.opdef import REGISTRY, OpDef
from penstock.graph.shape import TensorShape
from support.fused import TYPES, arrays_for, difference, random_body, run_numpy

SHAPES = [(), (1,), (7,), (16,), (1000,), (0,), (3, 5), (33, 17), (2, 0, 3), (4, 1, 9), (2, 3, 4, 5), (5, 1031)]
LOWERED = sorted(name for name, each in REGISTRY.items() if each.lower is not None and each.__module__.startswith("penstock."))
# Ops that have no native code for any type, and why.
NEVER = {"Lgamma": "lgamma", "Digamma": "digamma", "Angle": "complex", "Real": "complex", "Imag": "complex", "Conj": "complex"}
NARROW = (dt.float16, dt.bfloat16)
CANARY = 64
ULPS = {"Erfc": 1000}  # SciPy's own error, see test_functions


def variants(definition: OpDef, types: tuple[DType, ...]) -> list[tuple[dict[str, Any], list[DType]]]:
    """Attributes and input types of an op, for each type that it takes."""
    if definition.type == "Const":
        return [({"value": np.asarray(3, dtype.np), "dtype": dtype}, []) for dtype in types]
    if definition.type == "Cast":
        return [({"SrcT": a, "DstT": b, "Truncate": False}, [a]) for a in types for b in types if dt.float32 in (a, b) or dt.int32 in (a, b)]
    names = sorted({arg.type_attr for arg in definition.inputs if arg.type_attr})
    allowed = definition.attrs[names[0]].allowed if names else None
    chosen = [dtype for dtype in types if allowed is None or dtype in allowed] if names else [None]
    if names and not chosen:
        chosen = [dt.complex64]
    found = []
    for dtype in chosen:
        attrs: dict[str, Any] = {name: dtype for name in names}
        if any(arg.number_attr for arg in definition.inputs):
            attrs["N"] = 2
        attrs |= {name: TensorShape(None) for name in definition.attrs if name == "shape"}
        definition._fill_defaults(attrs)
        found.append((attrs, [arg.dtype or dtype for arg in definition.inputs for _ in range(2 if arg.is_list else 1)]))
    return found


@functools.cache
def support() -> dict[str, dict[str, str | None]]:
    """For each op, per type: why there is no native code, or None."""
    table: dict[str, dict[str, str | None]] = {}
    for name in LOWERED:
        table[name] = {}
        for attrs, dtypes in variants(REGISTRY[name], TYPES):
            label = " ".join(value.name for value in attrs.values() if isinstance(value, DType)) or "-"
            table[name][label] = native.why_not(REGISTRY[name], attrs, dtypes)
    return table


def test_report():
    """Prints (with -s) what is not supported, and checks that only a few ops never are."""
    for name, types in support().items():
        for label, reason in types.items():
            if reason:
                print(f"{name:18} {label:18} {reason}")
    never = {name for name, types in support().items() if all(types.values())}
    assert never == set(NEVER)
    for name in never:
        assert NEVER[name] in str(support()[name])


@pytest.mark.parametrize("name", [name for name in LOWERED if name not in NEVER])
def test_op_agrees_with_its_kernel(name):
    definition = REGISTRY[name]
    rng = np.random.default_rng(len(name))
    for attrs, dtypes in variants(definition, TYPES + NARROW):
        body = single(definition, attrs, dtypes)
        try:
            kernel = native.compile(body)
        except Unsupported:
            continue
        narrow = set(dtypes) & set(NARROW)
        for shape in SHAPES[::4] if narrow or name == "Cast" else SHAPES:
            arrays = arrays_for(rng, dtypes, shape, special=not narrow)
            before = [array.copy() for array in arrays]
            with np.errstate(all="ignore"):
                wanted = run_numpy(body, arrays, shape)
            for got, want in zip(kernel(arrays, shape), wanted):
                problem = _narrow_difference(got, want) if got.dtype in [each.np for each in NARROW] else difference(got, want, ULPS.get(name, 8))
                assert problem is None, f"{[dtype.name for dtype in dtypes]} {shape}: {problem}"
            for array, copy in zip(arrays, before):
                assert array.tobytes() == copy.tobytes(), "an input was changed"


def _narrow_difference(got: np.ndarray, wanted: np.ndarray) -> str | None:
    """Narrow floats agree but for rounding: an op may be computed in float32 at once, or step by step."""
    limit = 0.03 if got.dtype == dt.bfloat16.np else 0.004
    return difference(got.astype(np.float32), wanted.astype(np.float32), loose=limit) or (None if got.dtype == wanted.dtype else "another type")


def check_random(seed: int) -> None:
    """One random body on random arrays, between canaries."""
    rng = np.random.default_rng(seed)
    exact = bool(seed % 2)
    reduce = None
    shape = SHAPES[rng.integers(len(SHAPES))]
    if seed % 3 == 0:
        shape = shape if np.prod(shape) else (3, 5)
        axes = ("all", "last", "first")[rng.integers(3)]
        reduce = Reduction(KINDS[rng.integers(len(KINDS))], axes, 0 if axes == "all" else int(rng.integers(0, len(shape) + 1)))
    body = random_body(rng, exact, reduce)
    kernel = native.compile(body)
    for _ in range(2):
        arrays = arrays_for(rng, body.input_dtypes, shape, special=exact and reduce is None)
        wanted = run_numpy(body, arrays, shape)
        raw = [np.full(want.nbytes + 2 * CANARY, 0xA5, np.uint8) for want in wanted]
        out = [each[CANARY:each.size - CANARY].view(want.dtype).reshape(want.shape) for each, want in zip(raw, wanted)]
        got = kernel(arrays, shape, out)
        for each, result, want in zip(raw, got, wanted):
            problem = difference(result, want, *_tolerance(exact, reduce, want))
            assert problem is None, f"seed {seed}: {[i.definition.type for i in body.instructions]} {reduce} {shape}: {problem}"
            assert np.all(each[:CANARY] == 0xA5) and np.all(each[-CANARY:] == 0xA5), f"seed {seed}: wrote beyond an output"


def _tolerance(exact: bool, reduce: Reduction | None, want: np.ndarray) -> tuple[float, float]:
    if want.dtype.kind != "f":
        return 0, 0.0
    rounded = reduce is not None and reduce.kind in ("sum", "mean", "prod")
    loose = 2e-3 if reduce is not None and reduce.kind == "prod" else 2e-4
    return (0, 0.0) if exact and not rounded else (0, loose if want.dtype == np.float32 else loose * 1e-8)


@pytest.mark.parametrize("block", range(10))
def test_random_bodies(block):
    for seed in range(30 * block, 30 * block + 30):
        check_random(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(100))
def test_many_random_bodies(block):
    for seed in range(1000 + 50 * block, 1000 + 50 * block + 50):
        check_random(seed)


# --- large arrays, which threads share ---------------------------------------------------------------------------------

def _sum_of_squares(reduce: Reduction | None, dtype: DType = dt.float32) -> Body:
    attrs = {"T": dtype}
    return Body((dtype, dtype), (Instruction(REGISTRY["Mul"], attrs, (0, 0)), Instruction(REGISTRY["Add"], attrs, (2, 1))), (3,), reduce)


@pytest.mark.parametrize("shape", [(300001,), (1000, 300), (7, 100003), (100003, 3), (3, 50000, 2)])
@pytest.mark.parametrize("axes", [None, "all", "last", "first"])
def test_large(shape, axes):
    rng = np.random.default_rng(0)
    reduce = None if axes is None else Reduction("mean", axes, 0 if axes == "all" else 1)
    body = _sum_of_squares(reduce)
    kernel = native.compile(body)
    arrays = [rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[1:]).astype(np.float32)]
    (got,), (wanted,) = kernel(arrays, shape), run_numpy(body, arrays, shape)
    assert difference(got, wanted, ulps=2) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.int32, dt.int64, dt.uint8])
def test_large_reductions(kind, dtype):
    if kind == "mean" and dtype.is_integer:
        pytest.skip("NumPy runs it")
    rng = np.random.default_rng(1)
    body = single(REGISTRY["Identity"], {"T": dtype}, [dtype], Reduction(kind))
    array = rng.uniform(0.999, 1.001, 200_003).astype(dtype.np) if dtype.is_floating else rng.integers(0, 200, 200_003).astype(dtype.np)
    (got,), (wanted,) = native.compile(body)([array], array.shape), run_numpy(body, [array], array.shape)
    assert difference(got, wanted, loose=0 if dtype.is_integer else 1e-5 if dtype is dt.float32 else 1e-13) is None


@pytest.mark.parametrize("kind", KINDS)
def test_special_values_survive_reductions(kind):
    kernel = native.compile(single(REGISTRY["Identity"], {"T": dt.float32}, [dt.float32], Reduction(kind)))
    for values in ([1.0, np.inf, 2.0], [1.0, np.nan, 2.0], [-np.inf, np.inf], [-np.inf, -1.0], [3.4e38, 3.4e38]):
        array = np.array(values * 50, np.float32)
        with np.errstate(all="ignore"):
            wanted = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}[kind](array)
        assert difference(kernel([array], array.shape)[0], wanted, ulps=1) is None, values


@pytest.mark.parametrize(("kind", "nothing"), [("sum", 0), ("prod", 1), ("mean", np.nan), ("max", -np.inf), ("min", np.inf)])
def test_reduction_of_nothing(kind, nothing):
    kernel = native.compile(single(REGISTRY["Identity"], {"T": dt.float32}, [dt.float32], Reduction(kind, "last", 1)))
    (got,) = kernel([np.zeros((3, 0), np.float32)], (3, 0))
    np.testing.assert_array_equal(got, np.full(3, nothing, np.float32))


# --- calls -------------------------------------------------------------------------------------------------------------

@pytest.fixture(name="add")
def _add():
    return native.compile(single(REGISTRY["Add"], {"T": dt.float32}, [dt.float32] * 2))


def test_rejects_what_does_not_fit(add):
    x, y = np.ones(4, np.float32), np.ones(4)
    with pytest.raises(TypeError, match="float32, not float64"):
        add([x, y], (4,))
    with pytest.raises(TypeError, match="float32, not >f4"):
        add([x, x.astype(">f4")], (4,))
    with pytest.raises(TypeError, match="2 arrays"):
        add([x], (4,))
    with pytest.raises(TypeError, match="not list"):
        add([x, [1, 2, 3, 4]], (4,))
    with pytest.raises(ValueError, match="does not broadcast"):
        add([x, x], (5,))
    with pytest.raises(ValueError, match="does not broadcast"):
        add([x, x], ())
    with pytest.raises(ValueError, match="not a shape"):
        add([x, x], (-1, 4))


def test_takes_numpy_scalars(add):
    np.testing.assert_array_equal(add([np.ones(3, np.float32), np.float32(2)], (3,))[0], np.full(3, 3, np.float32))


def test_rejects_outputs_that_do_not_fit(add):
    x, y = np.ones(4, np.float32), np.ones(8, np.float32)
    for out in (np.empty(4), np.empty(5, np.float32)):
        with pytest.raises(TypeError, match="has to be an array"):
            add([x, x], (4,), [out])
    with pytest.raises(ValueError, match="contiguous"):
        add([x, x], (4,), [y[::2]])
    with pytest.raises(ValueError, match="shares memory"):
        add([y[:4], x], (4,), [y[2:6]])


def test_writes_in_place(add):
    x = np.arange(100, dtype=np.float32)
    (got,) = add([x, np.ones((), np.float32)], (100,), [x])
    assert got is x
    np.testing.assert_array_equal(x, np.arange(1, 101))


def test_key_is_structure():
    one, two = (single(REGISTRY["LeakyRelu"], {"T": dt.float32, "alpha": alpha}, [dt.float32]) for alpha in (0.2, 0.3))
    assert one.key() != two.key()
    assert one.key() == single(REGISTRY["LeakyRelu"], {"alpha": 0.2, "T": dt.float32}, [dt.float32]).key()
