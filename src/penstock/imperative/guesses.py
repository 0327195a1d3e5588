"""What a program will do next: the call that it made at this place the last time, in a form that is compared without making a key.

Loops make the same calls turn by turn, so most calls are the ones that were guessed. The comparison decides what ``EagerGraph.call`` decides by its
keys: op, attributes, line, and where inputs come from. Calls that need more than that (lists of numbers, shapes that follow from the values of
tensors) are never guessed.
"""
from __future__ import annotations

from collections.abc import Sequence
from sys import _getframe
from typing import Any

from penstock.imperative.operation import Call, EagerOperation, Edge, Places
from penstock.imperative.recording import Recording, spec_of
from penstock.imperative.tensor import EagerTensor


class Guess(Places):
    """A call as it is expected. ``inputs``: per input, where its tensor comes from, as ``EagerGraph`` has it in keys, or what ``_Number`` says;
    ``lengths``: how many of them each list among the arguments has, if the op takes lists."""

    __slots__ = ("by_place", "call", "code", "count", "definition", "depth", "given", "inputs", "instruction", "lengths")

    def __init__(self, call: Call, inputs: list[Any], lengths: list[int] | None, given: dict[str, Any], frame: Any, depth: int) -> None:
        self.call, self.definition, self.given, self.inputs, self.count, self.lengths = call, call.definition, given, inputs, len(inputs), lengths
        self.code, self.instruction, self.depth = frame.f_code, frame.f_lasti, depth  # the line of the program, and how far it is
        self.by_place = not any(type(wanted) is tuple for wanted in inputs)  # is known where all inputs come from?

    def edges(self, operations: Sequence[EagerOperation], fed: Sequence[Edge]) -> Sequence[Edge]:
        """The producers of an operation that was recorded as guessed."""
        return [wanted.edge if type(wanted) is _Number else (operations[wanted], 0) if wanted >= 0 else fed[~wanted] for wanted in self.inputs]


class _Number:
    """A Python number as an argument: its type, its value, the tensor that it becomes, and the number of that among the values from outside."""

    __slots__ = ("edge", "feed", "kind", "value")

    def __init__(self, kind: type, value: Any, edge: Edge, feed: int) -> None:
        self.kind, self.value, self.edge, self.feed = kind, value, edge, feed


def guess_of(call: Call, tags: Sequence[Any], lengths: list[int] | None, constants: Sequence[tuple[int, Edge, int]], given: dict[str, Any],
             frame: Any, depth: int) -> Guess | None:
    """What ``call_as_guessed`` compares; None if that would not be enough. ``tags`` are those of the inputs, ``given`` the attributes; ``depth`` says
    how far the program's ``frame`` is from ``call_as_guessed``."""
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


def call_as_guessed(graph: Any, definition: Any, values: Sequence[Any], given: dict[str, Any], name: str | None) -> Any:
    """What calling an op in a graph of imperative style gives. This is what each operation of a loop costs: if it is the one that was guessed, it is
    recorded here, without further calls; if not, ``call_by_key`` finds out."""
    recording = graph.thread.recording
    state = recording.state
    guess = None if state is None else state.guess
    if guess is None or guess.definition is not definition or recording.scopes:
        return graph.call_by_key(definition, values, given, name)
    inputs = values if guess.lengths is None else _flat_as_guessed(guess, values)
    try:
        frame = _getframe(guess.depth)
        is_same = len(inputs) == guess.count and frame.f_lasti == guess.instruction and frame.f_code is guess.code
        is_same = is_same and (given == guess.given if given else not guess.given)
    except ValueError:  # a shorter stack, or an attribute that is an array
        is_same = False
    new: dict[Edge, int] | None = None  # what comes in here, numbered as among ``recording.feeds``
    if is_same:
        for value, wanted in zip(inputs, guess.inputs):
            if type(value) is EagerTensor:
                producer = value._producer
                if producer.recording is recording:
                    if (value._index or producer.place != wanted) and (producer.place, value._index) != wanted:
                        is_same = False
                        break
                elif type(wanted) is not int:
                    new = new or {}
                    if not _comes_in(recording, value._edge, wanted, new):
                        is_same = False
                        break
                elif wanted >= 0 or recording.fed[~wanted] != value._edge:
                    is_same = False
                    break
            elif type(wanted) is not _Number or type(value) is not wanted.kind or value != wanted.value:
                is_same = False
                break
            elif wanted.feed >= len(recording.fed):
                new = new or {}
                if wanted.edge in recording.feeds or new.setdefault(wanted.edge, len(recording.fed) + len(new)) != wanted.feed:
                    is_same = False
                    break
            elif recording.fed[wanted.feed][0] is not wanted.edge[0]:
                is_same = False
                break
    if not is_same:
        return graph.call_by_key(definition, values, given, name)
    call, operations = guess.call, recording.operations
    op = EagerOperation()
    op._edges = guess
    if not guess.by_place:
        op._edges = [value._edge if type(value) is EagerTensor else wanted.edge for value, wanted in zip(inputs, guess.inputs)]
    op.call, op.recording, op.place = call, recording, len(operations)
    op.results, op.noted, op._references = None, (), None
    operations.append(op)
    recording.state = call.state
    if new is not None:
        recording.feeds.update(new)
        recording.fed.extend(new)
    if not definition.has_one_output:
        op.tensor = None
        return definition.unflatten_outputs(op) if definition.outputs else op
    op.tensor = tensor = EagerTensor()
    tensor._producer, tensor._index = op, 0
    tensor._dtype, tensor._shape = call.dtype, call.shape
    return tensor


def _flat_as_guessed(guess: Guess, values: Sequence[Any]) -> Sequence[Any]:
    """The inputs of a call with lists among them; none if the lists are not as long as expected."""
    lengths: list[int] = []
    inputs = flat(guess.definition, values, lengths) if len(values) == len(guess.definition.inputs) else ()
    return inputs if lengths == guess.lengths else ()


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
