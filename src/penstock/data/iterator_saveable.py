"""The place of an iterator in a checkpoint."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph.dtypes import int64
from penstock.graph.node import Tensor
from penstock.ops.data.iterator import IteratorPlace, MoveIterator
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


def save_iterator(iterator: Tensor, path: Any, name: str | None = None) -> Any:
    """The operation SaveIterator of TensorFlow before 1.5: writes the place of the iterator, a resource, to the files ``path``."""
    return SaveV2(path, ["iterator"], [""], [IteratorPlace(iterator, name="IteratorPlace")], name=name)


def restore_iterator(iterator: Tensor, path: Any, name: str | None = None) -> Any:
    """The operation RestoreIterator: moves the iterator to the place in the files ``path``."""
    place, = RestoreV2(path, ["iterator"], [""], dtypes=[int64])
    return MoveIterator(iterator, place, name=name or "RestoreIterator")
