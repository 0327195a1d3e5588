"""A job in which a parameter server shares its work with a new one: its largest variable in two partitions, or half of its variables there."""
from __future__ import annotations

import copy
import dataclasses
from typing import NamedTuple

from penstock.distributed.cluster_spec import task_name
from penstock.simulate.profile import JobProfile, StepProfile, TaskPart, TensorMessage, WorkBlock


class Split(NamedTuple):
    """A job in which a task shares its work with a new one. ``variable``: the one that is partitioned for that; "" if all stay whole."""

    profile: JobProfile
    variable: str
    bytes: int


def split(profile: JobProfile, task: str) -> Split | None:
    """The job, if half of what ``task`` holds were on one task more. None if it holds nothing in a step, or workers meet there.

    Each of the two has half of the bytes. Both halves of a partitioned variable have all of its operations, so that the interpreter's time for
    these is doubled; variables that stay whole take theirs along.
    """
    part = profile.step.part(task)
    sizes = profile.variables.get(task, {})
    if part is None or not sizes or any(block.meetings for block in part.blocks):
        return None
    variable, size = max(sizes.items(), key=lambda item: item[1])
    partitioned = 2 * size > sum(sizes.values())
    step = copy.deepcopy(profile.step)
    other = task_name("ps", profile.ps)
    halved = {name: (size + 1) // 2 for name, size in sizes.items()}
    _share(step, task, other, 1.0 if partitioned else 0.5)
    shared = dataclasses.replace(profile, ps=profile.ps + 1, step=step, variables={**profile.variables, task: halved, other: dict(halved)})
    return Split(shared, variable if partitioned else "", size)


def _share(step: StepProfile, task: str, other: str, of_python: float) -> None:
    """Halves the blocks of a task and gives another one the same; whoever sends to it, or hears from it, does so twice."""
    part = next(part for part in step.parts if part.task == task)
    part.memory, part.largest_memory = part.memory // 2, part.largest_memory // 2
    for block in part.blocks:
        block.python, block.moving, block.native = block.python * of_python, block.moving / 2, block.native / 2
        for message in block.sends:
            message.bytes //= 2
    numbers: dict[int, int] = {}  # of a message from or to the task -> of its double
    free = 1 + max((message.number for each in step.parts for block in each.blocks for message in block.sends), default=-1)
    double = copy.deepcopy(part)
    for message in (message for block in double.blocks for message in block.sends):
        message.number = numbers.setdefault(message.number, free + len(numbers))
    for each in step.parts:
        for block in each.blocks:
            for message in [message for message in block.sends if message.to == task]:
                message.bytes //= 2
                block.sends.append(TensorMessage(other, message.tensors, message.bytes, numbers.setdefault(message.number, free + len(numbers))))
    _receive(double.blocks, numbers, instead=True)
    for each in step.parts:
        if each is not part:
            _receive(each.blocks, numbers)
    step.parts.append(TaskPart(other, double.blocks, part.memory, part.largest, part.largest_memory))


def _receive(blocks: list[WorkBlock], numbers: dict[int, int], instead: bool = False) -> None:
    """Has blocks wait for the doubles of messages, also or instead."""
    for block in blocks:
        doubles = [numbers[number] for number in block.receives if number in numbers]
        kept = [number for number in block.receives if number not in numbers or not instead]
        block.receives = [*kept, *doubles]
