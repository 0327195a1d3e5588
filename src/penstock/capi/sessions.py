"""Sessions: runs, runs in parts, and SavedModels."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions

from penstock.capi.entries import Services, entry, kind
from penstock.capi.handles import GraphState
from penstock.capi.memory import check_empty, fill, from_buffer, items, operations, parsed, read_bytes, tensors, texts
from penstock.capi.tensors import array_of, tensor_of
from penstock.errors import CancelledError, InvalidArgumentError
from penstock.graph.node import Operation, Tensor
from penstock.saved_model.loader import SavedModelLoader
from penstock.session.session import Session


@kind("TF_SessionOptions*")
class SessionOptions:
    """TF_SessionOptions."""

    def __init__(self) -> None:
        self.target, self.config = "", ConfigProto()


@entry
def TF_NewSessionOptions() -> SessionOptions:
    """Without a target and a configuration."""
    return SessionOptions()


@entry
def TF_SetTarget(options: SessionOptions, target: str | None) -> None:
    """Where the session runs: ``grpc://host:port``; empty: in this process."""
    options.target = target or ""


@entry
def TF_SetConfig(options: SessionOptions, proto: int | None, proto_len: int) -> None:
    """A ConfigProto."""
    options.config = parsed(ConfigProto, read_bytes(proto, proto_len), "TF_SetConfig")


@entry
def TF_DeleteSessionOptions(options: SessionOptions | None) -> None:
    """Sessions that were made with it go on."""


@kind("TF_Session*")
class SessionState:
    """TF_Session: a session, its graph, and the steps that are run in parts."""

    def __init__(self, graph: GraphState, options: SessionOptions | None) -> None:
        options = options or SessionOptions()
        self.session = Session(options.target, graph=graph.graph, config=options.config)
        self.graph, self.closed = graph, False
        graph.use()

    def close(self) -> None:
        """Steps under way are cancelled."""
        self.closed = True
        self.session.close()

    def run(self, feeds: dict[Tensor, Any], fetches: Sequence[Tensor], targets: Sequence[Operation], options: RunOptions | None,
            metadata: RunMetadata | None) -> list[Any]:
        """The values of the fetches."""
        self.check(fetches, targets)
        values: list[Any] = self.session.run([*fetches, *targets], feeds, options, metadata)
        return values[:len(fetches)]

    def check(self, fetches: Sequence[Tensor], targets: Sequence[Operation]) -> None:
        """What TensorFlow's sessions refuse."""
        if self.closed:
            raise CancelledError(None, None, "Session has been closed.")
        if not fetches and not targets:
            raise InvalidArgumentError(None, None, "Must specify at least one target to fetch or execute.")


def values_of_feeds(keys: Sequence[Tensor], addresses: Sequence[int | None]) -> dict[Tensor, Any]:
    """The values of feeds, of the types that their tensors have."""
    feeds: dict[Tensor, Any] = {}
    for key, address in zip(keys, addresses):
        value, dtype = array_of(address)
        if dtype is not key.dtype.base_dtype:
            raise InvalidArgumentError(None, None, f"Tensor '{key.name}' has type {key.dtype.base_dtype.name} and was fed a value of type "
                                                   f"{dtype.name}")
        if key in feeds:
            raise InvalidArgumentError(None, None, f"Tensor '{key.name}' was fed twice")
        feeds[key] = value
    return feeds


def hand_out(fetches: Sequence[Tensor], values: Sequence[Any], places: Any) -> None:
    """Writes the results: all of them, or none."""
    made: list[int] = []
    try:
        for tensor, value in zip(fetches, values):
            made.append(tensor_of(value, tensor.dtype))
    except BaseException:
        for address in made:
            Services.library.TF_DeleteTensor(ctypes.c_void_p(address))
        raise
    for index, address in enumerate(made):
        places[index] = address


@entry
def TF_NewSession(graph: GraphState, opts: SessionOptions | None) -> SessionState:
    """A session on a graph, which may grow."""
    return SessionState(graph, opts)


