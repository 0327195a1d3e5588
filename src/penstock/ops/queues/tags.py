"""Values that carry a tag from one worker to another: which round of a joint computation they belong to."""
from __future__ import annotations

from penstock.errors import AbortedError, KernelError, OutOfRangeError
from penstock.graph.opdef import op
from penstock.ops.common import ANY, like

ENDED = -1  # the first number of the tag that a worker sends when it leaves


@op("_CheckTag", "value: T, tag: int64, expected: int64 -> output: T", T=ANY)
class CheckTag:
    """The value, if its tag is the expected one.

    AbortedError if not: the workers are not in the same round. OutOfRangeError if its sender has ended.
    """

    stateful = True
    shape = like("value")
    gradient = None

    def kernel(value, tag, expected):
        if tag[0] == ENDED:
            raise KernelError(OutOfRangeError, "another worker has ended")
        if (tag != expected).any():
            raise KernelError(AbortedError, f"the workers are not in the same round: expected {expected.tolist()}, got {tag.tolist()}",
                              "one of them was restarted; with the hook of AllReduceOptimizer a MonitoredSession starts a new round by itself")
        return value
