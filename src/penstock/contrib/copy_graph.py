"""``tf.contrib.copy_graph``: variables, and the operations behind a tensor, once more in another graph.

A copy has the name of what it is a copy of, below a scope. What is there under such a name already is taken, and not copied again.
"""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.traverse import operations_behind
from penstock.session.session import Session
from penstock.variables.variable import Variable


def copy_variable_to_graph(org_instance: Variable, to_graph: Graph, scope: str = "") -> Variable:
    """``copy_variable_to_graph``: a variable of another graph with the same initial value."""
    if not isinstance(org_instance, Variable):
        raise TypeError(f"{org_instance} is not a Variable")
    with org_instance.graph.as_default(), Session(graph=org_instance.graph) as session:
        value = session.run(org_instance.initialized_value())
    prefix = _prefix(scope)
    collections = [name if name in _STANDARD else prefix + name for name in org_instance.graph.get_all_collection_keys()
                   if any(each is org_instance for each in org_instance.graph.get_collection(name))]
    with to_graph.as_default():
        return Variable(value, trainable=org_instance.trainable, collections=collections, name=prefix + org_instance.op.name)


def copy_op_to_graph(org_instance: Any, to_graph: Graph, variables: Any, scope: str = "") -> Any:
    """``copy_op_to_graph``: an operation or tensor, with all that it depends on; ``variables`` are copies of the variables among that."""
    if not isinstance(org_instance, (Operation, Tensor, Variable)):
        raise TypeError(f"Could not copy instance: {org_instance}")
    prefix, copied = _prefix(scope), {variable.name: variable for variable in variables}
    if isinstance(org_instance, Variable):
        if prefix + org_instance.name not in copied:
            raise ValueError(f"Cannot copy the variable '{org_instance.name}': copy it first with copy_variable_to_graph, and pass the copy.")
        return copied[prefix + org_instance.name]
    op = org_instance if isinstance(org_instance, Operation) else org_instance.op
    there = {tensor for each in operations_behind([], [op], ()) if prefix + each.name in to_graph._by_name for tensor in each.outputs}
    for each in operations_behind([], [op], there):
        if prefix + each.name not in to_graph._by_name:
            _copy(each, to_graph, prefix)
    return get_copied_op(org_instance, to_graph, scope)


def get_copied_op(org_instance: Any, graph: Graph, scope: str = "") -> Any:
    """``get_copied_op``: the copy of an operation, tensor or variable."""
    return graph.as_graph_element(_prefix(scope) + org_instance.name, allow_tensor=True, allow_operation=True)


def _copy(op: Operation, graph: Graph, prefix: str) -> None:
    inputs = tuple(graph.get_tensor_by_name(prefix + tensor.name) for tensor in op.inputs)
    with graph.as_default(), graph.device(None), graph.control_dependencies(None):
        made = op.definition.add_node(graph, graph._name_for(prefix + op.name + "/"), inputs, dict(op.attrs))
    graph._names[made.name.lower()] = graph._names.get(made.name.lower(), 0) + 1
    made._set_device(op.device)
    made._add_control_inputs([graph.get_operation_by_name(prefix + other.name) for other in op.control_inputs])


def _prefix(scope: str) -> str:
    return scope + "/" if scope and not scope.endswith("/") else scope


_STANDARD = frozenset(value for key, value in vars(tf.GraphKeys).items() if not key.startswith("_") and isinstance(value, str))
