"""Variables, values, types and shapes: functions of ``tf.keras.backend``."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from penstock.gradients import gradients as symbolic_gradients
from penstock.graph import dtypes, nest, scopes
from penstock.graph.composite import SparseTensor
from penstock.graph.graph import default_graph, reset_default_graph
from penstock.graph.node import Tensor
from penstock.imperative.symbolic import forget_symbolic_graph, graph_for_symbols
from penstock.keras.backend.steps import ArrayStep
from penstock.layers import settings
from penstock.layers.branching import learning_phase, phase_state
from penstock.layers.naming import name_counts
from penstock.layers.sessions import assign_values, forget_session, initialized_session, track_variable, values_of
from penstock.ops import constant as constants
from penstock.ops.array import cast as casts
from penstock.ops.array import fill, passing, shape_ops
from penstock.ops.flow.printing import Print
from penstock.ops.linalg import diag
from penstock.ops.random import random
from penstock.ops.sparse.sparse_functions import sparse_placeholder, sparse_tensor_to_dense
from penstock.train.moving_averages import assign_moving_average
from penstock.variables import initializers
from penstock.variables.variable import Variable

# --- sessions --------------------------------------------------------------------------------------------------------


def backend() -> str:
    """``tf.keras.backend.backend``: "tensorflow"."""
    return "tensorflow"


def get_session(op_input_list: Any = ()) -> Any:
    """``tf.keras.backend.get_session``: the session, in which all variables have values."""
    return initialized_session()


def clear_session() -> None:
    """``tf.keras.backend.clear_session``: a new default graph, without layers and session; in imperative style, a new graph of symbolic models."""
    forget_session(default_graph())
    reset_default_graph()
    forget_symbolic_graph()
    reset_uids()
    phase_state().clear()
    with graph_for_symbols().as_default():
        phase_state().clear()
        learning_phase()  # TensorFlow puts its placeholder into the new graph at once: the seeds of random ops count it


def reset_uids() -> None:
    """``tf.keras.backend.reset_uids``: names of layers are counted from the beginning."""
    name_counts().clear()


# --- variables and tensors -------------------------------------------------------------------------------------------


def _kind(dtype: Any) -> Any:
    return dtypes.as_dtype(settings.floatx() if dtype is None else dtype)


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """``tf.keras.backend.variable``; of a sparse matrix, a SparseTensor."""
    if hasattr(value, "tocoo"):
        sparse = value.tocoo()
        return SparseTensor(np.stack([sparse.row, sparse.col], axis=1).astype(np.int64), sparse.data, sparse.shape)
    made = Variable(value, dtype=_kind(dtype), name=name, constraint=constraint, use_resource=True)
    track_variable(made)
    return made


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """``tf.keras.backend.constant``."""
    return constants.constant(value, dtype=_kind(dtype), shape=shape, name=name)


def placeholder(shape: Any = None, ndim: int | None = None, dtype: Any = None, sparse: bool = False, name: str | None = None,
                ragged: bool = False) -> Any:
    """``tf.keras.backend.placeholder``."""
    if ragged:
        raise NotImplementedError("Ragged placeholders are not supported.")
    shape = tuple([None] * ndim) if shape is None and ndim else shape
    if sparse:
        return sparse_placeholder(_kind(dtype), shape=shape, name=name)
    return constants.placeholder(_kind(dtype), shape=shape, name=name)


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """``tf.keras.backend.zeros``: a variable, or a tensor if the shape is not known."""
    return _fill(fill.zeros(shape, _kind(dtype)), name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """``tf.keras.backend.ones``: a variable, or a tensor if the shape is not known."""
    return _fill(fill.ones(shape, _kind(dtype)), name)


def eye(size: Any, dtype: Any = None, name: str | None = None) -> Any:
    """``tf.keras.backend.eye``: a variable."""
    return variable(diag.eye(size, dtype=_kind(dtype)), dtype, name)


def _fill(value: Any, name: str | None) -> Any:
    return variable(value, value.dtype.base_dtype, name) if value.shape.is_fully_defined() else value


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Any:
    """``tf.keras.backend.zeros_like``."""
    return fill.zeros_like(x, dtype=dtype and dtypes.as_dtype(dtype), name=name)


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Any:
    """``tf.keras.backend.ones_like``."""
    return fill.ones_like(x, dtype=dtype and dtypes.as_dtype(dtype), name=name)


def _seed(seed: int | None, limit: int = 10_000_000) -> int:
    """What NumPy's generator draws for a seed that is not given, as in TensorFlow."""
    return int(np.random.randint(limit)) if seed is None else seed


def random_uniform_variable(shape: Any, low: float, high: float, dtype: Any = None, name: str | None = None, seed: int | None = None) -> Any:
    """``tf.keras.backend.random_uniform_variable``."""
    kind = _kind(dtype)
    return variable(initializers.RandomUniform(low, high, dtype=kind, seed=_seed(seed, 1_000_000_000))(shape), kind, name)


def random_normal_variable(shape: Any, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: int | None = None) -> Any:
    """``tf.keras.backend.random_normal_variable``."""
    kind = _kind(dtype)
    return variable(initializers.RandomNormal(mean, scale, dtype=kind, seed=_seed(seed, 1_000_000_000))(shape), kind, name)


def random_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None) -> Any:
    """``tf.keras.backend.random_normal``."""
    return random.random_normal(shape, mean=mean, stddev=stddev, dtype=_kind(dtype), seed=_seed(seed))


