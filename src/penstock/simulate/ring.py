"""What an asynchronous step becomes when its workers train without parameter servers: all-reduce over a ring (``distributed/allreduce.py``).

Every worker holds all variables and makes all updates. What it would send to parameter servers is cut into as many chunks as there are workers,
which go round twice: it puts a chunk into a queue of its own, and a part of its step on the worker to its left takes one from the queue there.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from penstock.simulate.modes import ADD_BYTE, updates_of
from penstock.simulate.profile import LEFT, WORKER, JobProfile, Meeting, StepProfile, TaskPart, TensorMessage, WorkBlock

_QUEUE = "ring"


def all_reduce(profile: JobProfile, workers: int) -> JobProfile:
    """The job without parameter servers. ValueError if its workers wait for each other already."""
    parts = profile.step.parts
    if any(block.meetings for part in parts for block in part.blocks):
        raise ValueError("the program's workers wait for each other, or for queues, already: it decides how they cooperate (--mode program)")
    gradients = sum(message.bytes for part in parts if part.task == WORKER for block in part.blocks for message in block.sends)
    late = {id(part.blocks[index]) for part in parts if part.task != WORKER for index in updates_of(part)}
    before = _together(block for part in parts for block in part.blocks if id(block) not in late)
    after = _together(block for part in parts for block in part.blocks if id(block) in late)
    variables: dict[str, int] = {}
    for sizes in profile.variables.values():
        variables.update(sizes)
    step = StepProfile(_ring(before, after, gradients // workers, workers), profile.step.feeds, profile.step.runs)
    largest = max(parts, key=lambda part: part.largest_memory)
    step.parts[0].memory = sum(part.memory for part in parts)
    step.parts[0].largest, step.parts[0].largest_memory = largest.largest, largest.largest_memory
    return dataclasses.replace(profile, ps=0, workers=workers, step=step, variables={WORKER: variables})


def _together(blocks: Iterable[WorkBlock]) -> WorkBlock:
    total = WorkBlock()
    for block in blocks:
        serial, crowded = (getattr(total, name) * total.native + getattr(block, name) * block.native for name in ("serial", "crowded"))
        total.python, total.native, total.nodes = total.python + block.python, total.native + block.native, total.nodes + block.nodes
        total.moving += block.moving
        total.held = max(total.held, block.held)
        if total.native:
            total.serial, total.crowded = serial / total.native, crowded / total.native
    return total


def _ring(before: WorkBlock, after: WorkBlock, chunk: int, workers: int) -> list[TaskPart]:
    """The blocks of a worker, and of its part on the worker to the left."""
    own, left = TaskPart(WORKER, [before]), TaskPart(LEFT)
    for phase in range(2 * (workers - 1)):
        own.blocks.append(WorkBlock(needs=[len(own.blocks) - 1], meetings=[Meeting("enqueue", f"{WORKER} {_QUEUE}")]))
        left.blocks.append(WorkBlock(needs=[phase - 1] if phase else [], meetings=[Meeting("dequeue", f"{LEFT} {_QUEUE}")],
                                 sends=[TensorMessage(WORKER, 1, chunk, phase)]))
        adds = phase < workers - 1  # in the second half complete chunks are handed on
        own.blocks.append(WorkBlock(needs=[len(own.blocks) - 1], receives=[phase], python=ADD_BYTE * chunk * adds))
    after.needs = [len(own.blocks) - 1]
    own.blocks.append(after)
    return [own, left] if left.blocks else [own]
