"""The master's side of a step, by lists of events."""
from __future__ import annotations

import itertools

import pytest

from penstock.distributed.step_state import Abort, Cancel, Done, Failed, Finish, PatienceOver, StepState
from penstock.errors import CancelledError, InvalidArgumentError, UnavailableError

pytestmark = pytest.mark.graph
LOST, BAD, GIVEN_UP = UnavailableError(None, None, "lost"), InvalidArgumentError(None, None, "bad"), CancelledError(None, None, "given up")


@pytest.mark.parametrize(("events", "instructions"), [
    ([Done("a"), Done("b"), Done("c")], [[], [], [Finish(None)]]),
    ([Failed("a", BAD), Failed("b", LOST), Done("c")], [[Abort("b", BAD), Abort("c", BAD)], [], [Finish(BAD)]]),
    ([Done("b"), Failed("a", LOST), Failed("c", BAD)], [[], [Abort("c", LOST)], [Finish(LOST)]]),
    ([Done("a"), Done("b"), Failed("c", LOST)], [[], [], [Finish(LOST)]]),
    ([Cancel(GIVEN_UP), Done("a"), Failed("b", GIVEN_UP), Done("c")],
     [[Abort("a", GIVEN_UP), Abort("b", GIVEN_UP), Abort("c", GIVEN_UP)], [], [], [Finish(GIVEN_UP)]]),
    ([Done("a"), Failed("b", LOST), PatienceOver(), Done("c")], [[], [Abort("c", LOST)], [Finish(LOST)], []]),
    ([Done("a"), Done("b"), Done("c"), Cancel(GIVEN_UP)], [[], [], [Finish(None)], []]),
])
def test_events(events, instructions):
    state = StepState(["a", "b", "c"])
    assert [state.handle(event) for event in events] == instructions


def test_every_order_of_outcomes_ends_once():
    outcomes = [Done("a"), Failed("b", LOST), Failed("c", BAD), Cancel(GIVEN_UP)]
    for order in itertools.permutations(outcomes):
        state = StepState(["a", "b", "c"])
        done = [instruction for event in order for instruction in state.handle(event)]
        finishes = [item for item in done if isinstance(item, Finish)]
        first = next(event.error for event in order if isinstance(event, (Failed, Cancel)))
        assert len(finishes) == 1 and finishes[0].error is first
        aborted = [item.task for item in done if isinstance(item, Abort)]
        assert len(aborted) == len(set(aborted)) and all(item.error is first for item in done if isinstance(item, Abort))
