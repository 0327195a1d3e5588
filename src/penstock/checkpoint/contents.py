"""``tf.train.NewCheckpointReader`` and the functions that look into checkpoints."""
from __future__ import annotations

import os
from typing import Any

from tensorboard.compat.proto.types_pb2 import DataType

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.checkpoint.versions import open_checkpoint
from penstock.graph.dtypes import DType


class CheckpointReader:
    """What is in a checkpoint, and the values. It reads what it is asked for and nothing else.

    >>> import tempfile, numpy as np
    >>> from penstock.checkpoint.bundle_writer import BundleWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with BundleWriter(folder + "/model") as writer:
    ...         writer.add("w", np.ones((2, 3), np.float32))
    ...     reader = CheckpointReader(folder + "/model")
    ...     reader.get_variable_to_shape_map(), float(reader.get_tensor("w").sum())
    ({'w': [2, 3]}, 6.0)
    """

    def __init__(self, filepattern: str) -> None:
        self._checkpoint = open_checkpoint(os.fsdecode(filepattern))

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """{name: shape}."""
        return {name: list(stored.shape) for name, stored in self._checkpoint.tensors.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """{name: type}."""
        return {name: stored.dtype for name, stored in self._checkpoint.tensors.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Is there a tensor of this name?"""
        return tensor_str in self._checkpoint.tensors

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of a tensor; a scalar of NumPy for a scalar. NotFoundError if there is no such tensor."""
        array = self._checkpoint.read(tensor_str)
        return array[()] if array.ndim == 0 else array

    def debug_string(self) -> bytes:
        """A line per tensor: name, type, shape."""
        lines = [f"{name} ({DataType.Name(stored.dtype.as_datatype_enum)}) {','.join(map(str, stored.shape)).join('[]')}\n"
                 for name, stored in sorted(self._checkpoint.tensors.items())]
        return "".join(lines).encode()


def new_checkpoint_reader(filepattern: str) -> CheckpointReader:
    """``tf.train.NewCheckpointReader``: opens the checkpoint that was saved as ``filepattern``."""
    return CheckpointReader(filepattern)


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """``tf.train.load_checkpoint``: the reader of a checkpoint, or of the latest in a folder."""
    return CheckpointReader(checkpoint_path(ckpt_dir_or_file))


def checkpoint_path(ckpt_dir_or_file: str) -> str:
    """The checkpoint itself, or the latest in a folder; ValueError if the folder has none."""
    if not os.path.isdir(ckpt_dir_or_file):
        return ckpt_dir_or_file
    latest = latest_checkpoint(ckpt_dir_or_file)
    if latest is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}")
    return latest


def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """``tf.train.load_variable``: the value of one variable."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """``tf.train.list_variables``: (name, shape) of each variable, in the order of names."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
