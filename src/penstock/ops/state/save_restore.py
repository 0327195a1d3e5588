"""Saving tensors to checkpoints and restoring them: the ops of ``tf.train.Saver``. The formats are in ``penstock.checkpoint``."""
from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.checkpoint.bundle_writer import BundleWriter, merge
from penstock.checkpoint.reader import Checkpoint
from penstock.checkpoint.slices import parse_shape_and_slice
from penstock.checkpoint.version1 import write_version1
from penstock.checkpoint.versions import open_checkpoint
from penstock.errors import KernelError, OpError, ResourceExhaustedError, invalid_argument
from penstock.graph.attrs import TYPE, type_list
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.common import fixed, nothing
from penstock.ops.text.files import file_error, text


@contextlib.contextmanager
def errors_of_files(path: str) -> Iterator[None]:
    """Turns what goes wrong with files into what kernels raise."""
    try:
        yield
    except OpError as error:
        raise KernelError(type(error), error.message) from None
    except ValueError as error:  # a path with a null byte in it
        raise invalid_argument(f"{path!r}: {error}") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise KernelError(ResourceExhaustedError, f"{path}: {error.strerror}", "make room, or keep fewer checkpoints: max_to_keep") from error
        raise file_error(error, str(error.filename or path)) from None


def _texts(array: np.ndarray) -> list[str]:
    return [name_of(item) for item in array.reshape(-1)]


def name_of(item: bytes) -> str:
    try:
        return item.decode()
    except UnicodeDecodeError:
        raise invalid_argument(f"{item!r} cannot be the name of a tensor or of a slice: it is not UTF-8") from None


def path_of_checkpoint(value: Any) -> str:
    """A path may be any bytes."""
    return os.fsdecode(text(value))


def _check_lengths(names: Sequence[Any], specs: Sequence[Any], tensors: Sequence[Any]) -> None:
    if not len(names) == len(specs) == len(tensors):
        raise invalid_argument(f"{len(names)} tensor names and {len(specs)} shapes and slices for {len(tensors)} tensors")


# --- version 2 -------------------------------------------------------------------------------------------------------

@op("SaveV2", "prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes ->", dtypes=type_list(1))
class SaveV2:
    """Writes tensors, or the parts of tensors that ``shape_and_slices`` says, as a checkpoint; it is there whole or not at all."""

    touches = "files"
    ranks = {"prefix": 0, "tensor_names": 1, "shape_and_slices": 1}
    shape = nothing()
    gradient = None
    blocking = stateful = True

    def kernel(prefix, tensor_names, shape_and_slices, tensors, dtypes):
        path, names, specs = path_of_checkpoint(prefix), _texts(tensor_names), _texts(shape_and_slices)
        _check_lengths(names, specs, tensors)
        with errors_of_files(path), BundleWriter(path) as writer:
            for name, spec, tensor, dtype in zip(names, specs, tensors, dtypes):
                if spec:
                    writer.add_slice(name, *parse_shape_and_slice(spec), tensor, dtype)
                else:
                    writer.add(name, tensor, dtype)
        return ()


@op("RestoreV2", "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: dtypes", dtypes=type_list(1))
class RestoreV2:
    """Reads tensors, or parts of tensors, from a checkpoint of either version."""

    touches = "files"
    ranks = {"prefix": 0, "tensor_names": 1, "shape_and_slices": 1}
    gradient = None
    blocking = stateful = True

    def shape(tensor_names, shape_and_slices, dtypes):
        tensor_names.shape.assert_is_compatible_with(shape_and_slices.shape)
        specs = constant_value(shape_and_slices)
        if specs is None or len(specs) != len(dtypes):
            return [unknown_shape()] * len(dtypes)
        return [_restored_shape(spec.decode()) for spec in specs]

    def kernel(prefix, tensor_names, shape_and_slices, dtypes):
        path, names, specs = path_of_checkpoint(prefix), _texts(tensor_names), _texts(shape_and_slices)
        _check_lengths(names, specs, dtypes)
        with errors_of_files(path):
            checkpoint = open_checkpoint(path)
            missing = [name for name in names if name not in checkpoint.tensors]
            if missing:  # before gigabytes are read
                checkpoint.stored(missing[0])
            return tuple(_restore(checkpoint, name, spec, dtype) for name, spec, dtype in zip(names, specs, dtypes))


def _restored_shape(spec: str) -> TensorShape:
    if not spec:
        return unknown_shape()
    try:
        full, part = parse_shape_and_slice(spec)
    except OpError as error:
        raise ValueError(error.message) from None
    return TensorShape(part.shape(full))


def _restore(checkpoint: Checkpoint, name: str, spec: str, dtype: DType) -> np.ndarray:
    stored = checkpoint.stored(name)
    if stored.dtype is not dtype:
        raise invalid_argument(f"tensor_name = {name}; expected dtype {dtype.name} does not equal original dtype {stored.dtype.name} "
                               f"(in {checkpoint.path})")
    return checkpoint.read_slice(name, *parse_shape_and_slice(spec)) if spec else checkpoint.read(name)


