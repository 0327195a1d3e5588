"""EagerGraph: the default graph of imperative style, whose operations are recorded and not kept."""
from __future__ import annotations

import itertools
import math
import random
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue

from penstock import errors
from penstock.graph import source
from penstock.graph.dtypes import DType, resource
from penstock.graph.graph import Graph
from penstock.graph.graph import _Later as Later
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape
from penstock.graph.static import known_values
from penstock.imperative.guesses import call_as_guessed, flat, guess_of
from penstock.imperative.operation import Call, EagerOperation, Edge, hashable, value_key
from penstock.imperative.placing import is_compiled_only
from penstock.imperative.recording import PENDING_LIMIT, State, Threads, ThreadState, fits, spec_of
from penstock.imperative.tensor import EagerTensor
from penstock.ops.constant import Const, constant
from penstock.variables.resource_variable import ResourceVariable

_MOST_NUMBERS, _MOST_SIGNATURES = 1024, 8192  # that are remembered
_LONGEST = 64  # elements of a list of numbers by which a call is known
_NOTHING: frozenset[Any] = frozenset()
_NUMBERS = {int, float, bool}
_STANDARD_COLLECTIONS = frozenset(value for key, value in vars(GraphKeys).items() if isinstance(value, str) and not key.startswith("__"))
_INSIDE = source.INSIDE


def _constant_in(graph: Graph, tensor: EagerTensor) -> Tensor:
    """A value of imperative style as a constant of a graph."""
    return Const.add_node(graph, graph.unique_name(tensor.op.name), (), {"value": tensor._value(), "dtype": tensor.dtype}).outputs[0]


Later.constant = staticmethod(_constant_in)


class _Probe:
    """What stands in for the tapes where they do not record: it notices which variables are read."""

    def __init__(self) -> None:
        self.variables: dict[Any, None] = {}

    def note(self, op: EagerOperation) -> None:
        """Looks at the inputs of an operation."""
        for producer, _ in op.edges:
            if producer.call.variable is not None:
                self.variables[producer.call.variable()] = None


