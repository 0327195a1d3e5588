"""AttentionWrapper: a cell that sees, at each step, what an attention mechanism makes of its last output."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.graph.shape import TensorShape
from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims, shape, squeeze
from penstock.ops.constant import identity
from penstock.ops.flow.checks import assert_equal
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.linalg.matmul import matmul
from penstock.rnn.attention import AttentionMechanism
from penstock.rnn.cell import RNNCell, assert_like_rnncell, zero_state_tensors
from penstock.rnn.dense import Projection


class AttentionWrapperState(namedtuple("AttentionWrapperState", (
        "cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"))):
    """``tf.contrib.seq2seq.AttentionWrapperState``: the state of an AttentionWrapper."""

    __slots__ = ()

    def __new__(cls, cell_state: Any, attention: Any, time: Any, alignments: Any, alignment_history: Any,
                attention_state: Any = None) -> AttentionWrapperState:
        """Without ``attention_state``, as before TensorFlow 1.6, it is the alignments, which it is for most mechanisms."""
        return super().__new__(cls, cell_state, attention, time, alignments, alignment_history,
                               alignments if attention_state is None else attention_state)

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """A state with other parts, of the same shapes."""
        changed = self._replace(**kwargs)
        nest.map_structure(_check_shapes, self, changed)
        return changed


def _check_shapes(old: Any, new: Any) -> Any:
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        new.shape.assert_is_compatible_with(old.shape)
    return new


def compute_attention(mechanism: Any, cell_output: Any, attention_state: Any, attention_layer: Any) -> tuple[Any, Any, Any]:
    """(attention, alignments, next attention state): the weighted sum of the memory, through a layer together with the cell's output."""
    alignments, next_state = mechanism(cell_output, state=attention_state)
    context = squeeze(matmul(expand_dims(alignments, 1), mechanism.values), [1])
    attention = context if attention_layer is None else attention_layer(concat([cell_output, context], 1))
    return attention, alignments, next_state


class AttentionWrapper(RNNCell):
    """``tf.contrib.seq2seq.AttentionWrapper``: a cell with one attention mechanism, or several."""

    def __init__(self, cell: Any, attention_mechanism: Any, attention_layer_size: Any = None, alignment_history: bool = False,
                 cell_input_fn: Callable[..., Any] | None = None, output_attention: bool = True, initial_cell_state: Any = None,
                 name: str | None = None, attention_layer: Any = None, attention_fn: Callable[..., Any] | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
        for mechanism in self._mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(f"attention_mechanism must be an AttentionMechanism or list of multiple AttentionMechanism instances, saw type: "
                                f"{type(mechanism).__name__}")
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}")
        self._cell, self._history, self._output_attention = cell, alignment_history, output_attention
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: concat([inputs, attention], -1))
        self._attention_fn = attention_fn or compute_attention
        self._layers, self._attention_size = self._attention_layers(attention_layer_size, attention_layer)
        self._initial_cell_state = None
        if initial_cell_state is not None:
            with name_scope(name, "AttentionWrapperInit"):
                self._initial_cell_state = self._check_batch_size(initial_cell_state, shape(nest.flatten(initial_cell_state)[-1])[0],
                                                         "check_initial_cell_state")

    def _attention_layers(self, sizes: Any, layers: Any) -> tuple[Any, Any]:
        """(a layer or None per mechanism, the size of the attention)."""
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        depths = [mechanism.values.shape.as_list()[-1] for mechanism in self._mechanisms]
        if sizes is None and layers is None:
            return (None,) * len(self._mechanisms), sum(depths)
        given = sizes if sizes is not None else layers
        given = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if len(given) != len(self._mechanisms):
            what = "attention_layer_size" if sizes is not None else "attention_layer"
            raise ValueError(f"If provided, {what} must contain exactly one integer per attention_mechanism, saw: {len(given)} vs "
                             f"{len(self._mechanisms)}")
        if sizes is not None:
            return tuple(Projection(size, "attention_layer", mechanism.dtype) for size, mechanism in zip(given, self._mechanisms)), sum(given)
        shapes = [layer.compute_output_shape(TensorShape([None, self._cell.output_size + depth])) for layer, depth in zip(given, depths)]
        return given, sum(TensorShape(shape).as_list()[-1] for shape in shapes)

    def _check_batch_size(self, structure: Any, batch_size: Any, name: str) -> Any:
        """The structure, after a check that memory and state have the same batch size."""
        message = (f"When applying AttentionWrapper {self._base_name}: Non-matching batch sizes between the memory (encoder output) and the state. "
                   "Are you using the BeamSearchDecoder? You may need to tile your initial state and memory via tf.contrib.seq2seq.tile_batch "
                   "with argument multiple=beam_width.")
        checks = [assert_equal(batch_size, mechanism.batch_size, message=message) for mechanism in self._mechanisms]
        with control_dependencies([check for check in checks if check is not None]):
            return nest.map_structure(lambda tensor: identity(tensor, name=name) if isinstance(tensor, Tensor) else tensor, structure)

    def _item_or_tuple(self, items: Any) -> Any:
        items = tuple(items)
        return items if self._is_multi else items[0]

    @property
    def output_size(self) -> Any:
        """The size of the attention, or of the cell's output."""
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """The sizes of the parts of the state."""
        sizes = [mechanism.alignments_size for mechanism in self._mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size, time=TensorShape([]), attention=self._attention_size, alignments=self._item_or_tuple(sizes),
            attention_state=self._item_or_tuple(mechanism.state_size for mechanism in self._mechanisms),
            alignment_history=self._item_or_tuple(size if self._history else () for size in sizes))

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """The state before the first step. Use its ``clone`` to start from an encoder's state."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size] if isinstance(batch_size, Tensor) else []):
            cell_state = self._cell.zero_state(batch_size, dtype) if self._initial_cell_state is None else self._initial_cell_state
            cell_state = self._check_batch_size(cell_state, batch_size, "checked_cell_state")
            alignments = [mechanism.initial_alignments(batch_size, dtype) for mechanism in self._mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state, time=zeros([], dtype=dt.int32), attention=zero_state_tensors(self._attention_size, batch_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(mechanism.initial_state(batch_size, dtype) for mechanism in self._mechanisms),
                alignment_history=self._item_or_tuple(self._new_history(alignment, dtype) for alignment in alignments))

    def _new_history(self, alignment: Tensor, dtype: Any) -> Any:
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignment.shape) if self._history else ()

    def call(self, inputs: Any, state: Any) -> tuple[Any, AttentionWrapperState]:
        """One step."""
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead.")
        cell_output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        known = cell_output.shape.as_list()[0]
        cell_output = self._check_batch_size(cell_output, shape(cell_output)[0] if known is None else known, "checked_cell_output")
        before = state.attention_state if self._is_multi else [state.attention_state]
        histories = state.alignment_history if self._is_multi else [state.alignment_history]
        attended = [self._attention_fn(mechanism, cell_output, its_state, layer)
                    for mechanism, its_state, layer in zip(self._mechanisms, before, self._layers)]
        attentions, alignments, attention_states = zip(*attended)
        attention = concat(list(attentions), 1)
        next_state = AttentionWrapperState(
            time=state.time + 1, cell_state=cell_state, attention=attention, attention_state=self._item_or_tuple(attention_states),
            alignments=self._item_or_tuple(alignments),
            alignment_history=self._item_or_tuple(history.write(state.time, alignment) if self._history else ()
                                                  for history, alignment in zip(histories, alignments)))
        return (attention if self._output_attention else cell_output), next_state
