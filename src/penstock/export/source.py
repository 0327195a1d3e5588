"""What is exported: the tensors of a session, a SavedModel, a frozen graph; as entry points, with a session that has the variables' values."""
from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError
from penstock.export.entries import EntryArgument, EntryPoint, identifier, identifiers
from penstock.graph.graph import Graph
from penstock.graph.graph_def import import_graph_def
from penstock.graph.node import Operation, Tensor
from penstock.platform import gfile
from penstock.saved_model import loader, signature_constants, tag_constants
from penstock.session.session import Session
from penstock.train.meta_graph import parse_binary_or_text

Named = Mapping[str, Any] | Sequence[Any] | Any


def batch_sizes(batch: Any) -> list[int]:
    """A size, or several, as a list. InvalidArgumentError if it is neither."""
    try:
        return [operator.index(each) for each in ([batch] if np.ndim(batch) == 0 and not isinstance(batch, str) else batch)]
    except TypeError:
        raise InvalidArgumentError(None, None, f"batch={batch!r}: it can be a size, or a list of sizes") from None


def check_shapes(shapes: Mapping[str, Any], entries: Sequence[EntryPoint]) -> None:
    """InvalidArgumentError if a shape is given of what is not a feed."""
    known = {name for entry in entries for argument, tensor in zip(entry.inputs, entry.feeds) for name in (argument.name, tensor.op.name)}
    unknown = [name for name in shapes if name not in known]
    if unknown:
        raise InvalidArgumentError(None, None, f"shapes: there is no feed {unknown[0]!r}; there are {', '.join(sorted(known)) or 'none'}")


def entry_of(name: str, fetches: Named, feeds: Named, batches: Sequence[int], shapes: Mapping[str, Sequence[int | None]], graph: Graph,
             any_batch: bool = False) -> EntryPoint:
    """An entry point of tensors, by name or in order."""
    given, wanted = _by_name(feeds, graph), _by_name(fetches, graph)
    _check_distinct(given)
    targets = [each for each in wanted.values() if isinstance(each, Operation)]
    outputs = {key: each for key, each in wanted.items() if isinstance(each, Tensor)}
    entry = EntryPoint(identifier(name), list(given.values()), list(outputs.values()), targets, sorted(set(batches)) or [1], any_batch=any_batch)
    entry.inputs = [EntryArgument(key, tensor.dtype.base_dtype, _shape(key, tensor, shapes))
                    for key, tensor in zip(identifiers(list(given)), given.values())]
    entry.outputs = [EntryArgument(key, tensor.dtype.base_dtype, ()) for key, tensor in zip(identifiers(list(outputs)), outputs.values())]
    if any(batch < 1 for batch in entry.batches):
        raise InvalidArgumentError(None, None, f"batch sizes have to be positive, not {list(batches)}")
    if not wanted:
        raise InvalidArgumentError(None, None, f"the entry point {name!r} has nothing to compute: it fetches nothing")
    if not entry.takes_batch:
        entry.batches = [1]
    return entry


def _by_name(tensors: Named, graph: Graph) -> dict[str, Any]:
    """Tensors and operations by the names that they shall have."""
    if isinstance(tensors, Mapping):
        return {str(key): _element(value, graph) for key, value in tensors.items()}
    several = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    elements = [_element(each, graph) for each in several]
    names = [each.name if isinstance(each, Operation) else each.op.name + (f"_{each.value_index}" if each.value_index else "") for each in elements]
    return dict(zip(identifiers([name.rsplit("/", 1)[-1] for name in names]), elements))


def _check_distinct(feeds: Mapping[str, Tensor]) -> None:
    """InvalidArgumentError if a tensor is fed by two arguments: one of them would be ignored."""
    seen: dict[Tensor, str] = {}
    for name, tensor in feeds.items():
        if tensor in seen:
            raise InvalidArgumentError(None, tensor.op, f"{tensor.name} is fed twice, as {seen[tensor]} and as {name}: name it once")
        seen[tensor] = name


