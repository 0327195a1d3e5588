"""``tf.graph_util``: cutting GraphDefs down, and turning variables into constants."""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.graph import dtypes
from penstock.graph.attrs import to_proto
from penstock.graph.shape import TensorShape
from penstock.graph.tensor_proto import array_to_proto, to_array
from penstock.platform import logging

_VARIABLES = frozenset(["Variable", "VariableV2", "VarHandleOp"])
_PASSING = frozenset(["Identity", "Switch", "Enter", "RefSwitch", "RefEnter"])  # that a handle may go through on its way to a read


def node_name(input_name: str) -> str:
    """The node that an input comes from.

    >>> node_name("^init"), node_name("split:1")
    ('init', 'split')
    """
    return input_name.lstrip("^").partition(":")[0]


def _by_name(graph_def: GraphDef) -> dict[str, NodeDef]:
    return {node.name: node for node in graph_def.node}


def subset(graph_def: GraphDef, nodes: Iterable[NodeDef]) -> GraphDef:
    """A graph of other nodes, with the versions and the functions of this one."""
    result = GraphDef(node=nodes)
    for part in ("versions", "library"):
        if graph_def.HasField(part):
            getattr(result, part).CopyFrom(getattr(graph_def, part))
    return result


def extract_sub_graph(graph_def: GraphDef, dest_nodes: Sequence[str]) -> GraphDef:
    """``tf.graph_util.extract_sub_graph``: the nodes that ``dest_nodes`` need."""
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = _by_name(graph_def)
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    needed, waiting = set(dest_nodes), deque(dest_nodes)
    while waiting:
        for source in map(node_name, nodes[waiting.popleft()].input):
            if source not in needed:
                if source not in nodes:
                    raise AssertionError(f"{source} is not in graph")
                needed.add(source)
                waiting.append(source)
    return subset(graph_def, (node for node in graph_def.node if node.name in needed))


def extract_graph_summary(graph_def: GraphDef) -> tuple[dict[str, list[str]], dict[str, NodeDef], dict[str, int]]:
    """The nodes that each node has as inputs, the nodes themselves and their numbers, by name."""
    inputs, numbers = dict[str, list[str]](), dict[str, int]()
    for number, node in enumerate(graph_def.node):
        name = node_name(node.name)
        inputs[name], numbers[name] = [node_name(source) for source in node.input], number
    return inputs, {node_name(node.name): node for node in graph_def.node}, numbers


def reachable_nodes(target_nodes: Iterable[str], name_to_input_name: dict[str, list[str]]) -> set[str]:
    """The nodes that others need, themselves included."""
    reached, waiting = set[str](), deque(target_nodes)
    while waiting:
        name = waiting.popleft()
        if name not in reached:
            reached.add(name)
            waiting.extend(name_to_input_name[name])
    return reached


def convert_variables_to_constants(sess: Any, input_graph_def: GraphDef, output_node_names: Sequence[str],
                                   variable_names_whitelist: Iterable[str] | None = None,
                                   variable_names_blacklist: Iterable[str] | None = None) -> GraphDef:
    """``tf.graph_util.convert_variables_to_constants``: what the outputs need, with the values that variables have in ``sess`` as constants."""
    graph = extract_sub_graph(input_graph_def, output_node_names)
    nodes = _by_name(graph)
    allowed, denied = None if variable_names_whitelist is None else set(variable_names_whitelist), set(variable_names_blacklist or ())
    frozen = [node for node in graph.node if node.op in _VARIABLES and node.name not in denied and (allowed is None or node.name in allowed)]
    values = dict(zip((node.name for node in frozen), sess.run([_value_of(node, sess.graph) for node in frozen]) if frozen else []))
    result = [converted for node in graph.node for converted in _replacement(node, nodes, values)]
    logging.info("Froze %d variables.", len(frozen))
    return subset(input_graph_def, result)


def _value_of(node: NodeDef, graph: Any) -> str:
    """The name of a tensor with the value of a variable."""
    if node.op != "VarHandleOp":
        return f"{node.name}:0"
    handle = graph.get_tensor_by_name(f"{node.name}:0")
    read = next((op for op in handle.consumers() if op.type == "ReadVariableOp"), None)
    if read is None:
        raise ValueError(f"The variable {node.name} is never read in this graph: its value cannot be had")
    return str(read.outputs[0].name)


def _source(name: str, nodes: dict[str, NodeDef]) -> str:
    """The variable behind an input, seen through the nodes that pass a handle on."""
    name = node_name(name)
    while nodes[name].op in _PASSING:
        name = node_name(nodes[name].input[0])
    return name


