"""What a page says of a cluster that does not train: which task is away, and who waits for it. The rules are those of docs/failures.md."""
from __future__ import annotations

from collections.abc import Sequence

from penstock.distributed.launch_plan import Task
from penstock.errors import AbortedError, DeadlineExceededError, FailedPreconditionError, OpError, UnavailableError
from penstock.playground.cluster_program import ClusterSettings

STARTING = "The tasks are starting."
RESTORING = "All tasks are there again; the chief restores the last checkpoint."
_OF_LOST_TASKS = (AbortedError, DeadlineExceededError, FailedPreconditionError, UnavailableError)  # what a look ends with until all is as it was


def note(wanted: ClusterSettings, away: Sequence[Task], error: OpError | None) -> str:
    """A sentence on the tasks that do not serve now, else on the error of the last look at the variables; empty if all is well.

    >>> note(ClusterSettings(1, 2, "asynchronous"), [Task("worker", 1)], None)
    'worker 1 is away: the others go on.'
    """
    if not away:
        return "" if error is None else RESTORING if isinstance(error, _OF_LOST_TASKS) else error.message.partition("\n")[0][:300]
    names = " and ".join(map(str, away)) + (" are" if len(away) > 1 else " is")
    if any(task.serves for task in away):
        return f"{names} away: all workers wait, then the chief restores the last checkpoint."
    chief = any(task.index == 0 for task in away)
    if len(away) == wanted.workers:
        return f"{names} away: nothing trains until {'they are' if len(away) > 1 else 'it is'} back."
    if wanted.mode == "asynchronous":
        return f"{names} away: the others go on{', and no checkpoint is written' if chief else ''}."
    if wanted.mode == "backup" and len(away) == 1 and not chief:
        return f"{names} away: the backup worker stands in."
    return f"{names} away: the others wait{', for the chief applies the gradients' if chief else ''}."
