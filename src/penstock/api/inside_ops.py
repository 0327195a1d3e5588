"""Functions of TensorFlow's private modules of operations and gradients that programs call and that Penstock itself does not need."""
from __future__ import annotations

from collections import deque
from typing import Any

from penstock.gradients import gradients
from penstock.graph import dtypes as dt
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation
from penstock.graph.scopes import colocate_with, name_scope
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import shape_internal
from penstock.ops.nn.sampled_loss import sampled_logits
from penstock.train import index_tables
from penstock.train.index_tables import FastHashSpec, HasherSpec
from penstock.variables.assign import assign


def as_indexed_slices(x: Any, optimize: bool = True) -> IndexedSlices:
    """A tensor as the IndexedSlices of all its rows; IndexedSlices as they are."""
    if isinstance(x, IndexedSlices):
        return x
    x = to_tensor(x)
    extents = shape_internal(x, optimize=optimize)
    return IndexedSlices(x, range_(0, extents[0]), extents)


def as_indexed_slices_list(inputs: Any, optimize: bool = True) -> list[IndexedSlices]:
    """`as_indexed_slices` of each; their indices have one type."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not a {type(inputs)}")
    return [as_indexed_slices(each, optimize=optimize) for each in inputs]


def hessian_vector_product(ys: Any, xs: Any, v: Any) -> list[Any]:
    """The product of the Hessian of the sum of ``ys`` with vectors that have the shapes of ``xs``, without the Hessian itself."""
    if len(v) != len(xs):
        raise ValueError("xs and v must have the same length.")
    products = [gradient * stop_gradient(vector) for gradient, vector in zip(gradients(ys, xs), v) if gradient is not None]
    return list(gradients(products, xs))


def mark_reached_ops(from_ops: list[Operation], reached_ops: list[bool]) -> None:
    """Marks, by their numbers, the operations that can be reached from others."""
    queue = deque(from_ops)
    while queue:
        op = queue.popleft()
        if not reached_ops[op._id]:
            reached_ops[op._id] = True
            queue.extend(user for output in op.outputs for user in output.consumers())


def gather_inputs(to_ops: list[Operation], reached_ops: list[bool]) -> list[Operation]:
    """Those of the marked operations that lead to ``to_ops``; their marks are taken away."""
    inputs, queue = [], deque(to_ops)
    while queue:
        op = queue.popleft()
        if reached_ops[op._id]:
            inputs.append(op)
            reached_ops[op._id] = False
            queue.extend(tensor.op for tensor in op.inputs)
    return inputs


def compute_sampled_logits(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
                           sampled_values: Any = None, subtract_log_q: bool = True, remove_accidental_hits: bool = False,
                           partition_strategy: str = "mod", name: str | None = None, seed: Any = None) -> Any:
    """(logits, labels) of the true and the sampled classes."""
    return sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits,
                          partition_strategy, name, seed, subtract_log_q)


def index_table_from_tensor(vocabulary_list: Any, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: HasherSpec = FastHashSpec,
                            dtype: Any = dt.string, name: str | None = None) -> Any:
    """What ``tf.contrib.lookup`` calls so, with the argument that TensorFlow's own module has."""
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    return index_tables.index_table_from_tensor(vocabulary_list, num_oov_buckets, default_value, hasher_spec, dtype, name)


def index_to_string_table_from_tensor(vocabulary_list: Any, default_value: Any = "UNK", name: str | None = None) -> Any:
    """What ``tf.contrib.lookup`` calls so, with the argument that TensorFlow's own module has."""
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    return index_tables.index_to_string_table_from_tensor(vocabulary_list, default_value, name)


def init_variable(v: Any, init: Any, name: str = "init") -> Any:
    """An operation that gives a variable a value: a tensor, or what a function of its shape and type gives."""
    with name_scope(v.op.name + "/"), name_scope(name) as scope, colocate_with(v):
        if callable(init):
            if not v.get_shape().is_fully_defined():
                raise AssertionError("Variable shape unknown.")
            init = init(v.get_shape().as_list(), v.dtype.base_dtype)
        return assign(v, to_tensor(init, name="init"), name=scope)
