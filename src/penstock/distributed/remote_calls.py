"""Functions that a node of one task has run on another one: what RemoteCall does beyond its own task.

The function travels to the other task once per session, as a part of a graph like those of masters: its arguments, and a RemoteCall that is at home
there. A call is then one message and its answer, in a step of its own, which ends when the step of the caller does.
"""
from __future__ import annotations

import queue
import secrets
from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.distributed.cluster_spec import task_of
from penstock.distributed.messages import Message
from penstock.distributed.parts import Part, split
from penstock.distributed.peers import Peers, ignore
from penstock.errors import AbortedError, InternalError, OpError, UnavailableError, invalid_argument
from penstock.execute.step import Step, out_of_time
from penstock.graph import raw_ops
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.program import ir
from penstock.program.devices import host_device

_PATIENCE = 60.0  # seconds for registering a function


class RemoteCalls:
    """The calls of one session on one worker."""

    def __init__(self, session: str, config: ConfigProto, peers: Peers) -> None:
        self._session, self._config, self._peers = session, config, peers
        self._handles: dict[tuple[FuncGraph, str], str] = {}  # by function and device
        self._tasks: set[str] = set()  # that may know functions of this session

    def call(self, function: FuncGraph, device: str, arguments: list[Any], step: Step) -> list[Any]:
        """Runs a function on a device of another task; returns its outputs."""
        task = task_of(device)
        known = self._peers.addresses_by_task()
        if task == self._peers.own:
            raise invalid_argument(f"{device} unknown device.")
        if task not in known:
            raise invalid_argument(f"Could not find worker with target: {device} Available workers: {', '.join(sorted(known))}")
        key = (function, device)
        handle = self._handles.get(key)
        if handle is None:
            handle = self._handles[key] = self._register(function, device)
        try:
            return self._run(task, handle, arguments, step)
        except (AbortedError, UnavailableError):  # the task was lost: when it comes back, it knows no functions
            self._handles.pop(key, None)
            raise

    def end(self) -> None:
        """The session is over: other tasks forget its functions."""
        for task in self._tasks:
            self._peers.start(task, Message("EndSession", {"session": self._session}), ignore)

    def _register(self, function: FuncGraph, device: str) -> str:
        part = _part_of(function, device)
        self._tasks.add(part.task)
        message = Message("RegisterGraph", {"session": self._session, "fetches": part.fetches, "frames": part.frames,
                                            "addresses": self._peers.addresses_by_task()},
                          [part.graph_def().SerializeToString(), self._config.SerializeToString()])
        return self._peers.call(part.task, message, _PATIENCE).fields["handle"]

    def _run(self, task: str, handle: str, arguments: Sequence[Any], step: Step) -> list[Any]:
        left = step.remaining()
        message = Message("RunGraph", {"handle": handle, "step": secrets.randbits(53), "timeout_ms": 0, "trace": False, "recorded": False,
                                       "partition_graphs": False, "master": ""}, [], list(arguments))
        ended: queue.SimpleQueue[tuple[Message | None, OpError | None]] = queue.SimpleQueue()
        conversation = self._peers.start(task, message, lambda reply, error: ended.put((reply, error)))
        forget = step.on_cancel(conversation.cancel)
        try:
            reply, error = ended.get(timeout=left)
        except queue.Empty:
            raise out_of_time(step.timeout_ms, [f"a function on {task}"]) from None
        finally:
            forget()
            conversation.cancel()
        if step.cancelled is not None:
            raise step.cancelled
        if reply is None:
            raise error or InternalError(None, None, f"{task} did not answer")
        return reply.tensors


def _part_of(function: FuncGraph, device: str) -> Part:
    """What the task of a device has to know to run a function there."""
    graph = Graph()
    with graph.as_default(), graph.device(device):
        args = [raw_ops.Placeholder(dtype=tensor.dtype.base_dtype) for tensor in function.inputs]
        outputs = raw_ops.RemoteCall(target=device, args=args, f=function, Tout=[tensor.dtype.base_dtype for tensor in function.outputs])
        program = ir.prune(list(outputs), (), args)
    for node in program.nodes:
        node.device = host_device(task_of(device))  # what is wrong with the device itself is told by its task
    [part] = split(program)
    return part
