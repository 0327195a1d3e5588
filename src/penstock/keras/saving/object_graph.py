"""Weights in TensorFlow's checkpoints: variables are named by the way to them through the attributes of objects.

``layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE`` is the attribute ``kernel`` of the first layer that has weights. The checkpoint also holds
the graph of objects itself, by which TensorFlow finds variables again; it is followed here, too.
"""
from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

from penstock.checkpoint.bundle_writer import BundleWriter
from penstock.checkpoint.checkpoint_state import update_checkpoint_state
from penstock.checkpoint.contents import load_checkpoint
from penstock.checkpoint.object_keys import GRAPH_KEY, stored_object_graph
from penstock.graph.graph import default_graph
from penstock.graph.scopes import device
from penstock.keras.optimizers.optimizer import OptimizerV2
from penstock.layers.base import Layer
from penstock.layers.module import Module
from penstock.layers.sessions import are_all_new, load_values, values_of
from penstock.layers.tracking import contained
from penstock.ops.constant import constant
from penstock.ops.flow.misc import no_op
from penstock.platform import logging
from penstock.train.optimizer import Optimizer
from penstock.train.saveable import ResourceVariableSaveable, SaveableObject, SaveSpec, VariableSaveable
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.template import captured
from penstock.variables.variable import Variable

_VALUE = ".ATTRIBUTES/VARIABLE_VALUE"
_HIDDEN = frozenset(["_layers", "_trainable_weights", "_non_trainable_weights", "_metrics", "_inbound_nodes", "_outbound_nodes"])


class _Container:
    """A list or a dictionary in an attribute: its elements have names, too. ``items`` are those that a checkpoint knows."""

    def __init__(self, value: Any) -> None:
        named = value.items() if isinstance(value, dict) else enumerate(value)
        self.items = [(str(key), child) for key, item in named if (child := tracked(item)) is not None]


def tracked(value: Any) -> Any:
    """The object that a checkpoint knows for an attribute's value; None if it knows none."""
    if isinstance(value, (Variable, Module, OptimizerV2, Optimizer)) or hasattr(value, "_checkpoint_children"):
        return value
    if isinstance(value, (list, tuple, dict)) and value:
        container = _Container(value)
        return container if container.items else None
    return None


def children(parent: Any) -> Iterator[tuple[str, Any]]:
    """(local name, object) of all objects that one object holds."""
    yield from captured(parent).items()
    if isinstance(parent, _Container):
        yield from parent.items
    elif hasattr(parent, "_checkpoint_children"):
        yield from parent._checkpoint_children()
    elif isinstance(parent, Optimizer):
        names = sorted({name for name, _ in parent._non_slots})
        yield from ((name, variable) for name in names if (variable := parent._get_non_slot_variable(name)) is not None)
    elif isinstance(parent, OptimizerV2):
        yield "iter", parent.iterations
        yield from ((name, value) for name, value in sorted(parent._hyper.items()) if isinstance(value, Variable))
    elif isinstance(parent, Layer):
        yield from _layer_children(parent)
    elif isinstance(parent, Module):
        yield from ((name, child) for name, value in vars(parent).items() if (child := tracked(value)) is not None)


def _layer_children(parent: Any) -> Iterator[tuple[str, Any]]:
    numbered = parent.__dict__.get("_layers") or []
    with_weights = 0
    for index, layer in enumerate(numbered):
        if layer.weights:
            yield f"layer_with_weights-{with_weights}", layer
            with_weights += 1
        yield f"layer-{index}", layer
    held = {id(layer) for layer in numbered}
    named: set[int] = set()
    untracked = getattr(parent, "_untracked", _HIDDEN) | _HIDDEN
    for name, value in list(parent.__dict__.items()):
        child = None if name in untracked else tracked(value)
        if child is not None and id(child) not in held and not isinstance(child, (OptimizerV2, Optimizer)):
            named.update(map(id, contained(value)))
            yield name, child
    for variable in parent._trainable_weights + parent._non_trainable_weights:
        if id(variable) not in named:
            yield variable.op.name.rpartition("/")[2], variable
    optimizer = getattr(parent, "optimizer", None)
    if (isinstance(optimizer, OptimizerV2) and optimizer._weights) or hasattr(optimizer, "_checkpoint_children"):
        yield "optimizer", optimizer


def _walk(root: Any) -> tuple[list[Any], dict[int, str], TrackableObjectGraph]:
    """(objects, {id: path}, graph), breadth first as TensorFlow goes."""
    graph = TrackableObjectGraph()
    objects, paths, numbers = [root], {id(root): ""}, {id(root): 0}
    graph.nodes.add()
    pending = deque([root])
    while pending:
        parent = pending.popleft()
        for name, child in children(parent):
            if id(child) not in numbers:
                numbers[id(child)] = len(objects)
                objects.append(child)
                graph.nodes.add()
                paths[id(child)] = f"{paths[id(parent)]}/{_escape(name)}".lstrip("/")
                pending.append(child)
            graph.nodes[numbers[id(parent)]].children.add(node_id=numbers[id(child)], local_name=name)
    return objects, paths, graph