@op("MergeV2Checkpoints", "checkpoint_prefixes: string, destination_prefix: string ->", delete_old_dirs=True)
class MergeV2Checkpoints:
    """Makes one checkpoint of those that several devices have written."""

    touches = "files"
    ranks = {"checkpoint_prefixes": 1, "destination_prefix": 0}
    shape = nothing()
    gradient = None
    blocking = stateful = True

    def kernel(checkpoint_prefixes, destination_prefix, delete_old_dirs):
        prefixes, destination = [os.fsdecode(item) for item in checkpoint_prefixes.reshape(-1)], path_of_checkpoint(destination_prefix)
        with errors_of_files(destination):
            merge(prefixes, destination)
        for folder in {os.path.dirname(prefix) for prefix in prefixes} if delete_old_dirs else ():
            with contextlib.suppress(OSError):  # something else is in it: then it is not ours to delete
                os.rmdir(folder)
        return ()


@op("ShardedFilename", "basename: string, shard: int32, num_shards: int32 -> filename: string")
class ShardedFilename:
    """The name of one of several files: ``base-00001-of-00004``."""

    ranks = {"basename": 0, "shard": 0, "num_shards": 0}
    rank_words = {name: (0, name + " must be a scalar, got shape {shape}") for name in ranks}
    shape = fixed()
    gradient = None

    def kernel(basename, shard, num_shards):
        return np.asarray(b"%s-%05d-of-%05d" % (text(basename), shard, num_shards), object)


@op("ShardedFilespec", "basename: string, num_shards: int32 -> filename: string")
class ShardedFilespec:
    """The pattern of the names of several files: ``base-?????-of-00004``."""

    ranks = {"basename": 0, "num_shards": 0}
    rank_words = {name: (0, name + " must be a scalar, got shape {shape}") for name in ranks}
    shape = fixed()
    gradient = None

    def kernel(basename, num_shards):
        return np.asarray(b"%s-?????-of-%05d" % (text(basename), num_shards), object)


# --- version 1 -------------------------------------------------------------------------------------------------------

@op("SaveSlices", "filename: string, tensor_names: string, shapes_and_slices: string, data: T ->", T=type_list(1))
class SaveSlices:
    """Writes tensors, or parts of them, as a file of the first version."""

    touches = "files"
    ranks = {"filename": 0, "tensor_names": 1, "shapes_and_slices": 1}
    shape = nothing()
    gradient = None
    blocking = stateful = True

    def kernel(filename, tensor_names, shapes_and_slices, data, T):
        return _save_version1(filename, _texts(tensor_names), _texts(shapes_and_slices), data, T)


@op("Save", "filename: string, tensor_names: string, data: T ->", T=type_list(1))
class Save:
    """Writes tensors as a file of the first version."""

    touches = "files"
    ranks = {"filename": 0, "tensor_names": 1}
    shape = nothing()
    gradient = None
    blocking = stateful = True

    def kernel(filename, tensor_names, data, T):
        return _save_version1(filename, _texts(tensor_names), [""] * len(data), data, T)


def _save_version1(filename: Any, names: list[str], specs: list[str], data: Sequence[np.ndarray], types: Sequence[DType]) -> tuple[()]:
    path = path_of_checkpoint(filename)
    _check_lengths(names, specs, data)
    with errors_of_files(path):
        write_version1(path, [(name, parse_shape_and_slice(spec) if spec else None, tensor, dtype)
                              for name, spec, tensor, dtype in zip(names, specs, data, types)])
    return ()


@op("RestoreSlice", "file_pattern: string, tensor_name: string, shape_and_slice: string -> tensor: dt", dt=TYPE, preferred_shard=-1)
class RestoreSlice:
    """Reads a tensor, or a part of one, from a checkpoint of either version."""

    touches = "files"
    ranks = {"file_pattern": 0, "tensor_name": 0, "shape_and_slice": 0}
    gradient = None
    blocking = stateful = True

    def shape(shape_and_slice: Tensor):
        spec = constant_value(shape_and_slice)
        return unknown_shape() if spec is None else _restored_shape(text(spec).decode())

    def kernel(file_pattern, tensor_name, shape_and_slice, dt):
        return _restore_one(file_pattern, tensor_name, name_of(text(shape_and_slice)), dt)


@op("Restore", "file_pattern: string, tensor_name: string -> tensor: dt", dt=TYPE, preferred_shard=-1)
class Restore:
    """Reads a tensor from a checkpoint of either version."""

    touches = "files"
    ranks = {"file_pattern": 0, "tensor_name": 0}
    gradient = None
    blocking = stateful = True

    def shape():
        return unknown_shape()

    def kernel(file_pattern, tensor_name, dt):
        return _restore_one(file_pattern, tensor_name, "", dt)


def _restore_one(pattern: Any, name: Any, spec: str, dtype: DType) -> np.ndarray:
    path = path_of_checkpoint(pattern)
    with errors_of_files(path):
        return _restore(open_checkpoint(path), name_of(text(name)), spec, dtype)