def _replacement(node: NodeDef, nodes: dict[str, NodeDef], values: dict[str, Any]) -> list[NodeDef]:
    """What takes the place of a node."""
    if node.name in values:
        array = to_array(values[node.name])
        constant = NodeDef(name=node.name, op="Const", device=node.device)
        constant.attr["dtype"].CopyFrom(node.attr["dtype"])
        constant.attr["value"].tensor.CopyFrom(array_to_proto(array))
        return [constant]
    reads_frozen = node.op in ("ReadVariableOp", "ResourceGather", *_PASSING) and node.input and _source(node.input[0], nodes) in values
    if not reads_frozen:
        return [node]
    if node.op == "ReadVariableOp":
        return [_rewrite(node, "Identity", list(node.input), T=node.attr["dtype"])]
    if node.op == "ResourceGather":
        axis = NodeDef(name=f"{node.name}/axis", op="Const", device=node.device)
        axis.attr["value"].tensor.CopyFrom(array_to_proto(to_array(0)))
        axis.attr["dtype"].CopyFrom(to_proto("type", dtypes.int32))
        return [axis, _rewrite(node, "GatherV2", [*node.input[:2], axis.name, *node.input[2:]], Tparams=node.attr["dtype"],
                                 Tindices=node.attr["Tindices"], Taxis=axis.attr["dtype"])]
    passing = NodeDef()
    passing.CopyFrom(node)
    passing.op = node.op.removeprefix("Ref")
    passing.attr["T"].CopyFrom(nodes[_source(node.input[0], nodes)].attr["dtype"])
    return [passing]


def _rewrite(node: NodeDef, op: str, inputs: list[str], **attrs: Any) -> NodeDef:
    new = NodeDef(name=node.name, op=op, device=node.device, input=inputs)
    for name, value in attrs.items():
        new.attr[name].CopyFrom(value)
    for name in ("_class", "_output_shapes"):
        if name in node.attr:
            new.attr[name].CopyFrom(node.attr[name])
    return new


def remove_training_nodes(input_graph: GraphDef, protected_nodes: Iterable[str] | None = None) -> GraphDef:
    """``tf.graph_util.remove_training_nodes``: the graph without Identity and CheckNumerics nodes, as far as nothing else needs them."""
    protected = set(protected_nodes or ())
    checks = {node.name for node in input_graph.node if node.op == "CheckNumerics" and node.name not in protected}
    left = [_without_controls(node, checks) for node in input_graph.node]
    controls = {node_name(name) for node in left for name in node.input if name.startswith("^")}
    nodes = {node.name: node for node in left}
    spliced: dict[str, str] = {}
    for node in left:
        has_control_input = any(name.startswith("^") for name in node.input)
        if node.name in checks or (node.op == "Identity" and node.name not in protected | controls and not has_control_input and \
                nodes[node_name(node.input[0])].op not in ("Switch", "RefSwitch")):  # its other output would have no consumer
            spliced[node.name] = node.input[0]
    result = [node for node in left if node.name not in spliced]
    for node in result:
        node.input[:] = [past(name, spliced) for name in node.input]
    return subset(input_graph, result)


def _without_controls(node: NodeDef, removed: set[str]) -> NodeDef:
    """A copy of a node that does not wait for nodes that are removed."""
    copy = NodeDef()
    copy.CopyFrom(node)
    copy.input[:] = [name for name in node.input if not (name.startswith("^") and name[1:] in removed)]
    return copy


def past(name: str, spliced: dict[str, str]) -> str:
    """The input that takes the place of ``name``, where nodes that hand their input on are left out: {such a node: its input}."""
    while not name.startswith("^") and node_name(name) in spliced:
        name = spliced[node_name(name)]
    return name


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """``tf.graph_util.must_run_on_cpu``: True for operations and constants that no other device can run."""
    node = node if isinstance(node, NodeDef) else node.node_def
    if pin_variables_on_cpu and node.op in ("Variable", "VariableV2"):
        return True
    kept_in = {"Const": "dtype", "DynamicStitch": "T"}.get(node.op)
    int32, string = 3, 7
    return kept_in is not None and node.attr[kept_in].type in ({string, int32} if node.op == "Const" else {int32})


def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> TensorShape:
    """``tf.graph_util.tensor_shape_from_node_def_name``: the shape of an input, which is written as in a NodeDef."""
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name).shape
