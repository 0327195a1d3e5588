"""What a program will do next: the call that it made at this place the last time, in a form that is compared without making a key.

Loops make the same calls turn by turn, so most calls are the ones that were guessed. The comparison decides what ``EagerGraph.call`` decides by its
keys: op, attributes, line, and where inputs come from. Calls that need more than that (lists of numbers, shapes that follow from the values of
tensors) are never guessed.
"""
from __future__ import annotations

from collections.abc import Sequence
from sys import _getframe
from typing import Any

from penstock.imperative.operation import Call, EagerOperation, Edge
from penstock.imperative.recording import Recording, spec_of
from penstock.imperative.tensor import EagerTensor


class Guess:
    """A call as it is expected. ``inputs``: per input, where its tensor comes from, as ``EagerGraph`` has it in keys, or what ``_Number`` says;
    ``lengths``: how many of them each list among the arguments has, if the op takes lists."""

    __slots__ = ("call", "code", "count", "definition", "depth", "given", "inputs", "instruction", "lengths")

    def __init__(self, call: Call, inputs: list[Any], lengths: list[int] | None, given: dict[str, Any], frame: Any, depth: int) -> None:
        self.call, self.definition, self.given, self.inputs, self.count, self.lengths = call, call.definition, given, inputs, len(inputs), lengths
        self.code, self.instruction, self.depth = frame.f_code, frame.f_lasti, depth  # the line of the program, and how far ``repeat`` is from it


class _Number:
    """A Python number as an argument: its type, its value, the tensor that it becomes, and the number of that among the values from outside."""

    __slots__ = ("edge", "feed", "kind", "value")

    def __init__(self, kind: type, value: Any, edge: Edge, feed: int) -> None:
        self.kind, self.value, self.edge, self.feed = kind, value, edge, feed


def guess_of(call: Call, tags: Sequence[Any], lengths: list[int] | None, constants: Sequence[tuple[int, Edge, int]], given: dict[str, Any],
             frame: Any, depth: int) -> Guess | None:
    """What ``repeat`` compares; None if that would not be enough. ``tags`` are those of the inputs, ``given`` the attributes; ``depth`` says how far
    the program's ``frame`` is from what ``EagerGraph.call`` calls."""
    if frame is None:
        return None
    inputs: list[Any] = list(tags)
    for position, edge, feed in constants:
        tag = tags[position]
        if len(tag) != 2 or type(tag[1]) is not tag[0]:  # a list, or a 0, which may be a -0.0
            return None
        inputs[position] = _Number(tag[0], tag[1], edge, feed)
    if any(type(inputs[position]) is not _Number for position, _ in call.asked):
        return None
    return Guess(call, inputs, lengths, dict(given), frame, depth)


def repeat(recording: Recording, guess: Guess, values: Sequence[Any], given: dict[str, Any]) -> Any:
    """Records what was guessed, and returns what it gives, if a call with these inputs and attributes is that; its op is. None if it is not."""
    if guess.lengths is not None:
        lengths: list[int] = []
        values = flat(guess.definition, values, lengths) if len(values) == len(guess.definition.inputs) else ()
        if lengths != guess.lengths:
            return None
    if len(values) != guess.count or recording.scopes:
        return None
    try:
        frame = _getframe(guess.depth)
        if given != guess.given:
            return None
    except ValueError:  # a shorter stack, or an attribute that is an array
        return None
    if frame.f_lasti != guess.instruction or frame.f_code is not guess.code:
        return None
    edges: list[Edge] = []
    new: dict[Edge, int] | None = None  # what comes in here, numbered as among ``recording.feeds``
    inputs = guess.inputs
    for value in values:
        wanted = inputs[len(edges)]
        if type(value) is EagerTensor:
            edge = value._edge
            producer, index = edge
            if producer.recording is recording:
                if (index or producer.place != wanted) and (producer.place, index) != wanted:
                    return None
            elif type(wanted) is not int:
                new = new or {}
                if not _comes_in(recording, edge, wanted, new):
                    return None
            elif wanted >= 0 or recording.fed[~wanted] is not edge:
                return None
            edges.append(edge)
        elif type(wanted) is _Number and type(value) is wanted.kind and value == wanted.value:
            edge = wanted.edge
            if wanted.feed < len(recording.fed):
                if recording.fed[wanted.feed] is not edge:
                    return None
            else:
                new = new or {}
                if edge in recording.feeds or new.setdefault(edge, len(recording.fed) + len(new)) != wanted.feed:
                    return None
            edges.append(edge)
        else:
            return None
    call = guess.call
    operations = recording.operations
    op = EagerOperation()
    op.call, op.edges, op.recording, op.place = call, edges, recording, len(operations)
    op.results, op.noted, op._references = None, (), None
    operations.append(op)
    recording.state = call.state
    if new is not None:
        recording.feeds.update(new)
        recording.fed.extend(new)
    definition = guess.definition
    if not definition.has_one_output:
        op.tensor = None
        return definition.unflatten_outputs(op) if definition.outputs else op
    op.tensor = tensor = EagerTensor()
    tensor._edge, tensor._dtype, tensor._shape = (op, 0), call.dtype, call.shape
    return tensor


def _comes_in(recording: Recording, edge: Edge, wanted: Any, new: dict[Edge, int]) -> bool:
    """Is it a value from outside that no operation of the recording has used, and as expected?"""
    if type(wanted) is not tuple or edge[0].results is None or edge in recording.feeds:
        return False
    number = new.setdefault(edge, len(recording.fed) + len(new))
    return (number - len(recording.fed), *spec_of(edge)) == wanted


def flat(definition: Any, values: Sequence[Any], lengths: list[Any]) -> list[Any]:
    """The inputs of a call with lists among them; how long each is, is added to ``lengths``."""
    inputs: list[Any] = []
    for arg, value in zip(definition.inputs, values):
        if arg.is_list and isinstance(value, (list, tuple)):
            lengths.append(len(value))
            inputs += value
        else:
            inputs.append(value)
    return inputs
