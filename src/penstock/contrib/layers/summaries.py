"""Summaries of tensors by kind: scalars and histograms, of single tensors and of collections."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from penstock.graph import dtypes
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import get_collection
from penstock.ops.array.cast import cast, to_float
from penstock.ops.math.compare import greater, less
from penstock.ops.math.reduce import reduce_mean
from penstock.summary import summary


def _add_scalar_summary(tensor: Any, tag: str | None = None) -> Any:
    tensor.shape.assert_has_rank(0)
    return summary.scalar(tag or f"{tensor.op.name}_summary", tensor)


def _add_histogram_summary(tensor: Any, tag: str | None = None) -> Any:
    return summary.histogram(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Any) -> Any:
    """A histogram of an activation; for rectifiers also how often they are at their bounds."""
    name, kind = op.op.name, op.op.type
    if kind in ("Relu", "Softplus", "Relu6"):
        inputs = op.op.inputs[0]
        _add_scalar_summary(reduce_mean(to_float(less(inputs, cast(0.0, inputs.dtype)))), f"{name}/zeros")
    if kind == "Relu6":
        inputs = op.op.inputs[0]
        _add_scalar_summary(reduce_mean(to_float(greater(inputs, cast(6.0, inputs.dtype)))), f"{name}/sixes")
    return _add_histogram_summary(op, f"{name}/activation")


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A scalar or a histogram, by the rank of the tensor; None for strings and bools."""
    if tensor.dtype.is_compatible_with(dtypes.string) or tensor.dtype.base_dtype == dtypes.bool_:
        return None
    return (_add_scalar_summary if tensor.shape.ndims == 0 else _add_histogram_summary)(tensor, tag)


def summarize_tensors(tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """A summary of each tensor."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(collection: str, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """A summary of each tensor of a collection whose name begins with what a regular expression says."""
    return summarize_tensors([tensor for tensor in get_collection(collection) if name_filter is None or re.match(name_filter, tensor.op.name)],
                             summarizer)


summarize_variables = functools.partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
summarize_weights = functools.partial(summarize_collection, GraphKeys.WEIGHTS)
summarize_biases = functools.partial(summarize_collection, GraphKeys.BIASES)


def summarize_activations(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation) -> list[Any]:
    """A summary of each activation."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
