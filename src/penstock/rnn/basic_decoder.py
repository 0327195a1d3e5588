"""BasicDecoder: a cell whose inputs come from a helper."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from penstock.graph import nest
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.rnn.cell import assert_like_rnncell
from penstock.rnn.decoder import Decoder
from penstock.rnn.helpers import Helper

BasicDecoderOutput = namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))


def output_size_of(cell: Any, output_layer: Any) -> Any:
    """The size of a cell's output after a layer (anything with ``compute_output_shape``), if there is one."""
    if output_layer is None:
        return cell.output_size
    unknown_batch = nest.map_structure(lambda size: TensorShape([None]).concatenate([size] if isinstance(size, int) else size), cell.output_size)
    return nest.map_structure(lambda shape: TensorShape(shape)[1:], output_layer.compute_output_shape(unknown_batch))


class BasicDecoder(Decoder):
    """``tf.contrib.seq2seq.BasicDecoder``: at each step the helper chooses a sample of the output, and from it the next input."""

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        assert_like_rnncell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._helper, self._initial_state, self._output_layer = cell, helper, initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        """That of the helper."""
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        """The sizes of outputs and samples."""
        return BasicDecoderOutput(output_size_of(self._cell, self._output_layer), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """The types of outputs (that of the state) and samples."""
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(nest.map_structure(lambda _: dtype, output_size_of(self._cell, self._output_layer)), self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """What the helper starts with, and the given state."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """One step of the cell."""
        with name_scope(name, "BasicDecoderStep"):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            sample_ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(time=time, outputs=outputs, state=cell_state, sample_ids=sample_ids)
        return BasicDecoderOutput(outputs, sample_ids), next_state, next_inputs, finished
