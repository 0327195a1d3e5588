"""Other ways for the workers of a job to cooperate than the program's own: what ``tf.train.SyncReplicasOptimizer`` would make of its step.

In the profile of an asynchronous step, a parameter server's blocks that wait for the worker are its updates. Synchronously they are the chief's: a
worker adds its gradients to accumulators and then waits for a token; the chief's step takes them, updates, and hands out the tokens.
"""
from __future__ import annotations

import copy
import dataclasses

from penstock.simulate.profile import WORKER, JobProfile, Meeting, StepProfile, TaskPart, TensorMessage, WorkBlock

_ADD = 30e-6  # seconds: to add a gradient that has come to others, beside its bytes (as profiles of synchronous programs have it)
ADD_BYTE = 1e-10


def asynchronous(profile: JobProfile) -> JobProfile:
    """The job as it is. ValueError if its workers wait for each other."""
    if any(block.meetings for part in profile.step.parts for block in part.blocks if part.task != WORKER):
        raise ValueError("the program's workers wait for each other (tf.train.SyncReplicasOptimizer): without that they would be asynchronous")
    return profile


def synchronous(profile: JobProfile, workers: int, backups: int = 0) -> JobProfile:
    """The job with an update per ``workers - backups`` gradients. ValueError if it is synchronous already, or has no parameter servers."""
    if any(block.meetings for part in profile.step.parts for block in part.blocks if part.task != WORKER):
        raise ValueError("the program's workers wait for each other already: it decides how (--mode program)")
    if not 0 <= backups < workers:
        raise ValueError(f"{backups} of {workers} workers cannot be backups")
    step = copy.deepcopy(profile.step)
    servers = [part for part in step.parts if part.task != WORKER]
    if not servers or step.part(WORKER) is None:
        raise ValueError("without parameter servers there is no synchronous training: add --ps")
    chief = StepProfile([_take_updates(part, step, workers - backups) for part in servers])
    tokens = servers[0]
    _hand_out(chief, tokens.task, workers)
    _wait_for_token(step, tokens)
    return dataclasses.replace(profile, workers=workers, step=step, beside=[*profile.beside, chief])


def updates_of(part: TaskPart) -> set[int]:
    """The blocks of a parameter server that wait for a worker."""
    late: set[int] = set()
    for index, block in enumerate(part.blocks):  # they stand in a runnable order
        if block.receives or late.intersection(block.needs):
            late.add(index)
    return late


def _take_updates(part: TaskPart, step: StepProfile, wanted: int) -> TaskPart:
    """Moves the updates of a parameter server to the chief's step, and leaves accumulators in their place."""
    sent = {message.number: message for other in step.parts for block in other.blocks for message in block.sends}
    late = updates_of(part)
    name = f"{part.task} gradients"
    update = WorkBlock(meetings=[Meeting("take", name, wanted), Meeting("advance", name)])
    for index in sorted(late):
        block = part.blocks[index]
        update.python += block.python
        update.moving += block.moving
        update.native += block.native
        if block.native:  # all of a task have the same
            update.serial, update.held, update.crowded = block.serial, block.held, block.crowded
        update.nodes += block.nodes
        gradients = [sent[number] for number in block.receives]
        block.python, block.moving = _ADD * sum(each.tensors for each in gradients), ADD_BYTE * sum(each.bytes for each in gradients)
        block.native = 0.0
    if late:
        last = part.blocks[max(late)]
        last.meetings.append(Meeting("accumulate", name))
        _send_time(part.task, last, step)
    return TaskPart(part.task, [update])


def _send_time(task: str, accumulates: WorkBlock, step: StepProfile) -> None:
    """An accumulator is told how old a gradient is: the worker's own count of updates, by itself, since it is known before the gradient is."""
    worker = step.part(WORKER)
    assert worker is not None
    number = _next_number(step)
    worker.blocks.append(WorkBlock(sends=[TensorMessage(task, 1, 8, number)]))
    accumulates.receives.append(number)


def _next_number(step: StepProfile) -> int:
    """Of a further message."""
    return 1 + max((message.number for part in step.parts for block in part.blocks for message in block.sends), default=-1)


def _hand_out(chief: StepProfile, task: str, tokens: int) -> None:
    """Tokens are handed out when all servers have updated."""
    number = 0
    here = next(part for part in chief.parts if part.task == task)
    here.blocks.append(WorkBlock(needs=[0], meetings=[Meeting("enqueue_many", f"{task} tokens", tokens)]))
    for part in chief.parts:
        if part is not here:
            part.blocks[0].sends.append(TensorMessage(task, 1, 0, number))
            here.blocks[1].receives.append(number)
            number += 1


def _wait_for_token(step: StepProfile, tokens: TaskPart) -> None:
    """The last thing that a worker does: it waits until its gradients are in, and for a token."""
    number, last = _next_number(step), len(tokens.blocks)
    tokens.blocks.append(WorkBlock(needs=list(range(last)), meetings=[Meeting("dequeue", f"{tokens.task} tokens")]))
    for part in step.parts:
        if part is not tokens and part.task != WORKER:
            part.blocks[-1].sends.append(TensorMessage(tokens.task, 1, 0, number))
            tokens.blocks[last].receives.append(number)
            number += 1
    worker = step.part(WORKER)
    assert worker is not None
    tokens.blocks[last].sends.append(TensorMessage(WORKER, 1, 8, number))
    worker.blocks.append(WorkBlock(receives=[number]))