def _escape(name: str) -> str:
    """A slash separates names, and a full stop begins what is not a name."""
    return name.replace(".", "..").replace("/", ".S")


def _values(root: Any) -> tuple[dict[str, Any], TrackableObjectGraph]:
    """{key: variable} of all variables below an object, slots of optimizers included."""
    objects, paths, graph = _walk(root)
    numbers = {id(each): index for index, each in enumerate(objects)}
    variables: dict[str, Any] = {}

    def add(index: int, variable: Any, key: str) -> None:
        variables[key] = variable
        graph.nodes[index].attributes.add(name="VARIABLE_VALUE", full_name=variable.op.name, checkpoint_key=key)

    for index, each in enumerate(objects):
        if isinstance(each, Variable):
            add(index, each, f"{paths[id(each)]}/{_VALUE}")
    for index, each in enumerate(objects):
        for variable, name, slot in _slots(each) if isinstance(each, (OptimizerV2, Optimizer)) else ():
            if id(variable) in numbers:
                number = len(graph.nodes)
                graph.nodes.add()
                graph.nodes[index].slot_variables.add(original_variable_node_id=numbers[id(variable)], slot_name=name, slot_variable_node_id=number)
                add(number, slot, f"{paths[id(variable)]}/.OPTIMIZER_SLOT/{paths[id(each)]}/{name}/{_VALUE}")
    return variables, graph


def _slots(optimizer: OptimizerV2 | Optimizer) -> Iterator[tuple[Any, str, Any]]:
    if isinstance(optimizer, Optimizer):
        yield from optimizer.all_slots()
        return
    for name in optimizer.get_slot_names():
        for variable, named in optimizer._slots.items():
            if name in named:
                yield variable, name, named[name]


def object_saveables(root: Any) -> list[SaveableObject]:
    """What a ``tf.train.Saver`` saves, so that its checkpoints name variables as those of objects do, and hold the graph of objects, too."""
    variables, graph = _values(root)
    saveables = [ResourceVariableSaveable(variable, "", key) if isinstance(variable, ResourceVariable) else
                 VariableSaveable(variable._as_graph_element(), "", key) for key, variable in variables.items()]
    return [*saveables, _ObjectGraphSaveable(graph)]


class _ObjectGraphSaveable(SaveableObject):
    """The graph of objects: a constant, which is not restored."""

    def __init__(self, graph: TrackableObjectGraph) -> None:
        with device("/device:CPU:0"):
            tensor = constant(graph.SerializeToString(), name="object_graph")
        super().__init__(tensor, [SaveSpec(tensor, "", GRAPH_KEY)], GRAPH_KEY)

    def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
        """Nothing."""
        return no_op()


def save(root: Any, prefix: str) -> None:
    """Writes the variables of a model as a checkpoint, the latest one of its folder."""
    write(root, prefix)
    update_checkpoint_state(os.path.dirname(prefix) or ".", os.path.basename(prefix), [os.path.basename(prefix)])


def write(root: Any, prefix: str, others: Mapping[str, Any] | None = None) -> None:
    """Writes the variables of an object, and what else it saves (``states.py``), as a checkpoint; ``others`` are further arrays."""
    variables, graph = _values(root)
    states = _states(root, graph)
    where = default_graph()
    if not where.imperative and where.first_time(("saved", id(root))):
        where.imply(_OPERATIONS_OF_SAVING)
    folder = os.path.dirname(prefix)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with BundleWriter(prefix) as writer:
        for key, value in zip(variables, values_of(list(variables.values()))):
            writer.add(key, value)
        for key, value in (others or {}).items():
            writer.add(key, value)
        for key, value in states.items():
            writer.add(key, value if isinstance(value, np.ndarray) else values_of([value])[0])
        writer.add(GRAPH_KEY, np.array(graph.SerializeToString(), dtype=object))


def _states(root: Any, graph: TrackableObjectGraph) -> dict[str, Any]:
    """{key: value} of all that is saved, but for variables."""
    objects, paths, _ = _walk(root)
    states = {}
    for index, each in enumerate(objects):
        if hasattr(each, "_saved_value"):
            key = f"{paths[id(each)]}/.ATTRIBUTES/{each.saved_as}"
            graph.nodes[index].attributes.add(name=each.saved_as, checkpoint_key=key)
            states[key] = each._saved_value()
    return states


