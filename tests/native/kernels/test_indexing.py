"""Reading and writing by index, against the NumPy kernels."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import REGISTRY, lookup
from penstock.native.calls import Unsupported
from penstock.native.config import config
from penstock.ops.state.scattering import scatter, scatter_nd
from support.native import check, flat_node, native, run

pytestmark = pytest.mark.process
DTYPES = [np.bool_, np.int8, np.float16, np.int32, np.float32, np.int64, np.float64, np.complex128]
NUMBERS = [np.int32, np.float32, np.float64, np.int64, np.float16]


def numbers(*shape, dtype=np.float32):
    return (np.arange(int(np.prod(shape))) % 97 - 20).reshape(shape).astype(dtype)


def picks(*shape, limit, dtype=np.int32, seed=0):
    return np.random.RandomState(seed).randint(0, limit, shape).astype(dtype)


# --- reading ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_gather_rows(dtype, index):
    for shape in ((7,), (7, 1), (7, 5), (7, 16), (7, 3, 37)):
        for count in ((), (1,), (9,), (2, 0), (3, 4)):
            check("Gather", numbers(*shape, dtype=dtype), picks(*count, limit=7, dtype=index), known=())


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_along_an_axis(axis):
    check("GatherV2", numbers(4, 5, 6), picks(3, 2, limit=4), np.int32(axis), known=(2,))
    strided = numbers(8, 10, 6)[::2, ::-2]
    check("GatherV2", strided, picks(3, 2, limit=4), np.int32(axis), known=(2,))
    check("GatherV2", strided.transpose(2, 1, 0), picks(11, limit=4), np.int32(axis), known=(2,))


def test_gather_in_batches():
    check("GatherV2", numbers(4, 5, 6), picks(4, 3, limit=5), np.int32(1), known=(2,), batch_dims=1)
    check("GatherV2", numbers(4, 5, 6), picks(4, 5, 3, limit=6), np.int32(2), known=(2,), batch_dims=2)
    check("GatherV2", numbers(4, 5, 6)[:, ::-1], picks(4, 3, limit=5), np.int32(1), known=(2,), batch_dims=-1)
    check("GatherV2", numbers(700, 5, 16), picks(700, 3, limit=5), np.int32(1), known=(2,), batch_dims=1, threads=3)
    with pytest.raises(RuntimeError, match="refused"):
        native("GatherV2", numbers(2, 5), np.int32([[4], [5]]), np.int32(1), known=(2,), batch_dims=1)


def test_large_gather_is_spread_over_threads():
    for threads in (1, 3):
        check("Gather", numbers(1000, 64), picks(5000, limit=1000), threads=threads)


@pytest.mark.parametrize("wrong", [-1, 7, 2**31 - 1, -2**31])
def test_indices_out_of_range_are_refused(wrong):
    for op_type, extra in (("Gather", ()), ("GatherV2", (np.int32(0),))):
        with pytest.raises(RuntimeError, match="refused"):
            native(op_type, numbers(7, 5), np.int32([0, wrong, 3]), *extra, known=(2,))
    with pytest.raises(RuntimeError, match="refused"):
        native("GatherNd", numbers(7, 5), np.int32([[0, 0], [6, wrong]]), known=())
    with pytest.raises(RuntimeError, match="refused"):
        native("Gather", numbers(0, 5), np.int32([0]), known=())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_slice_that_begins_where_the_step_says(dtype, index):
    for shape, begin, size in (((9,), [4], [5]), ((9,), [9], [0]), ((7, 5), [2, 0], [3, 5]), ((7, 5), [0, 2], [7, 2]),
                               ((4, 5, 3), [1, 2, 0], [2, 3, 3]), ((4, 5, 3), [3, 0, 1], [1, 5, 2]), ((2, 4, 5, 3), [1, 1, 0, 0], [1, 2, 5, 3])):
        check("Slice", numbers(*shape, dtype=dtype), np.array(begin, index), np.array(size, index), known=(2,))
    check("Slice", numbers(8, 10, 6, dtype=dtype)[::2, ::-2], np.array([1, 2, 0], index), np.array([2, 3, 6], index), known=(2,))


def test_a_large_slice_is_spread_over_threads():
    check("Slice", numbers(400, 500, 3), np.int32([50, 70, 0]), np.int32([300, 400, 3]), known=(2,), threads=3)


@pytest.mark.parametrize("begin", [[-1, 0], [5, 0], [0, 3], [0, -1], [2**31 - 1, 0]])
def test_a_slice_that_leaves_the_array_is_refused(begin, monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")
    with tf.Graph().as_default(), tf.Session() as session:
        x, start = tf.placeholder(tf.float32, [7, 5]), tf.placeholder(tf.int32, [2])
        total = tf.reduce_sum(tf.slice(tf.sqrt(x) + 1.0, start, [3, 3]) * 2.0, 1)
        for _ in range(2):
            assert session.run(total, {x: np.ones((7, 5), np.float32), start: [4, 2]}).tolist() == [12, 12, 12]
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected (begin|size)"):
                session.run(total, {x: np.ones((7, 5), np.float32), start: begin})


def test_slices_that_are_left_to_numpy():
    for size in ([2, 2, 2], [-1, 2, 3]):  # no rows at one distance; up to the end, and the step says where it begins
        with pytest.raises(Unsupported):
            native("Slice", numbers(4, 5, 3), np.int32([1, 2, 0]), np.int32(size), known=(2,))


def test_gather_nd():
    x = numbers(4, 5, 6)
    check("GatherNd", x, np.int32([[3, 4, 5], [0, 1, 2]]), known=())
    check("GatherNd", x, np.int64([[[3, 4]], [[0, 1]]]), known=())
    check("GatherNd", x, np.int64([3, 1]), known=())
    check("GatherNd", x.transpose(2, 0, 1), np.int64([[3], [1], [1]]), known=())
    check("GatherNd", x, np.zeros((2, 0), np.int32), known=())
    check("GatherNd", x, np.zeros((0, 2), np.int32), known=())


# --- writing ---------------------------------------------------------------------------------------------------------

def updated(op_type, target, indices, updates, threads=2):
    """The target after the op, which works in place."""
    target = target.copy()
    run(lookup(op_type), [target, indices, updates], {}, threads, ())
    return target


@pytest.mark.parametrize("how", ["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_scatter(how, dtype):
    if how == "Div" and np.dtype(dtype).kind == "i":
        with pytest.raises(Unsupported):
            updated("ScatterDiv", numbers(3, dtype=dtype), np.int32([0]), numbers(1, dtype=dtype))
        return
    for shape in ((9,), (9, 5), (9, 2, 16), (9, 37)):
        for count in ((6,), (2, 3), (0,), (40,)):
            target, indices = numbers(*shape, dtype=dtype), picks(*count, limit=9)
            updates = (numbers(*count, *shape[1:], dtype=np.int32) % 3 + 1).astype(dtype)
            for given in (updates, updates.ravel()[0] if updates.size else dtype(2)):
                expected = target.copy()
                scatter(expected, indices, given, how)
                for op_type in ("Scatter" + how, "ResourceScatter" + how):
                    found = updated(op_type, target, indices, np.asarray(given, dtype))
                    np.testing.assert_allclose(found, expected, 1e-2 if dtype == np.float16 else 1e-5)


def test_large_scatters_are_spread_over_threads():
    for width in (1, 3, 64):
        target, indices = numbers(500, width), picks(9000, limit=500, dtype=np.int64)
        updates = np.random.RandomState(1).rand(9000, width).astype(np.float32)
        expected = target.astype(np.float64)
        np.add.at(expected, indices, updates)
        results = [updated("ScatterAdd", target, indices, updates, threads) for threads in (1, 2, 3)]
        np.testing.assert_allclose(results[0], expected, 1e-4, 1e-3)
        assert all((result == results[0]).all() for result in results)  # each row is summed in the order of the indices


def test_a_scatter_with_a_wrong_index_changes_nothing():
    target = numbers(9, 5)
    for wrong in (-1, 9):
        before = target.copy()
        with pytest.raises(RuntimeError, match="refused"):
            run(lookup("ScatterAdd"), [target, np.int32([0, 1, wrong]), numbers(3, 5)], {}, 2, ())
        assert (target == before).all()


@pytest.mark.parametrize("how", ["Update", "Add", "Sub"])
def test_scatter_nd_into_variables(how):
    target, indices = numbers(4, 5, 6), np.int32([[3, 4], [0, 1], [3, 4]])
    updates = numbers(3, 6)
    expected = target.copy()
    scatter_nd(expected, indices, updates, how)
    for op_type in ("ScatterNd" + how, "ResourceScatterNd" + how):
        np.testing.assert_array_equal(updated(op_type, target, indices, updates), expected)


def test_scatter_nd():
    for indices, updates in ((np.int32([[3], [1], [3]]), numbers(3, 5)), (np.int32([[[0, 0]], [[2, 4]]]), numbers(2, 1)),
                             (np.zeros((0, 1), np.int32), numbers(0, 5))):
        check("ScatterNd", indices, updates, np.int32([4, 5]), known=(2,))
        for how in ("Update", "Add", "Sub"):
            check("TensorScatter" + how, numbers(4, 5), indices, updates, known=())
    check("ScatterNdNonAliasingAdd", numbers(4, 5), np.int32([[3], [1]]), numbers(2, 5), known=())
    with pytest.raises(RuntimeError, match="refused"):
        native("ScatterNd", np.int32([[3], [4]]), numbers(2, 5), np.int32([4, 5]), known=(2,))


@pytest.mark.parametrize("how", ["Sum", "Prod", "Max", "Min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64])
def test_unsorted_segments(how, dtype):
    ids = np.int32([2, 0, -1, 2, 5, 0])
    check("UnsortedSegment" + how, numbers(6, 7, dtype=dtype), ids, np.int32(7), known=(2,), rtol=1e-5)
    check("UnsortedSegment" + how, numbers(2, 3, 4, dtype=dtype), ids.reshape(2, 3), np.int32(6), known=(2,), rtol=1e-5)
    check("UnsortedSegment" + how, numbers(0, 4, dtype=dtype), ids[:0], np.int32(3), known=(2,))
    with pytest.raises(RuntimeError, match="refused"):
        native("UnsortedSegment" + how, numbers(6, 7, dtype=dtype), ids, np.int32(5), known=(2,))


@pytest.mark.parametrize("how", ["Sum", "Mean", "SqrtN"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_segments(how, dtype, index):
    ids = np.int32([0, 0, 2, 2, 2, 5])
    for shape in ((9,), (9, 1), (9, 3, 7), (9, 67), (9, 0)):
        for data in (numbers(*shape, dtype=dtype), numbers(18, *shape[1:], dtype=dtype)[::2]):
            rows = picks(6, limit=9, dtype=index)
            check(f"SparseSegment{how}WithNumSegments", data, rows, ids, np.int32(7), known=(3,), rtol=1e-6)
            check(f"SparseSegment{how}WithNumSegments", data, rows[:0], ids[:0], np.int32(3), known=(3,))
            if how != "Sum":
                check(f"SparseSegment{how}Grad", data[:6], rows, ids, np.int32(11), known=(3,), rtol=1e-6)
                check(f"SparseSegment{how}Grad", data[:6], rows[:0], ids[:0], np.int32(2), known=(3,))
    many = np.sort(picks(5000, limit=300))
    check(f"SparseSegment{how}WithNumSegments", numbers(50, 64, dtype=dtype), picks(5000, limit=50, dtype=index), many, np.int32(300), known=(3,),
          rtol=1e-4, atol=1e-3, threads=3)


@pytest.mark.parametrize("op_type", ["SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments", "SparseSegmentMeanGrad"])
def test_wrong_segments_are_refused(op_type):
    unsorted = [] if op_type.endswith("Grad") else [([0, 2, 1], [0, 1, 2])]  # gradients take them in any order, as TensorFlow's
    for ids, rows in (*unsorted, ([-1, 0, 1], [0, 1, 2]), ([0, 1, 4], [0, 1, 2]), ([0, 1, 2], [0, 1, 4]), ([0, 1, 2], [0, -1, 2])):
        with pytest.raises(RuntimeError, match="refused"):
            native(op_type, numbers(4, 5), np.int32(rows), np.int32(ids), np.int32(4), known=(3,))
    with pytest.raises((Unsupported, ValueError)):
        native(op_type, numbers(4, 5), np.int32([0, 1]), np.int32([0, 1]), np.int32(-1), known=(3,))


@pytest.mark.parametrize("how", ["Mean", "SqrtN"])
def test_gradients_of_segments_in_any_order(how):
    rows, ids = np.int32([0, 1, 2, 5, 1, 0]), np.int32([2, 0, 2, 3, 0, 2])
    check(f"SparseSegment{how}Grad", numbers(4, 5), rows, ids, np.int32(6), known=(3,), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
def test_sparse_times_dense(dtype, adjoint_a, adjoint_b):
    entries = np.int64([[3, 0], [0, 4], [3, 1], [3, 1], [2, 2]])
    for columns in (1, 5, 40, 0):
        inner = 4 if adjoint_a else 6
        dense = numbers(*((columns, inner) if adjoint_b else (inner, columns)), dtype=dtype)
        for count in (5, 0):
            check("SparseTensorDenseMatMul", entries[:count], numbers(count, dtype=dtype), np.int64([4, 6]), dense, known=(2,), rtol=1e-5,
                  adjoint_a=adjoint_a, adjoint_b=adjoint_b)
    for wrong in ([4, 0], [0, 6], [-1, 0], [0, -1]):
        with pytest.raises(RuntimeError, match="refused"):
            native("SparseTensorDenseMatMul", np.int64([[0, 0], wrong]), numbers(2, dtype=dtype), np.int64([4, 6]), dense, known=(2,),
                   adjoint_a=adjoint_a, adjoint_b=adjoint_b)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.float16])
def test_sparse_to_dense(dtype):
    for indices, shape in (([[0, 1], [2, 3], [4, 0]], [5, 6]), ([1, 3, 4], [7]), ([[0, 0, 1], [0, 1, 0], [2, 2, 2]], [3, 3, 3])):
        for values in (numbers(3, dtype=dtype), dtype(1)):
            check("SparseToDense", np.int64(indices), np.int64(shape), values, dtype(0), known=(1,))
    check("SparseToDense", np.int32(2), np.int32([4]), dtype(1), dtype(0), known=(1,))
    check("SparseToDense", np.int32([3, 1, 1]), np.int32([4]), numbers(3, dtype=dtype), dtype(1), known=(1,), validate_indices=False)
    check("SparseToDense", np.zeros((0, 2), np.int32), np.int32([4, 5]), numbers(0, dtype=dtype), dtype(1), known=(1,))
    for wrong in ([[0, 1], [0, 1]], [[1, 0], [0, 1]], [[0, 1], [1, 6]], [[-1, 0], [0, 1]]):
        with pytest.raises(RuntimeError, match="refused"):
            native("SparseToDense", np.int32(wrong), np.int32([5, 6]), numbers(2, dtype=dtype), dtype(0), known=(1,))


# --- optimizers ------------------------------------------------------------------------------------------------------

SPARSE = sorted(name for name, definition in REGISTRY.items() if name.startswith("ResourceSparseApply") and definition.native is not None)


def test_all_sparse_optimizers_are_native():
    assert len(SPARSE) == 12, SPARSE


class Holder:
    """What a kernel needs of a variable."""

    def __init__(self, value):
        import threading
        self.value, self.lock = value, threading.RLock()

    def mutable(self):
        return self.value


@pytest.mark.parametrize("op_type", SPARSE)
@pytest.mark.parametrize("dtype,answered", [(np.float32, True), (np.float32, False), (np.float64, True)])
def test_sparse_updates(op_type, dtype, answered):
    for width in (1, 16, 67):
        check_sparse_update(op_type, dtype, width, answered)


def check_sparse_update(op_type, dtype, width, answered):
    """``answered``: what the rule asks about its scalars is known when the code is made."""
    definition = lookup(op_type)
    rng = np.random.RandomState(3)
    indices = np.int64([4, 0, 8, 4, 2])
    values = []
    for arg in definition.inputs:
        if arg.name == "indices":
            values.append(indices)
        elif arg.name == "global_step":
            values.append(np.array(7, np.int64))
        elif arg.name in ("grad", "delta"):
            values.append(rng.uniform(-1, 1, (len(indices), width)).astype(dtype))
        elif arg.name in definition.updates:
            low, high = (0, 0.3) if arg.name == "mg" else (0.5, 1.5)  # the mean's square stays below the mean of squares
            values.append(rng.uniform(low, high, (9, width)).astype(dtype))
        else:
            values.append(np.array(-0.5 if arg.name == "lr_power" else rng.uniform(0.1, 0.3), dtype))
    attrs = {"T": dtype, "Tindices": np.int64, "use_locking": False, "use_nesterov": True, "update_slots": True}
    kept = len(definition.updates)
    holders = [Holder(value.copy()) for value in values[:kept]]
    plain = {name: value for name, value in attrs.items() if name in definition._kernel_parameters}
    definition.kernel(*holders, *values[kept:], **plain)
    known = [position for position, value in enumerate(values) if value.ndim == 0] if answered else []
    run(definition, values, attrs, 2, known)
    for holder, value in zip(holders, values):
        np.testing.assert_allclose(value, holder.value, 2e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("op_type", ["SegmentSum", "UnsortedSegmentSum"])
def test_long_sums_of_float32(op_type):
    """Hundreds of thousands of rows: by NumPy and by native code, the sum as float64 has it."""
    data = np.random.default_rng(3).random((300_000, 3), np.float32)
    ids = (np.arange(300_000) // 290_000).astype(np.int32)
    wanted = np.stack([data[ids == k].astype(np.float64).sum(0) for k in range(2)]).astype(np.float32)
    node, values = flat_node(op_type, data, ids, *([np.int32(2)] if op_type[0] == "U" else []))
    np.testing.assert_allclose(node.definition.bind(node, None)(*values), wanted, 1e-7)
    if node.definition.native is not None:
        np.testing.assert_allclose(run(node.definition, values, node.attrs)[0], wanted, 1e-7)