@entry
def TF_CloseSession(session: SessionState) -> None:
    """It runs nothing any more."""
    session.close()


@entry
def TF_DeleteSession(session: SessionState | None) -> None:
    """Ends it, and its use of the graph."""
    if session is not None:
        session.close()
        session.graph.release()


@entry
def TF_SessionRun(session: SessionState, run_options: Any, inputs: Any, input_values: Any, ninputs: int, outputs: Any, output_values: Any,
                  noutputs: int, target_opers: Any, ntargets: int, run_metadata: Any) -> None:
    """A step."""
    check_empty(run_metadata, "run_metadata")
    feeds = values_of_feeds(tensors(inputs, ninputs, "inputs"), items(input_values, ninputs, "input_values"))
    fetches = tensors(outputs, noutputs, "outputs")
    targets = operations(target_opers, ntargets, "target_opers")
    metadata = RunMetadata() if run_metadata else None
    values = session.run(feeds, fetches, targets, from_buffer(RunOptions, run_options) if run_options else None, metadata)
    hand_out(fetches, values, output_values)
    if metadata is not None:
        fill(run_metadata, metadata.SerializeToString())


# --- in parts --------------------------------------------------------------------------------------------------------

_partial: dict[bytes, Any] = {}  # handles that C has, and their memory


def keep_handle(handle: str, place: Any) -> None:
    """Gives C the handle of a step that is run in parts; it keeps it until ``TF_DeletePRunHandle``."""
    memory = ctypes.create_string_buffer(handle.encode())
    _partial[memory.value] = memory
    place[0] = ctypes.cast(memory, ctypes.c_char_p)


@entry
def TF_SessionPRunSetup(session: SessionState, inputs: Any, ninputs: int, outputs: Any, noutputs: int, target_opers: Any, ntargets: int,
                        handle: Any) -> None:
    """Prepares a step that is run in parts."""
    handle[0] = None
    fetches, targets = tensors(outputs, noutputs, "outputs"), operations(target_opers, ntargets, "target_opers")
    session.check(fetches, targets)
    keep_handle(session.session.partial_run_setup([*fetches, *targets], tensors(inputs, ninputs, "inputs")), handle)


@entry
def TF_SessionPRun(session: SessionState, handle: str | None, inputs: Any, input_values: Any, ninputs: int, outputs: Any, output_values: Any,
                   noutputs: int, target_opers: Any, ntargets: int) -> None:
    """Goes on with one."""
    feeds = values_of_feeds(tensors(inputs, ninputs, "inputs"), items(input_values, ninputs, "input_values"))
    fetches, targets = tensors(outputs, noutputs, "outputs"), operations(target_opers, ntargets, "target_opers")
    session.check(fetches, targets)
    values = session.session.partial_run(handle or "", [*fetches, *targets], feeds)
    hand_out(fetches, values, output_values)


@entry
def TF_DeletePRunHandle(handle: str | None) -> None:
    """C does not need it any more."""
    _partial.pop((handle or "").encode(), None)


# --- SavedModels -----------------------------------------------------------------------------------------------------

@entry
def TF_LoadSessionFromSavedModel(session_options: SessionOptions | None, run_options: Any, export_dir: str | None, tags: Any, tags_len: int,
                                 graph: GraphState, meta_graph_def: Any) -> SessionState:
    """A session with the graph, the variables and the tables of a SavedModel; ``graph`` must be empty."""
    if graph.graph._ops:
        raise InvalidArgumentError(None, None, "Graph is non-empty.")
    check_empty(meta_graph_def, "meta_graph_def")
    wanted = texts(tags, tags_len, "tags")
    loader = SavedModelLoader(export_dir or "")
    state = SessionState(graph, session_options)
    try:
        with graph.lock:
            proto = loader.load(state.session, wanted)
        if meta_graph_def:
            fill(meta_graph_def, proto.SerializeToString())
    except BaseException:
        TF_DeleteSession(state)
        raise
    return state
