"""How TensorFlow's strategies add up gradients between devices. Here all devices share memory, so these choose nothing; they are checked and kept."""
from __future__ import annotations

import enum
from typing import Any, NamedTuple


class CrossDeviceOps:
    """``tf.distribute.CrossDeviceOps``: a way to reduce values of several devices."""


class ReductionToOneDevice(CrossDeviceOps):
    """``tf.distribute.ReductionToOneDevice``: all on one device."""

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Any = None) -> None:
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn


class _Packed(CrossDeviceOps):
    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified")
        self.num_packs = num_packs


class NcclAllReduce(_Packed):
    """``tf.distribute.NcclAllReduce``: by NVIDIA's library, in TensorFlow."""


class HierarchicalCopyAllReduce(_Packed):
    """``tf.distribute.HierarchicalCopyAllReduce``: along a hierarchy of devices, in TensorFlow."""


class AllReduceCrossDeviceOps(CrossDeviceOps):
    """``tf.contrib.distribute.AllReduceCrossDeviceOps``: by one of several algorithms, in TensorFlow."""

    def __init__(self, all_reduce_alg: str = "nccl", num_packs: int = 1, agg_small_grads_max_bytes: int = 0,
                 agg_small_grads_max_group: int = 10) -> None:
        self.all_reduce_alg, self.num_packs = all_reduce_alg, num_packs
        self.agg_small_grads_max_bytes, self.agg_small_grads_max_group = agg_small_grads_max_bytes, agg_small_grads_max_group


class CollectiveCommunication(enum.Enum):
    """``tf.distribute.experimental.CollectiveCommunication``: by which means workers talk."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class DistributeConfig(NamedTuple):
    """``tf.contrib.distribute.DistributeConfig``: strategies for training and evaluation in one object."""

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None
