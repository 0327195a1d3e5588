"""Saving beside training: a snapshot of the variables is taken at once, and written by a thread.

    save/snapshot         each device puts the values of its variables aside, together: a reference each, for a value that was read never changes
    save/snapshot_saved   writes what was put aside; running it is the slow part

Both are made of TensorFlow's own operations (Stage, Unstage, SaveV2), so a graph with them loads everywhere, and both run where the variables are, on
a cluster too. While a snapshot is being written, the first update of each variable goes into a copy: at worst the variables take twice their memory.
"""
from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

from penstock.graph.node import Operation
from penstock.graph.scopes import control_dependencies, device
from penstock.ops.flow.misc import group
from penstock.ops.queues.staging import Stage, StageClear, Unstage
from penstock.platform import logging
from penstock.train.saveable import SaveableObject, SaveSpec

SNAPSHOT, SAVED = "snapshot", "snapshot_saved"


def add_snapshot_ops(saveables: list[SaveableObject], place: Callable[[str], str]) -> tuple[Operation, list[SaveableObject]]:
    """The operation that takes a snapshot, and the ``saveables`` with the values in it; ``place`` says which CPU a device belongs to."""
    specs = [spec for saveable in saveables for spec in saveable.specs]
    per_device: dict[str, list[SaveSpec]] = {}
    for spec in specs:
        per_device.setdefault(place(str(spec.device)), []).append(spec)
    taken: list[Operation] = []
    values: dict[int, Any] = {}
    for where, here in per_device.items():
        with device(where or None):
            take, staged = _stage(here)
        taken.append(take)
        values.update(zip(map(id, here), staged))
    copies = [SaveableObject(saveable.op, [SaveSpec(values[id(spec)], spec.slice_spec, spec.name) for spec in saveable.specs], saveable.name)
              for saveable in saveables]
    return group(*taken, name=SNAPSHOT), copies


def _stage(specs: list[SaveSpec]) -> tuple[Operation, list[Any]]:
    """Puts tensors aside on the current device. What a failed save has left there is forgotten first."""
    types = [spec.dtype.base_dtype for spec in specs]
    area = f"snapshot_{uuid.uuid4().hex}"
    with control_dependencies([StageClear(dtypes=types, shared_name=area)]):
        take = Stage([spec.tensor for spec in specs], shared_name=area)
    return take, Unstage(dtypes=types, shared_name=area)


class BackgroundSave:
    """One piece of work at a time in a thread; its error is raised by the next ``wait``. The interpreter does not end before the thread."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Runs ``work`` in a thread. Call ``wait`` before."""
        self._thread = threading.Thread(target=self._run, args=(work,), name="asynchronous save")
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            logging.error("Saving in the background failed: %s", error)  # now: the program may never come back for it
            self._error = error

    def wait(self) -> None:
        """Returns when nothing is under way; raises what went wrong since the last time."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
