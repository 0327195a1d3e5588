"""import_graph_def: a GraphDef proto becomes operations of the current graph.

All of it is checked before anything is added: unknown op types are reported together, names must exist, inputs must fit their ops.
"""
from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.graph.convert import to_tensor
from penstock.graph.function_def import FunctionLibrary
from penstock.graph.graph import Graph, default_graph
from penstock.graph.importer import Importer, check_types
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import name_scope


def import_graph_def(graph_def: Any, input_map: dict[Any, Any] | None = None, return_elements: Iterable[Any] | None = None,
                     name: str | None = None, op_dict: Any = None, producer_op_list: Any = None) -> list[Operation | Tensor] | None:
    """``tf.import_graph_def``: adds the nodes of ``graph_def`` under the scope ``name`` ("import" by default).

    ``input_map`` puts tensors of this graph in the place of the GraphDef's tensors; ``return_elements`` names what to return.

    >>> import penstock as tf
    >>> with tf.Graph().as_default() as one:
    ...     y = tf.square(tf.placeholder(tf.float32, [], name="x"), name="y")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     (y,) = tf.import_graph_def(one.as_graph_def(), {"x": tf.constant(3.0)}, ["y:0"], name="copy")
    ...     y.name, sess.run(y)
    ('copy/y:0', np.float32(9.0))
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a GraphDef proto.")
    if input_map is not None and not (isinstance(input_map, dict) and all(isinstance(key, (str, bytes)) for key in input_map)):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    wanted = None if return_elements is None else [text.decode() if isinstance(text, bytes) else text for text in return_elements]
    if wanted is not None and not all(isinstance(text, str) for text in wanted):
        raise TypeError("return_elements must be a list of strings.")
    graph = default_graph()
    library = FunctionLibrary(graph_def, graph)
    check_types(graph_def, library)
    graph._take_versions(graph_def.versions)
    with name_scope("import" if name is None else name) as scope:
        mapped = _tensors_by_name(input_map or {}, scope)
        importer = Importer(graph, graph_def, scope, mapped, library=library)
        importer.run()
    return None if wanted is None else [importer.element(text) for text in wanted]


def _tensors_by_name(input_map: dict[Any, Any], scope: str) -> dict[str, Tensor]:
    """The tensors of ``input_map``; values that are none become constants in a scope of their own."""
    if not scope and not all(isinstance(value, Tensor) for value in input_map.values()):
        raise ValueError("tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. Try calling "
                         "tf.convert_to_tensor() on `input_map` values before calling tf.import_graph_def().")
    with name_scope("_inputs") if not all(isinstance(value, Tensor) for value in input_map.values()) else nullcontext():
        return {(key.decode() if isinstance(key, bytes) else key): to_tensor(value) for key, value in input_map.items()}


def extend_graph(graph: Graph, graph_def: GraphDef, runtime_names: bool = False) -> list[Operation]:
    """Adds nodes under exactly the names they have, to a graph whose operations they may take inputs from: how a session's graph grows on its master.

    With ``runtime_names``, names may begin with "_", as those of the nodes that the runtime adds do.
    """
    library = FunctionLibrary(graph_def, graph)
    check_types(graph_def, library)
    for node in graph_def.node:
        if node.name in graph._by_name:
            raise ValueError(f"Node {node.name!r} is in the graph already")
    importer = Importer(graph, graph_def, "", {}, graph._by_name, runtime_names, library=library)
    with graph.as_default():
        importer.run()
    return [graph._by_name[node.name] for node in graph_def.node]