def objects_of(root: Any) -> list[Any]:
    """An object and all that it holds, breadth first, slots of optimizers last."""
    objects = _walk(root)[0]
    slots = [slot for each in objects if isinstance(each, (OptimizerV2, Optimizer)) for variable, _, slot in _slots(each)
             if any(variable is other for other in objects)]
    return objects + slots


def variables_of(root: Any) -> list[Any]:
    """The variables of an object, slots of optimizers included."""
    return list(_values(root)[0].values())


def matched_variables(root: Any, graph: TrackableObjectGraph) -> Iterator[tuple[Any, int]]:
    """(variable, its number in the checkpoint's graph) for all that both have."""
    matched = _matches(root, graph)
    numbers = {id(each): node for each, node in matched}
    for each, node in matched:
        if isinstance(each, Variable) and graph.nodes[node].attributes:
            yield each, node
        elif isinstance(each, (OptimizerV2, Optimizer)):
            saved = {(slot.original_variable_node_id, slot.slot_name): slot.slot_variable_node_id for slot in graph.nodes[node].slot_variables}
            for variable, name, slot in _slots(each):
                number = saved.get((numbers.get(id(variable), -1), name))
                if number is not None:
                    yield slot, number


def matched_states(root: Any, graph: TrackableObjectGraph) -> Iterator[tuple[Any, int]]:
    """(object, its number in the checkpoint's graph) for all objects, other than variables, that save a value."""
    return ((each, node) for each, node in _matches(root, graph) if hasattr(each, "_restore_value") and graph.nodes[node].attributes)


_OPERATIONS_OF_SAVING = 18  # in TensorFlow's graph, which keeps them


class LoadStatus:
    """What ``load_weights`` returns for a checkpoint: which variables it did not find."""

    def __init__(self, missing: list[str]) -> None:
        self._missing = missing

    def assert_consumed(self) -> LoadStatus:
        """AssertionError unless each variable was found."""
        if self._missing:
            raise AssertionError(f"Unresolved object in checkpoint: {self._missing}")
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> LoadStatus:
        """Itself."""
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Nothing is left to do: values are loaded at once."""

    run_restore_ops = initialize_or_restore


def load(root: Any, prefix: str) -> LoadStatus:
    """Gives the variables of a model the values of a checkpoint."""
    reader = load_checkpoint(prefix)
    graph = stored_object_graph(reader)
    if graph is None:
        return _load_by_name(root, reader)
    pairs = [(variable, reader.get_tensor(graph.nodes[node].attributes[0].checkpoint_key)) for variable, node in matched_variables(root, graph)]
    saved = {id(variable) for variable, _ in pairs}
    missing = [variable.name for variable in root.weights if id(variable) not in saved]
    if missing:
        logging.warning("Weights that the checkpoint %s does not have: %s", prefix, missing)
    assign_restored(root, pairs)
    return LoadStatus(missing)


def assign_restored(root: Any, pairs: Sequence[tuple[Any, Any]], later: bool = False) -> None:
    """Gives variables of ``root`` the values of a checkpoint. For the seeds of random ops to come: TensorFlow restores slots, the counter and
    what is made ``later`` one by one, and all other variables in one operation."""
    new = [variable for variable, _ in pairs if variable.graph.first_time(("restored", variable))]
    alone = {id(slot) for each in _walk(root)[0] if isinstance(each, (OptimizerV2, Optimizer)) for *_, slot in _slots(each)}
    others = [variable for variable in new if id(variable) not in alone and variable is not getattr(root, "_save_counter", None)]
    if later:
        others = []
    if new and later and are_all_new(new):  # no group of initializers is made for them
        new[0].graph.imply(-1)
    if new:
        new[0].graph.imply((not later) + (3 + 2 * len(others) if others else 0) + 5 * (len(new) - len(others)))
    load_values(pairs)


def _matches(root: Any, graph: TrackableObjectGraph) -> list[tuple[Any, int]]:
    """(object, its number in the checkpoint's graph), followed from the root by local names."""
    pairs, pending, seen = [], deque([(root, 0)]), {id(root)}
    while pending:
        each, node = pending.popleft()
        pairs.append((each, node))
        named = {child.local_name: child.node_id for child in graph.nodes[node].children}
        if hasattr(each, "_make_children"):
            each._make_children(named)
        for name, child in children(each):
            if name in named and id(child) not in seen:
                seen.add(id(child))
                pending.append((child, named[name]))
    return pairs


def _load_by_name(root: Any, reader: Any) -> LoadStatus:
    """From a checkpoint of ``tf.train.Saver``, which names variables as the graph does."""
    stored = reader.get_variable_to_shape_map()
    pairs = [(variable, reader.get_tensor(variable.op.name)) for variable in root.weights if variable.op.name in stored]
    assign_restored(root, pairs)
    restored = {id(variable) for variable, _ in pairs}
    return LoadStatus([variable.name for variable in root.weights if id(variable) not in restored])
