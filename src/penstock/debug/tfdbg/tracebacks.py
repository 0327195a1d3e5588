"""The lines of Python that made a graph, and their files, sent to debug servers: the page of TensorBoard 1's debugger shows them beside values.

A ``CallTraceback`` has the stack that made each operation, and the stack of the run. The files of these stacks follow, each in a message of its own,
without Penstock's. A server that does not know these messages goes without.
"""
from __future__ import annotations

import json
import os
import socket
import traceback
from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto import tfprof_log_pb2

from penstock import errors
from penstock.debug.profile.log import made_op_log
from penstock.graph.graph import Graph
from penstock.graph.source import INSIDE
from penstock.platform.proto import messages

CallTraceback, DebuggedSourceFiles = messages("debug_tracebacks.proto", """
    message CallTraceback {
        enum CallType { UNSPECIFIED = 0; GRAPH_EXECUTION = 1; EAGER_EXECUTION = 2; }
        CallType call_type = 1;
        string call_key = 2;
        CodeDef origin_stack = 3;
        map<int64, string> origin_id_to_string = 4;
        OpLogProto graph_traceback = 5;
        int64 graph_version = 6;
    }
    message DebuggedSourceFile { string host = 1; string file_path = 2; int64 last_modified = 3; int64 bytes = 4; repeated string lines = 5; }
    message DebuggedSourceFiles { repeated DebuggedSourceFile source_files = 1; }
    """, "CallTraceback", "DebuggedSourceFiles", package="penstock.debug_tracebacks", borrowed=(tfprof_log_pb2,))
_SERVICE = "/tensorflow.EventListener/"
_PATIENCE = 60.0  # seconds


def run_key(fetches: Iterable[str], feeds: Iterable[str]) -> str:
    """A run by the names of what it feeds and fetches.

    >>> run_key(["y:0"], ["x:0"])
    '[["x:0"], ["y:0"]]'
    """
    return json.dumps([list(feeds), list(fetches)])


class TracebackSender:
    """Shows servers the lines of a graph, once for each version of it."""

    def __init__(self, urls: Iterable[str], graph: Graph) -> None:
        self._addresses, self._graph = [url.removeprefix("grpc://").partition("/")[0] for url in urls], graph
        self._sent_version = -1

    def send(self, key: str) -> None:
        """Called before a run, with its key."""
        if self._graph.version <= self._sent_version:
            return
        import grpc  # programs that are debugged without a server do not load it
        call = _call_traceback(self._graph, key)
        files = _source_files(call)
        for address in self._addresses:
            with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0), ("grpc.max_send_message_length", -1)]) as channel:
                try:
                    _send(channel, "SendTracebacks", [call])
                    _send(channel, "SendSourceFiles", files)
                except grpc.RpcError as error:
                    if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                        raise errors.UnavailableError(None, None, f"the debug server at grpc://{address} did not take the lines of the program: "
                                                      f"{error.details()}") from None
        self._sent_version = self._graph.version


def _call_traceback(graph: Graph, key: str) -> Any:
    call = CallTraceback(call_type=1, call_key=key, graph_version=graph.version, graph_traceback=made_op_log(graph))
    numbers: dict[str, int] = {}
    for frame in traceback.extract_stack():
        if not INSIDE[frame.filename]:
            file, function, line = (numbers.setdefault(text, len(numbers) + 1) for text in (frame.filename, frame.name, frame.line or ""))
            call.origin_stack.traces.add(file_id=file, lineno=frame.lineno, function_id=function, line_id=line)
    for text, number in numbers.items():
        call.origin_id_to_string[number] = text
    return call


def _source_files(call: Any) -> list[Any]:
    """The files of a call that can be read, without our own."""
    strings = call.graph_traceback.id_to_string
    paths = {call.origin_id_to_string[trace.file_id] for trace in call.origin_stack.traces}
    paths |= {strings[trace.file_id] for entry in call.graph_traceback.log_entries for trace in entry.code_def.traces}
    files = []
    for path in sorted(paths):
        if not INSIDE[path] and os.path.isfile(path):
            message, info = DebuggedSourceFiles(), os.stat(path)
            with open(path, encoding="utf-8", errors="replace") as file:
                message.source_files.add(host=socket.gethostname(), file_path=path, last_modified=int(info.st_mtime * 1e6), bytes=info.st_size,
                                         lines=file.read().splitlines())
            files.append(message)
    return files


def _send(channel: Any, method: str, requests: list[Any]) -> None:
    call = channel.unary_unary(_SERVICE + method, request_serializer=lambda each: each.SerializeToString(), response_deserializer=bytes)
    for request in requests:
        call(request, timeout=_PATIENCE)
