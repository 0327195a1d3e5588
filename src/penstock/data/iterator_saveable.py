"""The place of an iterator in a checkpoint: of ``tf.train.Saver``, of ``tf.train.Checkpoint``, and of the ops of older TensorFlow."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.graph.dtypes import int64, string
from penstock.graph.node import Tensor
from penstock.ops.array.shape_ops import reshape
from penstock.ops.data.iterator import IteratorDataset, IteratorPlace, MoveIterator, RestoreIterator
from penstock.ops.state.save_restore import RestoreV2, SaveV2
from penstock.train.saveable import SaveableObject, SaveSpec


def make_saveable_from_iterator(iterator: Any) -> IteratorSaveable:
    """What ``tf.train.Saver`` stores of an iterator: add it to the collection ``tf.GraphKeys.SAVEABLE_OBJECTS``."""
    return IteratorSaveable(iterator._iterator_resource)


class IteratorSaveable(SaveableObject):
    """Saves how many elements were taken, and the seeds of the dataset. To restore, the iterator, which must have been initialized, starts again with
    these seeds and passes over as many elements. Random ops in mapped functions go on with other numbers.
    """

    def __init__(self, resource: Tensor) -> None:
        super().__init__(resource, [SaveSpec(IteratorPlace(resource, name="IteratorPlace"), "", resource.name + "-state")], resource.name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """Moves the iterator to its place."""
        return MoveIterator(self.op, restored_tensors[0], name="MoveIterator")


class PlaceInCheckpoint:
    """The part of an iterator that ``tf.train.Checkpoint`` asks for; it saves what ``IteratorSaveable`` does."""

    saved_as = "ITERATOR"
    _iterator_resource: Tensor

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        return iter(())

    def _saved_value(self) -> Tensor:
        place: Tensor = IteratorPlace(self._iterator_resource, name="IteratorPlace")
        return place

    def _restore_value(self, value: Any) -> Any:
        return MoveIterator(self._iterator_resource, value, name="MoveIterator")


def save_iterator(iterator: Tensor, path: Any, name: str | None = None) -> Any:
    """The operation SaveIterator of TensorFlow before 1.5: writes the place of the iterator, a resource, and its dataset to the files ``path``."""
    parts = [IteratorPlace(iterator, name="IteratorPlace"), IteratorDataset(iterator, name="IteratorDataset")]
    return SaveV2(path, ["iterator", "dataset"], [""] * 2, parts, name=name)


def restore_iterator(iterator: Tensor, path: Any, name: str | None = None) -> Any:
    """The operation RestoreIterator: moves the iterator to the place in the files ``path``. The dataset is in these files, too, and need not be
    there; but one whose functions use variables or tables must have been given to the iterator.
    """
    place, dataset = RestoreV2(path, ["iterator", "dataset"], [""] * 2, dtypes=[int64, string])
    return RestoreIterator(iterator, place, reshape(dataset, []), name=name or "RestoreIterator")