class EagerGraph(Graph):
    """The default graph of a program in imperative style. It keeps no operation longer than the program needs it."""

    imperative = True

    def __init__(self, runner: Any) -> None:
        super().__init__()
        self.runner = runner
        self.thread = ThreadState(runner, Threads())
        self._inferred: dict[Any, list[tuple[DType, TensorShape]]] = {}  # types and shapes of results, by op, attributes and inputs
        self._numbers: dict[Any, EagerTensor] = {}
        self._kinds: dict[Any, int] = {}  # ops with their attributes, numbered: quick to compare
        self._numbering = itertools.count()
        self.callbacks: list[Any] = []  # that are told of each operation, which then runs at its call
        self.on_new_variable: list[Any] = []  # functions that are told of each variable, once it has its value
        self._is_sync = runner.sync
        self.walks: Any = None  # what tapes have done before: see ``backward.py``

    # --- recording ---------------------------------------------------------------------------------------------------

    call = call_as_guessed  # what calling an op gives

    def call_by_key(self, definition: Any, values: Sequence[Any], given: dict[str, Any], name: str | None) -> Any:
        """What calling an op gives, if another call was expected."""
        recording = self.thread.recording
        state = recording.state
        if state is None or len(values) != len(definition.inputs) or self._gradient_overrides or len(recording.operations) >= PENDING_LIMIT:
            return _outputs(definition, definition.node(values, given, name))
        lengths: list[int] | None = [] if definition.has_lists else None
        inputs = values if lengths is None else flat(definition, values, lengths)
        tags: list[Any] = [definition, *(lengths or ())]
        edges: list[Any] = []
        new: dict[Edge, int] | None = None
        for value in inputs:
            kind = type(value)
            if kind is not EagerTensor:
                if kind is float or kind is int or kind is bool:
                    tags.append((kind, value or repr(value)))  # 0.0 is not -0.0
                    edges.append(None)
                    continue
                if isinstance(value, ResourceVariable) and value.handle.op.graph is self:
                    return self.call(definition, [_read(value, self) for value in values], given, name)
                plain = _plain(value)
                if plain is None:
                    return _outputs(definition, definition.node(values, given, name))
                tags.append(plain)
                edges.append(None)
                continue
            edge = value._edge
            edges.append(edge)
            op, index = edge
            if op.recording is recording:
                tags.append((op.place, index) if index else op.place)
            else:
                number = recording.feeds.get(edge)
                if number is not None:
                    tags.append(~number)
                    continue
                if op.results is None:
                    return _outputs(definition, definition.node(values, given, name))
                if new is None:
                    new = {}
                tags.append((new.setdefault(edge, len(new)), *spec_of(edge)))
        if given:
            for key, attribute in given.items():
                tags.append(key)
                tags.append(tuple(attribute) if type(attribute) is list else attribute)
        if self._state.devices:
            tags.append(self._devices())
        frame: Any = sys._getframe(2)
        depth = 1  # from ``call_as_guessed``
        while frame is not None and _INSIDE[frame.f_code.co_filename]:
            frame, depth = frame.f_back, depth + 1
        if frame is not None:
            tags.append(id(frame.f_code))
            tags.append(frame.f_lasti)
        tag = tuple(tags)
        try:
            known = state.calls.get(tag)
        except TypeError:  # attributes that cannot be keys
            return _outputs(definition, definition.node(values, given, name))
        if known is not None:
            call, constants, guess = known
            whole = list(edges) if constants else edges
            feeds = recording.feeds
            for position, edge, number in constants:
                whole[position] = edge
                place = feeds.get(edge)
                if place != number and (place is not None or number < len(feeds) or (new is not None and edge in new)):
                    call = None  # a tensor of the program happens to be the constant, or was then
                    break
            if call is not None and (not call.asked or fits(call, whole, constants)):
                if not recording.scopes:
                    state.guess = guess
                return self._follow(call, tuple(whole))
        op = definition.node(values, given, name)
        if op.call.origin is state:
            self._learn(op, state, tag, edges, lengths, (given, frame, depth))
        return _outputs(definition, op)

    def _follow(self, call: Call, edges: tuple[Edge, ...]) -> Any:
        """What an operation like one before gives."""
        op = self.thread.recording.follow(call, edges)
        for watcher in self.thread.recording.watchers:
            watcher.note(op)
        return _outputs(call.definition, op)

    def _learn(self, op: EagerOperation, state: State, tag: Any, edges: list[Any], lengths: list[int] | None,
               how: tuple[dict[str, Any], Any, int]) -> None:
        """Notes what a call was given, so that it is known next time; ``edges`` are those of tensors among it, ``lengths`` those of its lists,
        ``how``: attributes, the program's frame, and how far that is."""
        feeds = self.thread.recording.feeds
        constants = [(position, op.edges[position], feeds.get(op.edges[position], -1)) for position, edge in enumerate(edges) if edge is None]
        if all(producer.results is not None and number >= 0 for _, (producer, _), number in constants):
            start = 1 + len(lengths or ())
            state.calls[tag] = op.call, constants, guess_of(op.call, tag[start:start + len(edges)], lengths, constants, *how)
            self.thread.recording.tree.count += 1

    def _devices(self) -> tuple[Any, ...]:
        """The device scopes around a call, as a part of a key; a new object if a function chooses: it may choose another one next time."""
        return tuple([object() if callable(device) else device for device in self._state.devices])

    def record(self, definition: Any, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any],
               origin: Operation | None = None) -> EagerOperation:
        """One call of an op, whose inputs are tensors of this graph and whose attributes are complete. ``origin`` is the operation of a function
        that it is a copy of."""
        if definition is Const:
            Const.infer_shapes(name, (), attributes, 1)
            return self.constant(attributes, name).op
        return self.record_edges(definition, name, tuple([tensor._edge for tensor in inputs]), attributes, origin)  # type: ignore[attr-defined]

    def record_edges(self, definition: Any, name: str, edges: tuple[Edge, ...], attributes: dict[str, Any],
                     origin: Operation | None = None) -> EagerOperation:
        """``record``, with inputs as outputs of operations."""
        thread = self.thread
        recording = thread.recording
        if len(recording.operations) >= PENDING_LIMIT:
            recording.flush()
        key = self._kind(definition, attributes)
        line = source.user_frames(1)  # a value may be an operation away from the next: what it costs to note its line counts
        extra = dict(origin._extra) if origin is not None else {}
        if self._gradient_overrides and definition.type in self._gradient_overrides:
            extra["_gradient_op_type"] = AttrValue(s=self._gradient_overrides[definition.type].encode())
        tag = None if extra or self.runner.sync else (key, self._devices() if self._state.devices else (), *map(_site, line), *recording.tag(edges))
        call = None if tag is None else recording.find(tag, edges)
        if call is not None:
            op = EagerOperation.of(call, edges)
            for watcher in thread.recording.watchers:
                watcher.note(op)
            recording.add(op, tag)
            return op
        uses_variable = any(producer.call.expected[index][0] is resource for producer, index in edges)
        if uses_variable:
            recording.use_variable()
        flushes = recording.flushes
        expected, asked = self._expect(key, definition, name, edges, attributes)
        call = Call(self, definition, name, attributes, list(expected), line if origin is None else origin._source)
        call.key, call.extra = key, extra
        call.asked = [(position, value_key(edge)) for position, edge in enumerate(edges) if edge in asked]
        call.deep = asked.difference(edges)
        op = EagerOperation.of(call, edges)
        if attributes.get("shared_name") == "" and any(dtype is resource for dtype, _ in expected):
            op.name = f"{name}_{op._id}"  # resources are kept by name
        if self._state.devices or uses_variable:
            self._apply_devices(op)
        for watcher in (*thread.recording.watchers, *thread.recording.open_tapes):
            watcher.note(op)
        if self.runner.defers(op, uses_variable and recording.careful):
            recording.add(op, None if call.deep else tag if recording.flushes == flushes else
                          (key, self._devices(), *map(_site, line), *recording.tag(edges)))
        elif not edges and expected and expected[0][0] is resource:
            self.runner.delete_with(op)
        for callback in self.callbacks:
            names = None if op.name.rpartition("/")[2] == definition.type else op.name
            callback(definition.type, [producer.output(index) for producer, index in edges], attributes, op.outputs, names)
        return op

    def set_callbacks(self, callbacks: list[Any]) -> None:
        """Has functions called after each operation, with its type, inputs, attributes, outputs and name; operations then run at their calls."""
        self.flush()
        self.callbacks = callbacks
        self.runner.sync = self._is_sync or bool(callbacks)
        self.flush()

    def _kind(self, definition: Any, attributes: dict[str, Any]) -> int:
        """The number of an op with its attributes."""
        described = (definition, *[id(value) if type(value) is DType else hashable(value) for value in attributes.values()])  # types are singletons
        key = self._kinds.get(described)
        if key is None:
            if len(self._kinds) >= _MOST_SIGNATURES:
                self._kinds.clear()  # their numbers do not come again
            key = self._kinds[described] = next(self._numbering)
        return key

    def _expect(self, key: int, definition: Any, name: str, edges: tuple[Edge, ...], attributes: dict[str, Any]) -> tuple[list[Any], frozenset[Edge]]:
        """Types and shapes of the outputs, and the values that told them."""
        signature = (key, *[(id(dtype), shape.extents, None if producer._handles is None else producer._handles.get(index))
                            for producer, index in edges for dtype, shape in [producer.call.expected[index]]])
        expected, asked = self._inferred.get(signature), _NOTHING
        if expected is None:
            expected, asked = self._infer(definition, name, tuple([producer.output(index) for producer, index in edges]), attributes)
            if not asked and all(shape.is_fully_defined() for _, shape in expected):
                if len(self._inferred) >= _MOST_SIGNATURES:
                    self._inferred.clear()
                self._inferred[signature] = expected
        return expected, asked

    def constant(self, attributes: dict[str, Any], name: str) -> EagerTensor:
        """A constant has its value. It is left out of keys: a program that feeds its data as constants would have all of it remembered."""
        value = attributes["value"]
        call = Call(self, Const, name, attributes, [(attributes["dtype"], TensorShape._of(value.shape))], source.user_frames(1))
        op = EagerOperation.of(call, ())
        op.results = [value]
        if self._state.devices:
            self._apply_devices(op)
        for watcher in self.thread.recording.watchers:
            watcher.note(op)
        return op.output(0)

    def number(self, value: Any, dtype: DType | None) -> EagerTensor | None:
        """The tensor of a Python number, if there is one already and its type is known; programs use few of them again and again."""
        if dtype is None or type(value) not in _NUMBERS:
            return None
        key = (type(value), value, dtype, math.copysign(1.0, value))
        tensor = self._numbers.get(key)
        if tensor is None and len(self._numbers) < _MOST_NUMBERS:
            try:
                tensor = self._numbers[key] = constant(value, dtype)
            except (TypeError, ValueError):  # the call says what is wrong
                return None
        return tensor

    def _infer(self, definition: Any, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any]) -> tuple[list[Any], frozenset[Edge]]:
        """Types and shapes of the outputs, and the values that told them; InvalidArgumentError if the inputs do not fit."""
        dtypes = definition.output_dtypes(attributes)
        for last in (False, True):
            with known_values() as asked:
                try:
                    shapes = definition.infer_shapes(name, inputs, attributes, len(dtypes))
                except ValueError as error:
                    raise self._does_not_fit(definition, name, inputs, attributes, error) from None
            if last or all(shape.is_fully_defined() for shape in shapes) or not self.thread.recording.operations:
                break
            self.flush()  # a shape may depend on values that are computed now
        return list(zip(dtypes, shapes)), frozenset(asked)  # type: ignore[arg-type]

    def _does_not_fit(self, definition: Any, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any],
                      error: ValueError) -> errors.InvalidArgumentError:
        """The error of inputs that the shape function refuses: in the words of the kernel, if it has some."""
        op = EagerOperation.of(Call(self, definition, name, attributes, [], ()), tuple([tensor._edge for tensor in inputs]))  # type: ignore[attr-defined]
        return errors.InvalidArgumentError(None, None, f"{self.runner.kernel_words(op) or error} [Op:{definition.type}]")

    def flush(self) -> None:
        """Computes everything that this thread has recorded."""
        self.thread.recording.flush()

    @contextmanager
    def unrecorded(self) -> Iterator[dict[Any, None]]:
        """Inside, tapes record nothing; gives the trainable variables that were read meanwhile, as keys."""
        probe = _Probe()
        with self.thread.recording.watched_by(probe):
            yield probe.variables

    def keep_variable(self, variable: Any) -> None:
        """Has tapes watch a new variable that is trainable."""
        if variable.trainable:
            handle = variable.handle.op
            handle.call.variable = weakref.ref(variable)
            _ = handle._id  # numbered now: tapes have variables in the order in which they were made
        for function in self.on_new_variable:
            function(variable)

    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor itself; ValueError for one of a graph, which has no value here."""
        if tensor.op.graph is not self:
            raise ValueError(f"{tensor} belongs to a graph and has no value while eager execution is enabled.")
        return tensor

    @property
    def seed(self) -> int | None:
        """The seed of random ops that have none of their own."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed
        self._seeds = random.Random(seed)
        self.runner.restart_generators()

    def next_op_seed(self) -> int:
        """A seed for the next random op without one, drawn as TensorFlow draws it."""
        return self._seeds.randint(0, 2**31 - 1)

    # --- what a graph has, and imperative style does not --------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name under the current scope. Names need not be unique: nothing is looked up by them."""
        return f"{self._name_stack}/{name}" if self._name_stack else name

    def _name_for(self, name: str | bytes) -> str:
        name = name.decode() if isinstance(name, bytes) else name
        return name[:-1] if name and name[-1] == "/" else self.unique_name(name)

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Keeps the global step and what goes into the program's own collections. Standard ones belong to graphs, and would keep every value."""
        if not isinstance(name, str) or name == GraphKeys.GLOBAL_STEP or name not in _STANDARD_COLLECTIONS:
            super().add_to_collection(name, value)

    def control_dependencies(self, control_inputs: Any) -> AbstractContextManager[None]:  # type: ignore[override]
        """Does nothing: operations run in the order of the program."""
        return nullcontext()

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Operations made inside run on this device."""
        with self.thread.recording.scope(), super().device(device_name_or_function):
            yield

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Operations of these types made inside take the gradient registered under another name."""
        with self.thread.recording.scope(), super().gradient_override_map(op_type_map):
            yield

    def _apply_devices(self, op: Operation) -> None:
        """Gives an operation its device: see ``placing.py``."""
        super()._apply_devices(op)
        op._device = self.runner.device_of(op)

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:  # type: ignore[override]
        """Operations made inside run on the device of ``op``; nothing changes if that is the host's."""
        device = getattr(op, "device", "")
        return self.device(device) if is_compiled_only(device) else nullcontext()

    def get_operations(self) -> list[Operation]:
        """None: operations are not kept."""
        return []


def _site(frame: tuple[Any, int]) -> tuple[int, int]:
    """A line of the program as a part of a key; the Call keeps its code, so that the number stays its own."""
    return id(frame[0]), frame[1]


def _outputs(definition: Any, op: Any) -> Any:
    """What a call of an op returns: a Tensor, a structure of them, or an Operation that has none. The op may be a node of a symbolic graph."""
    if definition.has_one_output:
        return op.outputs[0]
    return definition.unflatten_outputs(op) if definition.outputs else op


def _read(value: Any, graph: EagerGraph) -> Any:
    """What an argument reads, if it is a variable, or a list with some."""
    if isinstance(value, (list, tuple)):
        return [_read(item, graph) for item in value]
    return value.value() if isinstance(value, ResourceVariable) and value.handle.op.graph is graph else value


def _plain(value: Any) -> Any:
    """A short list of numbers, or a string, as a part of a key; None for anything else."""
    if isinstance(value, (list, tuple)) and len(value) <= _LONGEST:
        items = [(type(item), item or repr(item)) if type(item) in _NUMBERS else _plain(item) for item in value]
        return None if None in items else (type(value), *items)
    return (str, value) if type(value) is str and len(value) <= _LONGEST else None