def _element(each: Any, graph: Graph) -> Any:
    element = graph.as_graph_element(each, allow_tensor=True, allow_operation=True)
    return element.outputs[0] if isinstance(each, str) and isinstance(element, Operation) and len(element.outputs) == 1 else element


def _shape(name: str, tensor: Tensor, shapes: Mapping[str, Sequence[int | None]]) -> tuple[int | None, ...]:
    """The shape of a feed: one that is given, else the graph's. Only its first axis may be open: that is the batch."""
    given = shapes.get(name, shapes.get(tensor.op.name))
    if given is None and tensor.shape.ndims is None:
        raise InvalidArgumentError(None, tensor.op, f"the shape of {tensor.name} is not known; tell it: shapes={{{name!r}: [None, ...]}}")
    shape = tuple(given) if given is not None else tuple(tensor.shape.as_list())
    if given is not None and not tensor.shape.is_compatible_with(list(shape)):
        raise InvalidArgumentError(None, tensor.op, f"{tensor.name} has the shape {tensor.shape}, not {list(shape)}")
    if None in shape[1:]:
        raise InvalidArgumentError(None, tensor.op, f"{tensor.name} has the shape {list(shape)}: only the first axis, the batch, can be open. Tell "
                                                    f"the others: shapes={{{name!r}: {[each if each is not None else '...' for each in shape]}}}")
    return shape


# --- files ---------------------------------------------------------------------------------------------------------------------------------


@contextmanager
def opened(path: str, inputs: Sequence[str] = (), outputs: Sequence[str] = (), tags: Sequence[str] = (tag_constants.SERVING,),
           signatures: Sequence[str] = ()) -> Iterator[tuple[Session, dict[str, tuple[dict[str, Any], dict[str, Any]]]]]:
    """A SavedModel's folder, or a file with a frozen graph: a session with it, and by name the fetches and feeds of its entry points."""
    with Graph().as_default() as graph, Session(graph=graph) as session:
        if os.path.isdir(path):
            meta_graph = loader.load(session, list(tags), path)
            yield session, _of_signatures(meta_graph, graph, signatures, path)
            return
        with gfile.GFile(path, "rb") as file:
            graph_def = parse_binary_or_text(file.read(), _graph_def_class(), path)
        import_graph_def(graph_def, name="")
        yield session, {"run": (_by_name(outputs or _ends(graph), graph), _by_name(inputs or _placeholders(graph), graph))}


def _graph_def_class() -> Any:
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    return GraphDef


def _of_signatures(meta_graph: Any, graph: Graph, chosen: Sequence[str], path: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    there = {name: signature for name, signature in meta_graph.signature_def.items() if not name.startswith("__")}
    unknown = [name for name in chosen if name not in there]
    if unknown or not there:
        raise InvalidArgumentError(None, None, f"{path} has no signature {', '.join(map(repr, unknown))}; "
                                               f"it has: {', '.join(sorted(there)) or 'none'}")
    short = {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: "run"}
    entries = {}
    for name in chosen or sorted(there):
        fetches, feeds = ({key: graph.as_graph_element(info.name) for key, info in sorted(infos.items())}
                          for infos in (there[name].outputs, there[name].inputs))
        entries[short.get(name, name)] = (fetches, feeds)
    return entries


def _placeholders(graph: Graph) -> list[str]:
    return [op.outputs[0].name for op in graph.get_operations() if op.type.startswith("Placeholder") and not op.inputs]


def _ends(graph: Graph) -> list[str]:
    """Tensors that nothing takes, and that are there in every run: not those inside of branches and loops."""
    inside = set[Operation]()
    for op in graph.get_operations():
        kind = op.definition.control_flow
        if kind in ("switch", "enter", "next") or (kind not in ("merge", "exit") and any(tensor.op in inside for tensor in op.inputs)):
            inside.add(op)
    return [op.outputs[0].name for op in graph.get_operations()
            if op.outputs and op.inputs and op not in inside and not any(each.consumers() for each in op.outputs)]
