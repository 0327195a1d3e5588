"""The callback that writes event files for TensorBoard."""
from __future__ import annotations

import os
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.gradients import gradients
from penstock.graph.composite import IndexedSlices
from penstock.graph.node import Tensor
from penstock.keras.callbacks.base import Callback
from penstock.keras.callbacks.embeddings import LayerEmbeddings
from penstock.layers.sessions import initialized_session
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import expand_dims, reshape, squeeze
from penstock.summary.file_writer import FileWriter
from penstock.summary.summary import histogram, image, merge_all

_NOT_METRICS = ("batch", "size", "num_steps")


class TensorBoard(Callback):
    """``tf.keras.callbacks.TensorBoard``: the graph, the metrics of epochs or of batches, histograms of weights and activations."""

    def __init__(self, log_dir: str = "./logs", histogram_freq: int = 0, batch_size: int = 32, write_graph: bool = True, write_grads: bool = False,
                 write_images: bool = False, embeddings_freq: int = 0, embeddings_layer_names: Any = None, embeddings_metadata: Any = None,
                 embeddings_data: Any = None, update_freq: Any = "epoch", profile_batch: int = 2) -> None:
        super().__init__()
        self.log_dir, self.histogram_freq, self.batch_size = log_dir, histogram_freq, batch_size
        self.write_graph, self.write_images, self.write_grads = write_graph, write_images, write_grads
        self.embeddings_freq, self.embeddings_layer_names, self.embeddings_metadata = embeddings_freq, embeddings_layer_names, embeddings_metadata
        self.embeddings_data = embeddings_data
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._samples_seen = self._samples_seen_at_last_write = self._batches_seen = self._evaluated_batches = 0
        self.writer: Any = None
        self._merged: Any = None
        self._embeddings: LayerEmbeddings | None = None

    def set_model(self, model: Any) -> None:
        """Opens the event file and writes the graph."""
        self.model = model
        self.writer = FileWriter(self.log_dir, initialized_session().graph if self.write_graph else None)
        if self.histogram_freq and self._merged is None:
            with initialized_session().graph.as_default():
                self._make_summaries()
                self._merged = merge_all()  # with those that the program made of its own
        if self.embeddings_freq and self.embeddings_data is not None:
            self._embeddings = LayerEmbeddings(model, self.embeddings_data, self.embeddings_layer_names)
            self._embeddings.describe(self.writer, self.embeddings_metadata)

    def _make_summaries(self) -> None:
        """Adds the summaries of all layers to the graph."""
        for layer in self.model.layers:
            for weight in layer.weights:
                name = _tag(weight)
                histogram(name, weight)
                images = _images(weight) if self.write_images else None
                if images is not None:
                    image(name, images)
            for weight in layer.trainable_weights if self.write_grads else ():
                grad, = gradients(self.model.total_loss, [weight])
                histogram(f"{_tag(weight)}_grad", grad.values if isinstance(grad, IndexedSlices) else grad)
            outputs = getattr(layer, "_inbound_nodes", ()) and layer._inbound_nodes[-1].output_tensors
            flat = outputs if isinstance(outputs, list) else [outputs]
            for index, tensor in enumerate(flat):
                if isinstance(tensor, Tensor):
                    histogram(f"{layer.name}_out" if len(flat) == 1 else f"{layer.name}_out_{index}", tensor)

    def _step(self) -> Any:
        return self.model._make_test_function()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Has the evaluation of this epoch compute the histograms, if they are due."""
        if self._is_due(epoch) and self._merged is not None:
            self._step().extra = [self._merged]

    def _is_due(self, epoch: int) -> bool:
        return bool(self.histogram_freq) and epoch % self.histogram_freq == 0 and bool(self.params.get("do_validation"))

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Writes the histograms of a batch; their steps are the batches for which they were written."""
        if self._merged is not None and self._step().extra:
            self.writer.add_summary(self._step().extra_values[0], self._evaluated_batches)
            self._evaluated_batches += 1

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Writes the metrics of a batch."""
        logs = logs or {}
        self._samples_seen += logs.get("size", 1)
        if self.update_freq != "epoch" and self._samples_seen - self._samples_seen_at_last_write >= self.update_freq:
            self._write({f"batch_{name}": value for name, value in logs.items() if name not in _NOT_METRICS}, self._batches_seen)
            self._samples_seen_at_last_write = self._samples_seen
        self._batches_seen += 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes the metrics of an epoch."""
        step = epoch if self.update_freq == "epoch" else self._samples_seen
        self._write({f"epoch_{name}": value for name, value in (logs or {}).items() if name not in _NOT_METRICS}, step)
        if self._merged is not None:
            self._step().extra = []
        if self.embeddings_freq and self._embeddings is None:
            raise ValueError("To visualize embeddings, embeddings_data must be provided.")
        if self._embeddings is not None and epoch % self.embeddings_freq == 0:
            self._embeddings.save(os.path.join(self.log_dir, "keras_embedding.ckpt"), epoch, self.batch_size)

    def _write(self, values: dict[str, Any], step: int) -> None:
        for name, value in values.items():
            self.writer.add_summary(Summary(value=[Summary.Value(tag=name, simple_value=float(np.asarray(value)))]), step)
        self.writer.flush()

    def on_train_end(self, logs: Any = None) -> None:
        """Closes the event file."""
        self.writer.close()


def _tag(weight: Any) -> str:
    return str(weight.name.replace(":", "_"))


def _images(weight: Any) -> Any:
    """A weight as images: (number, height, width, 1); None if it has too many axes."""
    extents = [extent for extent in weight.shape.as_list() if extent != 1]
    flat = squeeze(weight)
    if len(extents) == 1:
        return reshape(flat, [1, extents[0], 1, 1])
    if len(extents) == 2:
        tall = extents[0] > extents[1]
        return reshape(transpose(flat) if tall else flat, [1, *(reversed(extents) if tall else extents), 1])
    if len(extents) == 3:
        return expand_dims(transpose(flat, [2, 0, 1]), -1)
    return None
