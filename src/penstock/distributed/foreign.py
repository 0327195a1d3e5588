"""TensorFlow's MasterService: real TensorFlow clients, in any language, run their graphs on a Penstock cluster.

    session = tf.compat.v1.Session("grpc://localhost:2222")       # in real TensorFlow

Such a client has no secret to show. It is served where it can be told to be a friend all the same: as a process of the
server's own user, or by its certificate; and by a port of its own that PENSTOCK_FOREIGN_PORT opens (``foreign_doors.py``). Its
graph may not run Python code, nor read or write files of the server, unless that is allowed (``permissions.py``).

No sockets here: requests and replies are protocol buffers; ``grpc_foreign.py`` carries them.
"""
from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.distributed.foreign_tensors import Tensors, tensor_pieces
from penstock.distributed.master import Master
from penstock.distributed.master_proto import REQUESTS, RESPONSES
from penstock.distributed.master_session import MasterSession
from penstock.distributed.messages import error_fields
from penstock.execute.frames import DEAD
from penstock.graph.tensor_proto import array_to_proto, proto_to_array

_NO_TRACE = 0  # of RunOptions
_STRINGS = "OSU"  # kinds of arrays: objects, bytes of fixed lengths, text


class ForeignMaster:
    """Answers the requests of TensorFlow's clients."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._callables: dict[tuple[str, int], Any] = {}  # (session, handle) -> CallableOptions
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._methods: dict[str, Callable[[Any, Any, Any], Tensors | None]] = {
            "CreateSession": self._create_session, "ExtendSession": self._extend_session, "PartialRunSetup": self._partial_run_setup,
            "RunStep": self._run_step, "CloseSession": self._close_session, "ListDevices": self._list_devices, "Reset": self._reset,
            "MakeCallable": self._make_callable, "RunCallable": self._run_callable, "ReleaseCallable": self._release_callable}

    def answers(self, method: str) -> bool:
        """True if there is such a method."""
        return method in self._methods

    def handle(self, method: str, request: bytes, caller: Any) -> bytes:
        """The reply to a request; raises an OpError if it fails, which the client sees as such."""
        asked, response = REQUESTS[method].FromString(request), RESPONSES[method]()
        tensors = self._methods[method](asked, response, caller)
        return b"".join([response.SerializeToString(), *(tensors or [])])

    def _session(self, request: Any) -> MasterSession:
        return self._master.session(request.session_handle)

    # --- sessions ----------------------------------------------------------------------------------------------------

    def _create_session(self, request: Any, response: Any, caller: Any) -> None:
        handle = self._master.create_session(request.config, foreign=True)
        try:
            self._master.session(handle).extend(request.graph_def)
        except errors.OpError:
            self._master.close_session(handle)
            raise
        response.session_handle, response.graph_version = handle, 1

    def _extend_session(self, request: Any, response: Any, caller: Any) -> None:
        self._session(request).extend(request.graph_def)
        response.new_graph_version = request.current_graph_version + 1

    def _close_session(self, request: Any, response: Any, caller: Any) -> None:
        self._master.close_session(request.session_handle)
        with self._lock:
            self._callables = {key: options for key, options in self._callables.items() if key[0] != request.session_handle}

    def _list_devices(self, request: Any, response: Any, caller: Any) -> None:
        for device in self._session(request).list_devices():
            local = device.name.startswith(self._master.task + "/")
            (response.local_device if local else response.remote_device).add(
                name=device.name, device_type=device.device_type, memory_limit=device.memory_limit_bytes, incarnation=device.incarnation)

    def _reset(self, request: Any, response: Any, caller: Any) -> None:
        self._master.reset(list(request.container))

    # --- steps -------------------------------------------------------------------------------------------------------

    def _run_step(self, request: Any, response: Any, caller: Any) -> Tensors:
        try:
            return self._run_checked(request, response, caller)
        except errors.OpError as error:
            if not request.store_errors_in_response_body:
                raise
            response.Clear()
            response.status_code, response.status_error_message = error.error_code, message_for_clients(error)
            return []

    def _run_checked(self, request: Any, response: Any, caller: Any) -> Tensors:
        session = self._session(request)
        feeds = [(item.name, _array(item.tensor)) for item in request.feed]
        if request.partial_run_handle:
            values = session.partial_run(request.partial_run_handle, dict(feeds), list(request.fetch), list(request.target), caller)
        else:
            options = request.options
            values, metadata = session.run(([name for name, _ in feeds], list(request.fetch), list(request.target)), [value for _, value in feeds],
                                           options.timeout_in_ms, options.trace_level > _NO_TRACE, options.output_partition_graphs, caller)
            if metadata is not None:
                response.metadata.CopyFrom(metadata)
        return [piece for name, value in zip(request.fetch, values) for piece in _fetched(name, value)]

    def _partial_run_setup(self, request: Any, response: Any, caller: Any) -> None:
        response.partial_run_handle = self._session(request).partial_run_setup(list(request.feed), list(request.fetch), list(request.target))

    # --- callables ---------------------------------------------------------------------------------------------------

    def _make_callable(self, request: Any, response: Any, caller: Any) -> None:
        if request.options.tensor_connection:
            raise errors.UnimplementedError(None, None, "a callable with tensor connections is not supported")
        self._session(request)
        response.handle = next(self._numbers)
        self._callables[request.session_handle, response.handle] = request.options

    def _run_callable(self, request: Any, response: Any, caller: Any) -> None:
        options = self._callables.get((request.session_handle, request.handle))
        if options is None:
            raise errors.NotFoundError(None, None, f"there is no callable {request.handle} in session {request.session_handle}")
        if len(options.feed) != len(request.feed):
            raise errors.InvalidArgumentError(None, None, f"the callable takes {len(options.feed)} feeds, not {len(request.feed)}")
        run = options.run_options
        values, metadata = self._session(request).run((list(options.feed), list(options.fetch), list(options.target)), [*map(_array, request.feed)],
                                                      run.timeout_in_ms, run.trace_level > _NO_TRACE, run.output_partition_graphs, caller)
        response.fetch.extend(_proto(name, value) for name, value in zip(options.fetch, values))
        if metadata is not None:
            response.metadata.CopyFrom(metadata)

    def _release_callable(self, request: Any, response: Any, caller: Any) -> None:
        self._callables.pop((request.session_handle, request.handle), None)


def message_for_clients(error: errors.OpError) -> str:
    """The message of an error for TensorFlow's clients. They find their own line by the name of the node; those of the server tell them nothing."""
    lines = [line for line in error.message.split("\n") if not line.startswith("  made at: ")]
    name = error_fields(error)["op"]
    return "\n".join([*lines, f"\t [[{{{{node {name}}}}}]]"] if name else lines)


def _fetched(name: str, value: Any) -> Tensors:
    """A fetched tensor as a part of a RunStepResponse."""
    if isinstance(value, np.ndarray) and value.dtype.kind not in _STRINGS:
        return tensor_pieces(name, value)
    response = RESPONSES["RunStep"]()
    response.tensor.add(name=name, tensor=_proto(name, value))
    return [response.SerializeToString()]


def _array(proto: Any) -> Any:
    try:
        return proto_to_array(proto)
    except (ValueError, TypeError) as error:
        raise errors.InvalidArgumentError(None, None, f"a fed tensor is malformed: {error}") from None


def _proto(name: str, value: Any) -> Any:
    if value is DEAD:
        raise errors.InvalidArgumentError(None, None, f"{name} has no value: it lies behind a branch that was not taken")
    if isinstance(value, bytes):  # a string that comes out of a queue
        value = np.array(value, object)
    if not isinstance(value, (np.ndarray, np.generic)):
        raise errors.UnimplementedError(None, None, f"{name} is a {type(value).__name__}: only tensors can be fetched by a client")
    return array_to_proto(np.asarray(value))
