"""Runs one step on several tasks: carries out what ``step_state.py`` decides."""
from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata

from penstock.distributed import clocks, step_state
from penstock.distributed.messages import Message, error_fields
from penstock.distributed.peers import Conversation, Peers, deliver_tensor, ignore, tensor_message
from penstock.distributed.probing import TELL, Relay
from penstock.distributed.worker import RunOrder, Worker
from penstock.errors import CancelledError, DeadlineExceededError, InternalError, OpError
from penstock.execute.threads import POOL

PATIENCE = 2.0  # seconds that aborted tasks get to answer; with the pings of a silent link (grpc_common.py) less than the 10 that are promised
_LATE = 1.0  # seconds after its deadline until the master ends a step itself


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A part that its task knows by ``handle``: which of the step's feeds it takes, and which of the step's fetches it gives."""

    task: str
    handle: str
    feeds: list[int]
    results: list[int]


class StepRun:
    """One step; ``run`` returns when it is over, ``cancel`` ends it from elsewhere."""

    def __init__(self, parts: list[PlannedPart], worker: Worker, peers: Peers, order: RunOrder, relay: Relay | None = None) -> None:
        self._parts, self._worker, self._peers, self._order, self._relay = parts, worker, peers, order, relay
        self._state = step_state.StepState(part.task for part in parts)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._failed = threading.Event()
        self._conversations: list[Conversation] = []
        self._values: dict[int, Any] = {}
        self._metadata: list[RunMetadata] = []
        self._began = time.monotonic()

    def awaited(self) -> list[tuple[str, float]]:
        """The tasks whose parts still run, and for how many seconds the step has."""
        seconds = time.monotonic() - self._began
        return [(task, seconds) for task in list(self._state.running)]

    def run(self, feeds: list[Any]) -> tuple[list[Any], RunMetadata | None]:
        """The fetches, and what the tasks tell of the step; raises the error that ended it."""
        try:
            self._run_parts(feeds)
        except BaseException as error:  # Ctrl-C: nothing may go on behind the caller's back
            self.cancel(CancelledError(None, None, f"the step was interrupted: {error!r}"))
            raise
        for conversation in self._conversations:
            conversation.cancel()
        self._conversations.clear()  # they know this step: its tensors would have to wait for the garbage collector
        values, self._values = self._values, {}
        if self._state.error is not None:
            raise self._state.error
        return [values[index] for index in range(len(values))], self._merged_metadata()

    def cancel(self, error: OpError) -> None:
        """Ends the step with this error."""
        self._event(step_state.Cancel(error))

    def _run_parts(self, feeds: list[Any]) -> None:
        own = next((part for part in self._parts if part.task == self._worker.task), None)
        quick = own is None or self._worker.is_quick(own.handle, self._order)
        with self._peers.together() if quick else contextlib.nullcontext():
            for part in self._parts:
                if part is not own:
                    self._start(part, [feeds[index] for index in part.feeds], own is not None)
            if own is not None:
                self._begin_own(own, [feeds[index] for index in own.feeds], quick)
        self._wait()

    # --- parts -------------------------------------------------------------------------------------------------------

    def _begin_own(self, part: PlannedPart, feeds: list[Any], quick: bool) -> None:
        """Runs this task's part. Beside others it has a thread, unless it is quick: this one learns of a lost task while that one compiles."""
        if quick or len(self._parts) == 1:
            self._run_own(part, feeds, quick)
        else:
            POOL.submit(lambda: self._run_own(part, feeds, quick))

    def _run_own(self, part: PlannedPart, feeds: list[Any], quick: bool) -> None:
        metadata: RunMetadata | None = None

        def ended(values: list[Any], error: OpError | None) -> None:
            if error is None:
                self._part_done(part, values, metadata)
            else:
                self._event(step_state.Failed(part.task, error))

        try:
            if quick:
                self._worker.start(part.handle, feeds, self._order, ended)
            else:
                values, metadata = self._worker.run(part.handle, feeds, self._order)
                ended(values, None)
        except OpError as error:
            ended([], error)

    def _start(self, part: PlannedPart, feeds: list[Any], with_own: bool) -> None:
        """Has another task run its part. Tensors between it and this task's own part, if there is one, travel in the same conversation."""
        order = self._order
        message = Message("RunGraph", {"handle": part.handle, "step": order.step, "timeout_ms": order.timeout_ms, "trace": order.trace,
                                       "recorded": order.recorded, "partition_graphs": order.partition_graphs,
                                       "master": self._worker.task if with_own else ""}, [], feeds)
        if self._relay is not None:
            message.fields["probe"] = self._relay.waits
        sink = _Sink()
        try:
            deliver = self._worker.connect(order.step, part.task, sink.put) if with_own else _not_expected
        except OpError as error:  # it was aborted meanwhile
            self._event(step_state.Failed(part.task, error))
            return

        sent = _now()

        def answered(reply: Message | None, error: OpError | None) -> None:
            if reply is None or len(reply.tensors) != len(part.results):
                self._event(step_state.Failed(part.task, error or InternalError(None, None, f"{part.task} gave a wrong number of results")))
            else:
                self._part_done(part, reply.tensors, _metadata_of(reply, sent))

        def came(more: Message) -> None:
            if self._relay is not None and more.method == TELL:
                self._relay.report_nodes(part.task, more)
            else:
                deliver_tensor(more, deliver)

        conversation = self._peers.start(part.task, message, answered, came)
        self._conversations.append(conversation)
        sink.conversation = conversation
        if self._relay is not None:
            self._relay.join(part.task, conversation.send)

    def _part_done(self, part: PlannedPart, values: list[Any], metadata: RunMetadata | None) -> None:
        with self._lock:
            self._values.update(zip(part.results, values))
            if metadata is not None:
                self._metadata.append(metadata)
        self._event(step_state.Done(part.task))

    # --- the state machine -------------------------------------------------------------------------------------------

    def _event(self, event: step_state.Event) -> None:
        with self._lock:
            instructions = self._state.handle(event)
        if self._state.error is not None:
            self._failed.set()
        for instruction in instructions:
            if isinstance(instruction, step_state.Finish):
                self._failed.set()
                self._over.set()
            elif instruction.task == self._worker.task:
                self._worker.abort(self._order.step, instruction.error)
            else:
                message = Message("AbortStep", {"step": self._order.step, "error": error_fields(instruction.error)})
                self._peers.start(instruction.task, message, ignore)

    def _wait(self) -> None:
        """Until the step is over. A task that is lost is noticed by the transport; a part that waits ends by its deadline or by an abort."""
        limit = self._order.timeout_ms / 1000 + _LATE if self._order.timeout_ms else None
        if not self._failed.wait(limit):  # tasks keep the time themselves, unless they are too busy to
            self.cancel(DeadlineExceededError(None, None, (
                f"the step did not end within {self._order.timeout_ms} ms; {list(self._state.running)} still run")))
        if not self._over.wait(PATIENCE):
            self._event(step_state.PatienceOver())

    def _merged_metadata(self) -> RunMetadata | None:
        if not self._metadata:
            return None
        merged = RunMetadata()
        for metadata in self._metadata:
            merged.MergeFrom(metadata)
        return merged


class _Sink:
    """Where this task's tensors for another one go: nothing is sent before its part has been started."""

    conversation: Conversation

    def put(self, key: str, value: Any) -> None:
        """Sends a tensor."""
        self.conversation.send(tensor_message(key, value))


def _not_expected(key: str, value: Any, error: BaseException | None) -> None:
    """Takes tensors for a part that is not there: there are none."""


def _now() -> int:
    return time.time_ns() // 1000


def _metadata_of(reply: Message, sent: int) -> RunMetadata | None:
    """What a task tells of its part, by the clock of this one."""
    if not reply.blobs:
        return None
    metadata = RunMetadata.FromString(bytes(reply.blobs[0]))
    clocks.align(metadata.step_stats, sent, _now())
    return metadata
