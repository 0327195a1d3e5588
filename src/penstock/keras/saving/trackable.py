"""``tf.contrib.checkpoint``: objects of one's own whose attributes are saved, containers with names, and what a checkpoint says of its objects."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

from penstock.checkpoint.contents import load_checkpoint
from penstock.checkpoint.object_keys import GRAPH_KEY, stored_object_graph
from penstock.keras.saving import object_graph


class NoDependency:
    """``tf.contrib.checkpoint.NoDependency``: ``self.x = NoDependency(value)`` sets an attribute that is not saved."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Checkpointable:
    """``tf.contrib.checkpoint.Checkpointable``: what its attributes hold (variables, layers, optimizers, lists and dictionaries of them) is saved."""

    _untracked_names: set[str]

    def __setattr__(self, name: str, value: Any) -> None:
        untracked: set[str] = self.__dict__.setdefault("_untracked_names", set())
        untracked.discard(name)
        if isinstance(value, NoDependency):
            untracked.add(name)
            value = value.value
        super().__setattr__(name, value)

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        for name, value in self.__dict__.items():
            child = None if name in self._untracked_names else object_graph.tracked(value)
            if child is not None and name != "_untracked_names":
                yield name, child


def _check(value: Any) -> Any:
    if object_graph.tracked(value) is None and not (isinstance(value, (list, dict)) and not value):
        raise ValueError(f"Only trackable objects (such as Layers or Optimizers) may be stored here: {value!r} is not one.")
    return value


class List(list[Any]):
    """``tf.contrib.checkpoint.List``: a list of objects that are saved by their places; it only grows."""

    def __init__(self, *args: Any) -> None:
        super().__init__(_check(value) for value in (args[0] if args else ()))

    def append(self, value: Any) -> None:
        """Adds one object."""
        super().append(_check(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds several."""
        for value in values:
            self.append(value)

    def __iadd__(self, values: Any) -> List:
        self.extend(values)
        return self

    def __add__(self, other: Any) -> List:
        return List([*self, *other])

    def __radd__(self, other: Any) -> List:
        return List([*other, *self])

    def _refuse(self, *args: Any) -> Any:
        raise TypeError("a tf.contrib.checkpoint.List only grows: objects are saved by their places")

    __setitem__ = __delitem__ = insert = pop = remove = reverse = sort = clear = _refuse  # type: ignore[assignment]

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        return ((str(index), object_graph.tracked(value)) for index, value in enumerate(self))


class Mapping(dict[str, Any]):
    """``tf.contrib.checkpoint.Mapping``: objects that are saved by their names; a name keeps its object."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.update(*args, **kwargs)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        if key in self and self[key] is not value:
            raise ValueError(f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value {value}, but it already "
                             f"contains {self[key]}")
        super().__setitem__(key, _check(value))

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds objects."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        return ((key, object_graph.tracked(value)) for key, value in self.items())


class UniqueNameTracker:
    """``tf.contrib.checkpoint.UniqueNameTracker``: gives objects names ``base``, ``base_1``, ... in the order in which they come."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def track(self, trackable: Any, base_name: str) -> Any:
        """Names an object; returns it."""
        if object_graph.tracked(trackable) is None:
            raise ValueError(f"Expected a trackable value, got {trackable} which cannot be saved.")
        name, count = base_name, 0
        while name in self._named:
            count += 1
            name = f"{base_name}_{count}"
        self._named[name] = trackable
        return trackable

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        return ((name, object_graph.tracked(value)) for name, value in self._named.items())


def list_objects(root_trackable: Any) -> list[Any]:
    """``tf.contrib.checkpoint.list_objects``: an object and all objects that it holds, breadth first."""
    return object_graph.objects_of(root_trackable)


def object_metadata(save_path: str) -> TrackableObjectGraph:
    """``tf.contrib.checkpoint.object_metadata``: the graph of the objects that a checkpoint holds."""
    reader = load_checkpoint(save_path)
    graph = stored_object_graph(reader)
    if graph is None:
        raise ValueError(f"The specified checkpoint \"{save_path}\" does not appear to be object-based (saved with TF2) since it is missing the key "
                         f"\"{GRAPH_KEY}\". Likely it was created with the TF1 name-based saver and does not contain an object "
                         "dependency graph.")
    return graph


def dot_graph_from_checkpoint(save_path: str) -> str:
    """``tf.contrib.checkpoint.dot_graph_from_checkpoint``: the objects of a checkpoint as a drawing for Graphviz; variables are blue."""
    reader, graph = load_checkpoint(save_path), object_metadata(save_path)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    slots = {slot.slot_variable_node_id for node in graph.nodes for slot in node.slot_variables}
    lines = []

    def escaped(name: str) -> str:
        return name.replace('"', '\\"')

    for number, node in enumerate(graph.nodes):
        if len(node.attributes) == 1 and node.attributes[0].name == "VARIABLE_VALUE":
            value = node.attributes[0]
            color, kind = ("orange", "Slot variable") if number in slots else ("blue", "Variable")
            lines.append(f'N_{number} [shape=point label="" color={color} width=.25 tooltip="{kind} {escaped(value.full_name)} '
                         f'shape={list(shapes[value.checkpoint_key])} {types[value.checkpoint_key].name}"]')
        elif node.slot_variables:
            lines.append(f'N_{number} [shape=point label="" width=.25 color=red,tooltip="Optimizer"]')
        else:
            lines.append(f'N_{number} [shape=point label="" width=.25]')
        lines += [f'N_{number} -> N_{child.node_id} [label="{escaped(child.local_name)}"]' for child in node.children]
        for slot in node.slot_variables:
            lines.append(f'N_{number} -> N_{slot.slot_variable_node_id} [label="{escaped(slot.slot_name)}" style=dotted]')
            lines.append(f"N_{slot.original_variable_node_id} -> N_{slot.slot_variable_node_id} [style=dotted]")
    return "digraph {\n" + "".join(f"{line}\n" for line in lines) + "}\n"
