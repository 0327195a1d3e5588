"""Matrices of a checkpoint whose rows and columns belong to other words now: the operations behind ``tf.contrib.framework.load_*_initializer``."""
from __future__ import annotations

import numpy as np

from penstock.checkpoint.versions import open_checkpoint
from penstock.errors import FailedPreconditionError, KernelError, UnimplementedError, invalid_argument
from penstock.graph import dtypes
from penstock.graph.attrs import Attr
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, scalar
from penstock.ops.state.save_restore import errors_of_files, name_of, path_of_checkpoint


def _words(path: str) -> list[bytes]:
    with errors_of_files(path), open(path, "rb") as file:
        return file.read().splitlines()


def _places(words: list[bytes]) -> dict[bytes, int]:
    places: dict[bytes, int] = {}
    for place, word in enumerate(words):
        if places.setdefault(word, place) != place:
            raise KernelError(FailedPreconditionError, f"HashTable has different value for same key. Key {word.decode(errors='replace')} has "
                                                       f"{places[word]} and trying to add value {place}")
    return places


@op("GenerateVocabRemapping", "new_vocab_file: string, old_vocab_file: string -> remapping: int64, num_present: int32",
    new_vocab_offset=Attr("int", minimum=0), num_new_vocab=Attr("int", minimum=0), old_vocab_size=Attr("int", -1, minimum=-1))
class GenerateVocabRemapping:
    """Where the words of a part of the new file stand in the old one, -1 if they do not; and how many do."""

    touches = "files"
    ranks = {"new_vocab_file": 0, "old_vocab_file": 0}
    gradient = None
    blocking = stateful = True  # files may change

    def shape(num_new_vocab):
        return [TensorShape([num_new_vocab]), scalar()]

    def kernel(new_vocab_file, old_vocab_file, new_vocab_offset, num_new_vocab, old_vocab_size):
        path = path_of_checkpoint(new_vocab_file)
        words, old = _words(path), _words(path_of_checkpoint(old_vocab_file))
        if new_vocab_offset + num_new_vocab > len(words):
            raise invalid_argument(f"{path} has {len(words)} words, of which {num_new_vocab} are asked for from {new_vocab_offset} on")
        places = _places(old if old_vocab_size < 0 else old[:old_vocab_size])
        remapping = np.array([places.get(word, -1) for word in words[new_vocab_offset:new_vocab_offset + num_new_vocab]], np.int64)
        return remapping, np.int32((remapping >= 0).sum())


@op("LoadAndRemapMatrix", "ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, initializing_values: float32 -> "
    "output_matrix: float32", num_rows=Attr("int", minimum=0), num_cols=Attr("int", minimum=1), max_rows_in_memory=-1)
class LoadAndRemapMatrix:
    """Rows and columns of a stored matrix; where a remapping is negative, the initializing values come, one after the other."""

    touches = "files"
    ranks = {"old_tensor_name": 0, "row_remapping": 1, "col_remapping": 1}
    gradient = None
    blocking = stateful = True

    def shape(num_rows, num_cols):
        return TensorShape([num_rows, num_cols])

    def kernel(ckpt_path, old_tensor_name, row_remapping, col_remapping, initializing_values, num_rows, num_cols):
        matrix = _stored(path_of_checkpoint(np.reshape(ckpt_path, ())), name_of(old_tensor_name.item()))
        columns = col_remapping if col_remapping.size else np.arange(num_cols)
        for what, places, count, stored in (("row", row_remapping, num_rows, matrix.shape[0]), ("col", columns, num_cols, matrix.shape[1])):
            _check_places(what, places, count, stored)
        known = (row_remapping >= 0)[:, None] & (columns >= 0)[None, :]
        if initializing_values.size != known.size - known.sum():
            raise invalid_argument(f"{initializing_values.size} initializing values for {known.size - known.sum()} missing elements")
        result = np.empty((num_rows, num_cols), np.float32)
        result[known] = matrix[np.ix_(row_remapping[row_remapping >= 0], columns[columns >= 0])].ravel()
        result[~known] = initializing_values.ravel()
        return result


def _stored(path: str, name: str) -> np.ndarray:
    with errors_of_files(path):
        checkpoint = open_checkpoint(path)
        stored = checkpoint.stored(name)
        if len(stored.shape) != 2 or stored.dtype is not dtypes.float32:
            raise invalid_argument(f"tensor {name} must be a matrix of float32, but it is {stored.dtype.name} of shape {list(stored.shape)}")
        return checkpoint.read(name)


def _check_places(what: str, places: np.ndarray, count: int, stored: int) -> None:
    if len(places) != count:
        raise invalid_argument(f"Size of {what}_remapping is {len(places)} instead of being equal to num_{what}s={count}")
    if places.size and places.max() >= stored:
        raise invalid_argument(f"{what}_remapping has the entry {places.max()}, but the stored matrix has {stored} {what}s")
    taken, counts = np.unique(places[places >= 0], return_counts=True)
    if (counts > 1).any():
        first, second = np.flatnonzero(places == taken[counts > 1][0])[:2]
        raise KernelError(UnimplementedError, f"Old ID {places[first]} is mapped to both new ID {first} and {second}, which is not supported.")
