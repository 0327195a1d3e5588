"""Fused loops against the NumPy kernels: every op that has a lowering, and nests of steps and folds made up at random."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import penstock.ops  # noqa: F401 (fills the registry)
from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.graph.opdef import REGISTRY, OpDef
from penstock.graph.shape import TensorShape
from penstock.native.fusion.loop_nest import Fold, Nest, NestInput, NestOutput, OpStep
from penstock.native.fusion.lowering import why_not
from penstock.native.fusion.nest_layout import NestLayout
from support.fused import FOLDS, TYPES, Native, Sketch, arrays_for, difference, one_op, random_sketch, run_native, run_numpy

SHAPES = [(), (1,), (7,), (16,), (1000,), (0,), (3, 5), (33, 17), (2, 0, 3), (4, 1, 9), (2, 3, 4, 5), (5, 1031), (3, 2, 2, 1, 3, 5)]
LOWERED = sorted(name for name, each in REGISTRY.items()  # the compiler's own ops have conditions: they have examples
                 if each.lower is not None and each.elementwise and each.__module__.startswith("penstock.") and not name.startswith("_"))
# Ops that have no native code for any type, and why.
NEVER = {"Lgamma": "lgamma", "Digamma": "digamma", "Angle": "complex", "Real": "complex", "Imag": "complex", "Conj": "complex"}
NARROW = (dt.float16, dt.bfloat16)
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
        definition.fill_defaults(attrs)
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
            table[name][label] = why_not(REGISTRY[name], attrs, dtypes)
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
        if why_not(definition, attrs, dtypes) is not None:
            continue
        sketch = one_op(definition, attrs, dtypes)
        narrow = set(dtypes) & set(NARROW)
        for shape in [(33, 17)] if narrow or name == "Cast" else [(), (2, 0, 3), (5, 1031), (2, 3, 4, 5)]:
            arrays = arrays_for(rng, dtypes, shape, special=not narrow)
            before = [array.copy() for array in arrays]
            (want,) = run_numpy(sketch, arrays, shape)
            (got,) = run_native(sketch, arrays, shape)
            problem = _narrow_difference(got, want) if got.dtype in [each.np for each in NARROW] else difference(got, want, ULPS.get(name, 8))
            assert problem is None, f"{[dtype.name for dtype in dtypes]} {shape}: {problem}"
            for array, copy in zip(arrays, before):
                assert array.tobytes() == copy.tobytes(), "an input was changed"


def _narrow_difference(got: np.ndarray, wanted: np.ndarray) -> str | None:
    """Narrow floats agree but for rounding: an op may be computed in float32 at once, or step by step."""
    limit = 0.03 if got.dtype == dt.bfloat16.np else 0.004
    return difference(got.astype(np.float32), wanted.astype(np.float32), loose=limit) or (None if got.dtype == wanted.dtype else "another type")


def check_random(seed: int) -> None:
    """One random nest on random arrays, between canaries."""
    rng = np.random.default_rng(seed)
    exact = bool(seed % 2)
    shape = SHAPES[rng.integers(len(SHAPES))]
    sketch = random_sketch(rng, exact, len(shape), bool(seed % 3))
    arrays = arrays_for(rng, sketch.inputs, shape, special=exact and not sketch.folds)
    with np.errstate(all="ignore"):
        wanted = run_numpy(sketch, arrays, shape)
    got = run_native(sketch, arrays, shape)
    kinds = ["stored"] * len(sketch.outputs) + [kind for kind, _ in sketch.folds]
    for kind, result, want in zip(kinds, got, wanted, strict=True):
        problem = difference(result, want, *_tolerance(exact, kind, want))
        assert problem is None, f"seed {seed}: {[step.definition.type for step in sketch.steps]} {kind} {set(sketch.reduced)} of {shape}: {problem}"


def _tolerance(exact: bool, kind: str, want: np.ndarray) -> tuple[float, float]:
    if want.dtype.kind != "f":
        return 0, 0.0
    loose = 2e-3 if kind == "prod" else 2e-4
    return (0, 0.0) if exact and kind in ("stored", "max", "min") else (0, loose if want.dtype == np.float32 else loose * 1e-8)


@pytest.mark.parametrize("block", range(10))
def test_random_nests(block):
    for seed in range(15 * block, 15 * block + 15):
        check_random(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(100))
def test_many_random_nests(block):
    for seed in range(1000 + 50 * block, 1000 + 50 * block + 50):
        check_random(seed)


# --- large arrays, which threads share ---------------------------------------------------------------------------------

def _square_plus(folds: tuple[tuple[str, int], ...], reduced: set[int], dtype: DType = dt.float32) -> Sketch:
    attrs = {"T": dtype}
    steps = OpStep(REGISTRY["Mul"], attrs, (0, 0)), OpStep(REGISTRY["Add"], attrs, (2, 1))
    return Sketch((dtype, dtype), steps, (3,), folds, frozenset(reduced))


@pytest.mark.parametrize("shape", [(300001,), (1000, 300), (7, 100003), (100003, 3), (3, 50000, 2)])
@pytest.mark.parametrize("reduced", [(), "all", "last", "first"])
def test_large(shape, reduced):
    rng = np.random.default_rng(0)
    axes = {"all": set(range(len(shape))), "last": {len(shape) - 1}, "first": {0}}.get(reduced, set())
    sketch = _square_plus((("sum", 3), ("max", 2)) if axes else (), axes)
    arrays = [rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[1:]).astype(np.float32)]
    run = Native(sketch, arrays, shape)
    assert len(run.calls[0].parts) > 1
    for got, wanted in zip(run(arrays), run_numpy(sketch, arrays, shape), strict=True):
        assert difference(got, wanted, ulps=2) is None


def test_same_threads_same_bits():
    x = np.random.default_rng(0).normal(size=(513, 999)).astype(np.float32)
    sketch = Sketch((dt.float32,), (), (), (("sum", 0),), frozenset([0, 1]))
    run = Native(sketch, [x], x.shape, threads=2)
    assert len({run([x])[0].tobytes() for _ in range(5)}) == 1
    alone = run_native(sketch, [x], x.shape, threads=1)[0]
    assert difference(run([x])[0], alone, ulps=1) is None


@pytest.mark.parametrize("kind", FOLDS)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.int32, dt.int64, dt.uint8])
def test_large_folds(kind, dtype):
    rng = np.random.default_rng(1)
    array = rng.uniform(0.999, 1.001, 200_003).astype(dtype.np) if dtype.is_floating else rng.integers(0, 200, 200_003).astype(dtype.np)
    sketch = Sketch((dtype,), (), (), ((kind, 0),), frozenset([0]))
    (got,), (wanted,) = run_native(sketch, [array], array.shape), run_numpy(sketch, [array], array.shape)
    assert difference(got, wanted, loose=0 if dtype.is_integer else 1e-5 if dtype is dt.float32 else 1e-13) is None


@pytest.mark.parametrize("kind", FOLDS)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_special_values_survive_folds(kind, dtype):
    sketch = Sketch((dtype,), (), (), ((kind, 0),), frozenset([0]))
    for values in ([1.0, np.inf, 2.0], [1.0, np.nan, 2.0], [-np.inf, np.inf], [-np.inf, -1.0], [3.4e38, 3.4e38]):
        array = np.array(values * 50, dtype.np)
        with np.errstate(all="ignore"):
            wanted = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}[kind](array)
        assert difference(run_native(sketch, [array], array.shape)[0], np.asarray(wanted), ulps=2) is None, values


@pytest.mark.parametrize(("kind", "nothing"), [("sum", 0), ("prod", 1), ("max", -np.inf), ("min", np.inf)])
@pytest.mark.parametrize(("shape", "axis"), [((3, 0), 1), ((0, 3), 0)])
def test_fold_of_nothing(kind, nothing, shape, axis):
    sketch = Sketch((dt.float32,), (), (), ((kind, 0),), frozenset([axis]))
    (got,) = run_native(sketch, [np.zeros(shape, np.float32)], shape)
    np.testing.assert_array_equal(got, np.full(3, nothing, np.float32))


# --- structure ---------------------------------------------------------------------------------------------------------

def test_key_is_structure():
    def leaky(alpha):
        step = OpStep(REGISTRY["LeakyRelu"], {"T": dt.float32, "alpha": alpha}, (0,))
        return Nest("map", (NestInput(dt.float32),), (step,), (NestOutput(1),))
    assert leaky(0.2).key != leaky(0.3).key
    assert leaky(0.2).key == leaky(0.2).key


def test_a_nest_must_make_sense():
    step = OpStep(REGISTRY["Relu"], {"T": dt.float32}, (1,))
    with pytest.raises(ValueError, match="not computed before"):
        Nest("map", (NestInput(dt.float32),), (step,), (NestOutput(1),))
    with pytest.raises(ValueError, match="cannot have the output"):
        Nest("map", (NestInput(dt.float32),), (), (NestOutput(2),))
    total = Fold("sum", (0,), dt.float32)
    late = OpStep(REGISTRY["Sub"], {"T": dt.float32}, (0, 1))
    with pytest.raises(ValueError, match="columns have one loop"):
        Nest("columns", (NestInput(dt.float32),), (total, late), (NestOutput(2),))


@pytest.mark.parametrize(("shape", "reduced", "form", "sizes"), [
    ((4, 5), (), "map", (1, 1, 1, 20)), ((4, 5), (1,), "rows", (1, 4, 1, 5)), ((4, 5), (0,), "columns", (1, 4, 1, 5)), ((), (), "map", (1, 1, 1, 1)),
    ((2, 3, 4, 5), (0, 2, 3), "rows", (1, 3, 2, 20)), ((2, 3, 4, 5), (1, 2), "columns", (2, 12, 1, 5)), ((6, 1, 5), (0, 2), "rows", (1, 1, 1, 30))])
def test_layout(shape, reduced, form, sizes):
    strides = np.zeros(shape, np.float32).strides
    layout = NestLayout(shape, frozenset(reduced), [strides])
    assert (layout.form, layout.sizes) == (form, sizes)
