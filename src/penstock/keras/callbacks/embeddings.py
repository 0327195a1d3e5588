"""What layers make of given data, saved as variables that the projector of TensorBoard shows."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.contrib.projector import ProjectorConfig, visualize_embeddings
from penstock.graph.node import Tensor
from penstock.layers.branching import phase_state
from penstock.layers.sessions import assign_values, initialized_session
from penstock.train.saver import Saver
from penstock.variables.variable import Variable


class LayerEmbeddings:
    """The outputs of layers, by default of all Embedding layers, for ``data``: one variable per layer, one row per sample."""

    def __init__(self, model: Any, data: Any, layer_names: Sequence[str] | None = None) -> None:
        self._inputs = list(model.inputs)
        listed = [data[name] for name in model.input_names] if isinstance(data, Mapping) else data if isinstance(data, (list, tuple)) else [data]
        self._data = [np.asarray(each) for each in listed]
        names = layer_names or [layer.name for layer in model.layers if type(layer).__name__ == "Embedding"]
        layers = [layer for layer in model.layers if layer.name in names]
        self._outputs = [layer.output for layer in layers]
        with initialized_session().graph.as_default():
            self._variables = {layer.name: Variable(np.zeros([len(self._data[0]), int(np.prod(layer.output.shape.as_list()[1:]))], np.float32),
                                                    name=f"{layer.name}_embedding") for layer in layers}
            self._saver = Saver(list(self._variables.values()))

    def describe(self, writer: Any, metadata: str | Mapping[str, str] | None) -> None:
        """Writes which variables there are, and which files name their rows, beside the event files."""
        config = ProjectorConfig()
        for name, variable in self._variables.items():
            embedding = config.embeddings.add()
            embedding.tensor_name = variable.name
            path = metadata if isinstance(metadata, str) else (metadata or {}).get(name)
            if path is not None:
                embedding.metadata_path = path
        visualize_embeddings(writer, config)

    def save(self, path: str, step: int, batch_size: int) -> None:
        """Computes the outputs in batches and saves them."""
        session = initialized_session()
        phase = {each: False for each in phase_state() if isinstance(each, Tensor)}
        parts = []
        for start in range(0, len(self._data[0]), batch_size):
            feeds = {tensor: array[start:start + batch_size] for tensor, array in zip(self._inputs, self._data)}
            parts.append(session.run(self._outputs, {**phase, **feeds}))
        assign_values([(variable, np.concatenate([each.reshape(len(each), -1) for each in outputs]))
                       for variable, outputs in zip(self._variables.values(), zip(*parts))])
        self._saver.save(session, os.fspath(path), step)
