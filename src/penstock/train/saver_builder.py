"""BaseSaverBuilder: adds the nodes of a Saver to the graph, with TensorFlow's names, so that a MetaGraph's saver works in either system.

    save/Const                    the path, which is fed
    save/SaveV2                   writes everything (sharded: one per device into a folder of its own, then MergeV2Checkpoints)
    save/control_dependency       the path again, once that is done: running it saves
    save/RestoreV2, save/Assign   one reads, one per variable assigns
    save/restore_all              running it restores

An asynchronous saver has some more; see ``saver_snapshot.py``.
"""
from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.saver_pb2 import SaverDef

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.device import DeviceSpec
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import control_dependencies, device, name_scope
from penstock.ops.array.pack import stack
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.constant import constant, identity, placeholder_with_default
from penstock.ops.flow.misc import group, with_dependencies
from penstock.ops.state.save_restore import MergeV2Checkpoints, RestoreV2, SaveSlices, SaveV2, ShardedFilename, ShardedFilespec
from penstock.ops.text.strings import string_join
from penstock.program.devices import host_device
from penstock.train import saveable as saveable_module
from penstock.train.saveable import SaveableObject as Saveable
from penstock.train.saver_snapshot import SAVED, add_snapshot_ops


class BaseSaverBuilder:
    """Subclasses may change how tensors are written (``save_op``) and read (``restore_op``, ``bulk_restore``)."""

    SaveSpec = saveable_module.SaveSpec
    SaveableObject = saveable_module.SaveableObject
    VariableSaveable = saveable_module.VariableSaveable
    ResourceVariableSaveable = saveable_module.ResourceVariableSaveable

    def __init__(self, write_version: int = SaverDef.V2) -> None:
        self._write_version = write_version

    # --- what is written and read ------------------------------------------------------------------------------------

    def save_op(self, filename_tensor: Tensor, saveables: list[Saveable]) -> Operation:
        """An operation that writes all ``saveables``."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        names, slices, tensors = [spec.name for spec in specs], [spec.slice_spec for spec in specs], [spec.tensor for spec in specs]
        if self._write_version == SaverDef.V1:
            return SaveSlices(filename_tensor, names, slices, tensors, name="save")
        if self._write_version == SaverDef.V2:
            return SaveV2(filename_tensor, names, slices, tensors)
        raise RuntimeError(f"Unexpected write_version: {self._write_version}")

    def bulk_restore(self, filename_tensor: Tensor, saveables: list[Saveable], preferred_shard: int,
                     restore_sequentially: bool) -> list[Tensor]:
        """The values of all tensors of ``saveables``, in order; here each is read by itself."""
        tensors: list[Tensor] = []
        for saveable in saveables:
            with device(host_device(saveable.device) if saveable.device else None):
                tensors.extend(self.restore_op(filename_tensor, saveable, preferred_shard))
        return tensors

    def restore_op(self, filename_tensor: Tensor, saveable: Saveable, preferred_shard: int) -> list[Tensor]:
        """The values of the tensors of one of the ``saveables``."""
        return [_restore_v2(filename_tensor, [spec])[0] for spec in saveable.specs]

    def sharded_filename(self, filename_tensor: Tensor, shard: int, num_shards: Tensor) -> Tensor:
        """The name of the file of one shard."""
        return ShardedFilename(filename_tensor, shard, num_shards)

    # --- saving ------------------------------------------------------------------------------------------------------

    def _add_save_ops(self, filename_tensor: Tensor, saveables: list[Saveable]) -> Tensor:
        return with_dependencies([self.save_op(filename_tensor, saveables)], filename_tensor)

    def _add_sharded_save_ops(self, filename_tensor: Tensor, per_device: list[tuple[str, list[Saveable]]]) -> Tensor:
        """One file per device, in a folder of its own until all are there."""
        if self._write_version == SaverDef.V1:
            return self._add_sharded_save_ops_v1(filename_tensor, per_device)
        temporary = string_join([filename_tensor, f"_temp_{uuid.uuid4().hex}/part"])
        num_shards = constant(len(per_device), dtypes.int32, name="num_shards")
        names, saves = [], []
        for shard, (where, saveables) in enumerate(per_device):
            with device(host_device(where)):
                names.append(self.sharded_filename(temporary, shard, num_shards))
                saves.append(self._add_save_ops(names[-1], saveables))
        with control_dependencies([save.op for save in saves]), device(host_device(per_device[-1][0])):
            merge = MergeV2Checkpoints(stack(names, name="MergeV2Checkpoints/checkpoint_prefixes"), filename_tensor)
            with control_dependencies([merge]):
                return identity(filename_tensor)

    def _add_asynchronous_ops(self, filename_tensor: Tensor, saveables: list[Saveable], sharded: bool) -> None:
        """The same again, in two operations: taking a snapshot, and saving that."""
        _, copies = add_snapshot_ops(saveables, lambda where: host_device(where) if where else "")
        if sharded:
            saved = self._add_sharded_save_ops(filename_tensor, self._group_by_device(copies))
        else:
            saved = self._add_save_ops(filename_tensor, copies)
        identity(saved, name=SAVED)

    def _add_sharded_save_ops_v1(self, filename_tensor: Tensor, per_device: list[tuple[str, list[Saveable]]]) -> Tensor:
        num_shards = constant(len(per_device), dtypes.int32, name="num_shards")
        saves = []
        for shard, (where, saveables) in enumerate(per_device):
            with device(where or None):
                saves.append(self._add_save_ops(self.sharded_filename(filename_tensor, shard, num_shards), saveables))
        with control_dependencies([save.op for save in saves]):
            return ShardedFilespec(filename_tensor, num_shards)

    # --- restoring ---------------------------------------------------------------------------------------------------

    def _add_restore_ops(self, filename_tensor: Tensor, saveables: list[Saveable], restore_sequentially: bool, reshape: bool,
                         preferred_shard: int = -1, name: str = "restore_all") -> Operation:
        tensors = self.bulk_restore(filename_tensor, saveables, preferred_shard, restore_sequentially)
        restored: list[Any] = []
        position = 0
        for saveable in saveables:
            values = tensors[position:position + len(saveable.specs)]
            position += len(saveable.specs)
            shapes = [_shape_for(spec) for spec in saveable.specs] if reshape else None
            with control_dependencies(restored[-1:] if restore_sequentially else []):
                restored.append(saveable.restore(values, shapes))
        return group(*restored, name=name)

    def _add_sharded_restore_ops(self, filename_tensor: Tensor, per_device: list[tuple[str, list[Saveable]]], restore_sequentially: bool,
                                 reshape: bool) -> Operation:
        shards = []
        for shard, (where, saveables) in enumerate(per_device):
            with device(where or None):
                shards.append(self._add_restore_ops(filename_tensor, saveables, restore_sequentially, reshape, shard, "restore_shard"))
        return group(*shards, name="restore_all")

    def _group_by_device(self, saveables: Iterable[Saveable]) -> list[tuple[str, list[Saveable]]]:
        """(device, what is on it), in the order of devices; all tensors of one object must be on one device."""
        by_device: dict[str, list[Saveable]] = {}
        for saveable in saveables:
            where = {task_and_device(str(spec.device)) for spec in saveable.specs}
            if len(where) > 1:
                raise ValueError(f"specs for {saveable.name} must all be on the same device: {sorted(where)}")
            by_device.setdefault(where.pop(), []).append(saveable)
        return sorted(by_device.items())

    # --- all of it ---------------------------------------------------------------------------------------------------

    def build(self, names_to_saveables: Any, reshape: bool = False, sharded: bool = False, max_to_keep: int = 5,
              keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
              filename: str = "model") -> SaverDef:
        """Adds the nodes that save and restore these variables; returns the SaverDef, which names them."""
        return self._build_internal(names_to_saveables, reshape, sharded, max_to_keep, keep_checkpoint_every_n_hours, name, restore_sequentially,
                                    filename)

    def _build_internal(self, names_to_saveables: Any, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
                        keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
                        filename: str | None = "model", build_save: bool = True, build_restore: bool = True,
                        asynchronous: bool = False) -> SaverDef:
        saveables = saveable_module.saveable_objects(names_to_saveables)
        with name_scope(name, "save", [spec.tensor for saveable in saveables for spec in saveable.specs]):
            path = placeholder_with_default(filename or "model", shape=(), name="filename")
            path = placeholder_with_default(path, shape=(), name="Const")  # the name that TensorFlow's own files use
            if sharded:
                per_device = self._group_by_device(saveables)
                save = self._add_sharded_save_ops(path, per_device) if build_save else None
                restore = self._add_sharded_restore_ops(path, per_device, restore_sequentially, reshape) if build_restore else None
            else:
                save = self._add_save_ops(path, saveables) if build_save else None
                restore = self._add_restore_ops(path, saveables, restore_sequentially, reshape) if build_restore else None
            if asynchronous:
                self._add_asynchronous_ops(path, saveables, sharded)
        return SaverDef(filename_tensor_name=path.name, save_tensor_name="" if save is None else save.name,
                        restore_op_name="" if restore is None else restore.name, max_to_keep=max_to_keep or 0, sharded=sharded,
                        keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours, version=self._write_version)


class BulkSaverBuilder(BaseSaverBuilder):
    """Reads everything with one operation, in the order of the file."""

    def bulk_restore(self, filename_tensor: Tensor, saveables: list[Saveable], preferred_shard: int,
                     restore_sequentially: bool) -> list[Tensor]:
        """The values of all tensors of ``saveables``, in order."""
        with device("/device:CPU:0"):
            return _restore_v2(filename_tensor, [spec for saveable in saveables for spec in saveable.specs])


def _restore_v2(filename_tensor: Tensor, specs: list[Any]) -> list[Tensor]:
    tensors: list[Tensor] = RestoreV2(filename_tensor, [spec.name for spec in specs], [spec.slice_spec for spec in specs],
                                    dtypes=[spec.dtype.base_dtype for spec in specs])
    return tensors


def _shape_for(spec: Any) -> Any:
    tensor = to_tensor(spec.tensor)
    return tensor.shape.as_list() if tensor.shape.is_fully_defined() else shape_of(tensor)


def task_and_device(name: str) -> str:
    """A device name that is the same for all spellings of it."""
    return DeviceSpec.from_string(name).to_string() if name else ""
