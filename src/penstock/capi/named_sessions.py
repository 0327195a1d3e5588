"""Sessions with graphs of their own, which are told of tensors by name: the form before TF_Session."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.capi.entries import entry, kind
from penstock.capi.handles import GraphState
from penstock.capi.imports import unchanged_if_it_fails
from penstock.capi.memory import check_empty, fill, from_buffer, items, parsed, read_bytes, texts
from penstock.capi.sessions import SessionOptions, SessionState, hand_out, keep_handle, values_of_feeds
from penstock.errors import InvalidArgumentError, NotFoundError
from penstock.graph.graph_def import extend_graph
from penstock.graph.node import Operation, Tensor
from penstock.session.session import Session


@kind("TF_DeprecatedSession*")
class NamedSession(SessionState):
    """TF_DeprecatedSession."""

    def __init__(self, options: SessionOptions | None) -> None:
        super().__init__(GraphState(), options)
        self.graph.release()  # nothing else uses it

    def tensors(self, names: list[str]) -> list[Tensor]:
        """By their names; that of an operation means its first output."""
        tensors = []
        for name in names:
            try:
                tensors.append(self.graph.graph.get_tensor_by_name(name if ":" in name else f"{name}:0"))
            except (KeyError, ValueError):
                raise InvalidArgumentError(None, None, f"Tensor {name}, specified in either feed_devices or fetch_devices was not found in the "
                                                       "Graph") from None
        return tensors

    def operations(self, names: list[str]) -> list[Operation]:
        """By their names."""
        try:
            return [self.graph.graph.get_operation_by_name(name) for name in names]
        except (KeyError, ValueError) as error:
            raise NotFoundError(None, None, f"TargetNode: {error.args[0]}") from None


@entry
def TF_NewDeprecatedSession(options: SessionOptions | None) -> NamedSession:
    """With an empty graph."""
    return NamedSession(options)


@entry
def TF_CloseDeprecatedSession(session: NamedSession) -> None:
    """It runs nothing any more."""
    session.close()


@entry
def TF_DeleteDeprecatedSession(session: NamedSession | None) -> None:
    """Ends it, and its graph."""
    if session is not None:
        session.close()
        session.graph.release()


@entry
def TF_Reset(opt: SessionOptions | None, containers: Any, ncontainers: int) -> None:
    """Clears containers of a target; all of them if none is named."""
    opt = opt or SessionOptions()
    Session.reset(opt.target, texts(containers, ncontainers, "containers"), opt.config)


@entry
def TF_ExtendGraph(session: NamedSession, proto: int | None, proto_len: int) -> None:
    """Adds nodes to its graph."""
    graph_def = parsed(GraphDef, read_bytes(proto, proto_len), "TF_ExtendGraph")
    with session.graph.lock, unchanged_if_it_fails(session.graph.graph):
        extend_graph(session.graph.graph, graph_def)


@entry
def TF_Run(session: NamedSession, run_options: Any, input_names: Any, inputs: Any, ninputs: int, output_names: Any, outputs: Any, noutputs: int,
           target_oper_names: Any, ntargets: int, run_metadata: Any) -> None:
    """A step."""
    check_empty(run_metadata, "run_metadata")
    feeds = values_of_feeds(session.tensors(texts(input_names, ninputs, "input_names")), items(inputs, ninputs, "inputs"))
    fetches = session.tensors(texts(output_names, noutputs, "output_names"))
    targets = session.operations(texts(target_oper_names, ntargets, "target_oper_names"))
    metadata = RunMetadata() if run_metadata else None
    values = session.run(feeds, fetches, targets, from_buffer(RunOptions, run_options) if run_options else None, metadata)
    hand_out(fetches, values, outputs)
    if metadata is not None:
        fill(run_metadata, metadata.SerializeToString())


@entry
def TF_PRunSetup(session: NamedSession, input_names: Any, ninputs: int, output_names: Any, noutputs: int, target_oper_names: Any, ntargets: int,
                 handle: Any) -> None:
    """Prepares a step that is run in parts."""
    handle[0] = None
    fetches = session.tensors(texts(output_names, noutputs, "output_names"))
    targets = session.operations(texts(target_oper_names, ntargets, "target_oper_names"))
    session.check(fetches, targets)
    keep_handle(session.session.partial_run_setup([*fetches, *targets], session.tensors(texts(input_names, ninputs, "input_names"))), handle)


@entry
def TF_PRun(session: NamedSession, handle: str | None, input_names: Any, inputs: Any, ninputs: int, output_names: Any, outputs: Any, noutputs: int,
            target_oper_names: Any, ntargets: int) -> None:
    """Goes on with one."""
    feeds = values_of_feeds(session.tensors(texts(input_names, ninputs, "input_names")), items(inputs, ninputs, "inputs"))
    fetches = session.tensors(texts(output_names, noutputs, "output_names"))
    targets = session.operations(texts(target_oper_names, ntargets, "target_oper_names"))
    session.check(fetches, targets)
    hand_out(fetches, session.session.partial_run(handle or "", [*fetches, *targets], feeds), outputs)
