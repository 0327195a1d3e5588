"""The global step: the variable that counts training steps, known by its collection and its name."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.graph import Graph, default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.state.resource import ReadVariableOp
from penstock.variables.initializers import Zeros
from penstock.variables.scope import get_variable
from penstock.variables.variable import Variable

_READS = "global_step_read_op_cache"  # the collection of the tensor that hooks fetch


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """``tf.train.global_step``: the value of a global step in a session."""
    at_once = hasattr(global_step_tensor, "numpy") and default_graph().imperative
    value = global_step_tensor.numpy() if at_once else sess.run(global_step_tensor)
    return int(np.asarray(value).item())  # an old program may count in a vector of one element


def get_global_step(graph: Graph | None = None) -> Any:
    """``tf.train.get_global_step``: the global step of the graph, or None."""
    graph = graph or default_graph()
    collected = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(collected) > 1:
        raise TypeError(f"Multiple items in the collection {GraphKeys.GLOBAL_STEP!r}: {collected}")
    if collected:
        step = collected[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Any:
    """``tf.train.create_global_step``: makes the global step; ValueError if there is one."""
    return new_global_step(graph or default_graph())


def new_global_step(graph: Graph, use_resource: bool | None = None) -> Any:
    """A global step of the kind of variable that is wanted; ValueError if there is one already."""
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(GraphKeys.GLOBAL_STEP, shape=[], dtype=dtypes.int64, initializer=Zeros(), trainable=False, use_resource=use_resource,
                            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """``tf.train.get_or_create_global_step``."""
    graph = graph or default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def global_step_read(hook: str, graph: Graph | None = None) -> Tensor:
    """A tensor with the value of the global step, for hooks to fetch; RuntimeError if there is no step.

    It is a copy: what a run fetches is the value at one moment, even if the variable is changed in that run. One per graph.
    """
    graph = graph or default_graph()
    reads = graph.get_collection_ref(_READS)
    if not reads:
        step = get_global_step(graph)
        if step is None:
            raise RuntimeError(f"Global step should be created to use {hook}.")
        with graph.as_default(), control_dependencies(None), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
            value = step.value() if hasattr(step, "value") else step
            # TensorFlow adds 0 to the initialized value; the value of a resource is an operation here, too.
            graph.implied_operations += getattr(step, "_initialized_value_operations", 0) - (value.op.definition is ReadVariableOp)
            reads.append(value + 0)
    return reads[0]


def get_or_create_global_step_read(graph: Graph | None = None) -> Tensor | None:
    """`global_step_read`, or None if there is no step."""
    return None if get_global_step(graph) is None else global_step_read("it", graph)


def increment_global_step(increment: Any, graph: Graph | None = None) -> Any:
    """Adds to the global step, after those that read it before have done so."""
    graph = graph or default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError("Global step tensor should be created by tf.train.get_or_create_global_step before calling increment.")
    assert_global_step(step)
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"), control_dependencies([global_step_read("it", graph)]):
        return step.assign_add(increment)


def assert_global_step(global_step_tensor: Any) -> None:
    """``tf.train.assert_global_step``: TypeError unless it is an integer scalar variable or tensor."""
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(f"Existing \"global_step\" must be a Variable or Tensor: {global_step_tensor}.")
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f"Existing \"global_step\" does not have integer type: {global_step_tensor.dtype}")
    if global_step_tensor.shape.ndims not in (0, None):
        raise TypeError(f"Existing \"global_step\" is not scalar: {global_step_tensor.shape}")
