"""``tf.vectorized_map``: a function of each slice of some tensors, computed for all slices at once where that gives the same."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.function import trace
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.ops.array.pack import stack, unstack
from penstock.ops.data.vectorised import vectorised
from penstock.ops.flow.function_call import StatefulPartitionedCall
from penstock.ops.flow.functional_loops import map_fn


def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """``tf.vectorized_map``: like ``tf.map_fn``, without a loop if all that ``fn`` does has a form for many slices.

    Elementwise operations have one, and those that datasets can map in batches; with others it is a loop.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.vectorized_map(lambda x: x * x, tf.constant([1, 2, 3]))).tolist()
    [1, 4, 9]
    """
    elems = nest.map_structure(to_tensor, elems)
    flat = nest.flatten(elems)
    if default_graph().imperative:
        results = [fn(nest.pack_sequence_as(elems, list(slices))) for slices in zip(*map(unstack, flat))]
        return nest.map_structure(lambda *values: stack(list(values)), *results)
    function, result = trace("vectorized_map", lambda *slices: fn(nest.pack_sequence_as(elems, list(slices))),
                             [(tensor.dtype.base_dtype, tensor.shape[1:], "element") for tensor in flat])
    with function.as_default():
        function.outputs = [function.capture(to_tensor(value)) for value in nest.flatten(result)]
    captured, form = list(function.captures), vectorised(function, len(function.captures))
    if form is not None and not any(form.ragged):
        outputs = _call(form.graph, [*flat, *captured])
    else:
        types = [tensor.dtype.base_dtype for tensor in function.outputs]
        outputs = map_fn(lambda slices: _call(function, [*slices, *captured]), flat, dtype=types)
    count = TensorShape(flat[0].shape[:1])
    for output, inner in zip(outputs, function.outputs):
        output.set_shape(count.concatenate(inner.shape))
    return nest.pack_sequence_as(result, outputs)


def _call(function: Any, inputs: list[Tensor]) -> list[Tensor]:
    return StatefulPartitionedCall.node([inputs], {"Tout": [tensor.dtype.base_dtype for tensor in function.outputs], "f": function}).outputs