def random_uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: int | None = None) -> Any:
    """``tf.keras.backend.random_uniform``."""
    return random.random_uniform(shape, minval=minval, maxval=maxval, dtype=_kind(dtype), seed=_seed(seed))


def truncated_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None) -> Any:
    """``tf.keras.backend.truncated_normal``."""
    return random.truncated_normal(shape, mean, stddev, dtype=_kind(dtype), seed=_seed(seed))


def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None) -> Any:
    """``tf.keras.backend.random_binomial``: 1 with probability ``p``."""
    kind = _kind(dtype)
    return casts.cast(random.random_uniform(shape, dtype=kind, seed=_seed(seed)) <= p, kind)


# --- values ----------------------------------------------------------------------------------------------------------


def get_value(x: Any) -> Any:
    """``tf.keras.backend.get_value``."""
    return values_of([x])[0] if isinstance(x, (Tensor, Variable)) else x


def batch_get_value(tensors: Sequence[Any]) -> list[Any]:
    """``tf.keras.backend.batch_get_value``."""
    return values_of(list(tensors))


def set_value(x: Any, value: Any) -> None:
    """``tf.keras.backend.set_value``."""
    assign_values([(x, np.asarray(value, dtype=x.dtype.base_dtype.as_numpy_dtype))])


def batch_set_value(tuples: Sequence[tuple[Any, Any]]) -> None:
    """``tf.keras.backend.batch_set_value``."""
    assign_values([(x, np.asarray(value, dtype=x.dtype.base_dtype.as_numpy_dtype)) for x, value in tuples])


def eval(x: Any) -> Any:
    """``tf.keras.backend.eval``: the value of a tensor or variable."""
    return get_value(to_dense(x))


def print_tensor(x: Any, message: str = "") -> Any:
    """``tf.keras.backend.print_tensor``: ``x``, whose value is printed when it is computed."""
    return Print(x, [x], message)


def update(x: Any, new_x: Any) -> Any:
    """``tf.keras.backend.update``."""
    return x.assign(new_x)


def update_add(x: Any, increment: Any) -> Any:
    """``tf.keras.backend.update_add``."""
    return x.assign_add(increment)


def update_sub(x: Any, decrement: Any) -> Any:
    """``tf.keras.backend.update_sub``."""
    return x.assign_sub(decrement)


def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    """``tf.keras.backend.moving_average_update``: x moves towards ``value`` by 1 - momentum of the way, corrected for a start at zero."""
    return assign_moving_average(x, value, momentum, zero_debias=True)


def gradients(loss: Any, variables: Any) -> list[Any]:
    """``tf.keras.backend.gradients``."""
    return symbolic_gradients(loss, variables, colocate_gradients_with_ops=True)


def stop_gradient(variables: Any) -> Any:
    """``tf.keras.backend.stop_gradient``."""
    if isinstance(variables, (list, tuple)):
        return [passing.stop_gradient(each) for each in variables]
    return passing.stop_gradient(variables)


def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> Callable[[Any], Any]:
    """``tf.keras.backend.function``: a function of lists of arrays that runs a step of the session."""
    if kwargs:
        raise ValueError(f"Some keys in session_kwargs are not supported at this time: {list(kwargs)}")
    flat_inputs, flat_outputs = nest.flatten(inputs), nest.flatten(outputs)
    made = [update if not isinstance(update, tuple) else update[0].assign(update[1]) for update in updates or ()]
    step = ArrayStep(flat_inputs, flat_outputs, [update for update in made if update is not None])

    def run(values: Any) -> Any:
        given = [np.asarray(value, tensor.dtype.as_numpy_dtype) if not hasattr(value, "indices") else value
                 for tensor, value in zip(flat_inputs, nest.flatten(values))]
        return nest.pack_sequence_as(outputs, step(given)) if nest.is_nested(outputs) else step(given)[0]

    return run


# --- types and shapes ------------------------------------------------------------------------------------------------


def cast(x: Any, dtype: Any) -> Any:
    """``tf.keras.backend.cast``."""
    return casts.cast(x, dtypes.as_dtype(dtype))


def cast_to_floatx(x: Any) -> Any:
    """``tf.keras.backend.cast_to_floatx``."""
    if isinstance(x, (Tensor, Variable, SparseTensor)):
        return casts.cast(x, settings.floatx())
    return np.asarray(x, dtype=settings.floatx())


def dtype(x: Any) -> str:
    """``tf.keras.backend.dtype``: the name of a type."""
    return x.dtype.base_dtype.name


def ndim(x: Any) -> int | None:
    """``tf.keras.backend.ndim``."""
    return x.shape.ndims


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """``tf.keras.backend.int_shape``: the static shape, as a tuple."""
    given = x.shape
    return tuple(given) if isinstance(given, tuple) else None if given.ndims is None else tuple(given.as_list())


def shape(x: Any) -> Any:
    """``tf.keras.backend.shape``: the shape, as a tensor."""
    return shape_ops.shape(x)


def count_params(x: Any) -> int:
    """``tf.keras.backend.count_params``."""
    return int(np.prod(x.shape.as_list()))


def is_sparse(tensor: Any) -> bool:
    """``tf.keras.backend.is_sparse``."""
    return isinstance(tensor, SparseTensor)


def to_dense(tensor: Any) -> Any:
    """``tf.keras.backend.to_dense``."""
    return sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def name_scope(name: str | None = None, default_name: str | None = None, values: Any = None) -> AbstractContextManager[Any]:
    """``tf.keras.backend.name_scope``."""
    return scopes.name_scope(name, default_name, values)
