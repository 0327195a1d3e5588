"""The plans that a local session has made, for tests that look at what runs."""
from __future__ import annotations

from typing import Any

from penstock.execute.plan import Plan
from penstock.program.ir import Node


def plans_of(session: Any) -> list[Plan]:
    """The plan of each step of a session: the final one, or that of its first run if it has run once."""
    return [planned.final or planned.plan(traced=True) for planned in session._backend.planned.values()]


def nodes_of(session: Any) -> list[Node]:
    """The nodes of all plans."""
    return [node for plan in plans_of(session) for part in plan.device_plans for node in part.nodes]


def regions_of(session: Any) -> list[Any]:
    """The regions of all plans."""
    return [region for plan in plans_of(session) for part in plan.device_plans for region in part.regions.values()]
