"""How values of several devices become one: what strategies use, and what programs give to them.

All devices of a process share its memory. So TensorFlow's algorithms differ here in their names and checks alone, and a value that is the same on
all devices is one value. A strategy asks the object that it was given: a subclass of ``CrossDeviceOps`` may compute something else.
"""
from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.ops.array.pack import concat
from penstock.ops.constant import identity
from penstock.ops.math.add_n import add_n
from penstock.variables.modes import VariableAggregation
from penstock.variables.replicas import PerReplica


class ReduceOp(enum.Enum):
    """``tf.distribute.ReduceOp``: how the values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """The one that an aggregation of variables means."""
        known = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}
        if aggregation not in known:
            raise ValueError(f"Could not convert from `tf.VariableAggregation` {aggregation} to`tf.distribute.ReduceOp` type")
        return known[aggregation]


def sum_of(values: Any, accumulate: Callable[[list[Any]], Any] = add_n) -> Any:
    """The sum of tensors, of slices, or of some of each."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    if all(isinstance(value, IndexedSlices) for value in values):
        return IndexedSlices(concat([value.values for value in values], 0), concat([value.indices for value in values], 0), values[0].dense_shape)
    return accumulate([to_tensor(value) for value in values]) if len(values) > 1 else identity(to_tensor(values[0]))


def reduced(reduce_op: Any, values: Any, accumulate: Callable[[list[Any]], Any] = add_n) -> Any:
    """The sum or mean of values, one per replica."""
    total, count = sum_of(values, accumulate), len(values)
    if ReduceOp(getattr(reduce_op, "value", reduce_op)) is ReduceOp.SUM or total is None:
        return total
    if isinstance(total, IndexedSlices):
        return IndexedSlices(total.values / count, total.indices, total.dense_shape)
    return total / count


class CrossDeviceOps:
    """``tf.distribute.CrossDeviceOps``: a way to reduce values of several devices. Subclasses define the two ``*reduce_implementation``."""

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean of the replicas' values, for ``destinations``: a device, a variable, or what lies on several devices."""
        _check_destinations(destinations)
        value = _per_replica(per_replica_value)
        return value.values[0] if len(value.values) == 1 else self.reduce_implementation(reduce_op, value, destinations)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """``reduce`` for several values."""
        pairs = []
        for pair in value_destination_pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError("Each element of `value_destination_pairs` should be a tuple of size 2.")
            pairs.append((_per_replica(pair[0]), pair[1]))
            _check_destinations(pair[1])
        if pairs and len(pairs[0][0].values) == 1:
            return [value.values[0] for value, _ in pairs]
        return self.batch_reduce_implementation(reduce_op, pairs)

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """The tensor on all ``destinations``."""
        _check_destinations(destinations)
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """What ``reduce`` does with values of several replicas."""
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """What ``batch_reduce`` does with values of several replicas."""
        raise NotImplementedError("_batch_reduce method must be implemented in descendants.")

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """The tensor: all devices share memory."""
        return tensor


def _per_replica(value: Any) -> PerReplica:
    if isinstance(value, PerReplica):
        return value
    if not isinstance(value, (Tensor, IndexedSlices)) and not hasattr(value, "device"):
        raise ValueError(f"Cannot convert `input_tensor` to a `PerReplica` object because it doesn't have device set: {value!r}")
    return PerReplica([value])


def _check_destinations(destinations: Any) -> None:
    if not isinstance(destinations, (PerReplica, str)) and not hasattr(destinations, "device"):
        raise ValueError("destinations must be one of a `DistributedValues` object, a tf.Variable object, or a device string.")
    if not destinations if isinstance(destinations, str) else isinstance(destinations, Tensor) and not destinations.device:
        raise ValueError("destinations can not be empty")


class ReductionToOneDevice(CrossDeviceOps):
    """``tf.distribute.ReductionToOneDevice``: all on one device, by ``accumulation_fn``."""

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Any = None) -> None:
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn or add_n

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean."""
        return reduced(reduce_op, per_replica_value.values, self.accumulation_fn)

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """One after the other."""
        return [self.reduce_implementation(reduce_op, value, destinations) for value, destinations in value_destination_pairs]


class AllReduceCrossDeviceOps(ReductionToOneDevice):
    """``tf.contrib.distribute.AllReduceCrossDeviceOps``: by one of several algorithms, in TensorFlow."""

    def __init__(self, all_reduce_alg: str = "nccl", num_packs: int = 1, agg_small_grads_max_bytes: int = 0,
                 agg_small_grads_max_group: int = 10) -> None:
        super().__init__()
        self.all_reduce_alg, self.num_packs = all_reduce_alg, num_packs
        self.agg_small_grads_max_bytes, self.agg_small_grads_max_group = agg_small_grads_max_bytes, agg_small_grads_max_group


class NcclAllReduce(AllReduceCrossDeviceOps):
    """``tf.distribute.NcclAllReduce``: by NVIDIA's library, in TensorFlow."""

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified")
        super().__init__("nccl", num_packs)


class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """``tf.distribute.HierarchicalCopyAllReduce``: along a hierarchy of devices, in TensorFlow."""

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"HierarchicalCopy requires num_packs >= 0, but {num_packs} is specified")
        super().__init__("hierarchical_copy", num_packs)


class MultiWorkerAllReduce(AllReduceCrossDeviceOps):
    """``tf.contrib.distribute.MultiWorkerAllReduce``: by algorithms for the devices of several workers, in TensorFlow."""

    def __init__(self, worker_devices: Any, num_gpus_per_worker: int, all_reduce_spec: Any = ("pscpu/pscpu", 2, -1), num_packs: int = 0,
                 agg_small_grads_max_bytes: int = 0, agg_small_grads_max_group: int = 10) -> None:
        super().__init__(num_packs=num_packs, agg_small_grads_max_bytes=agg_small_grads_max_bytes,
                         agg_small_grads_max_group=agg_small_grads_max_group)
        self.worker_devices, self.num_gpus_per_worker = worker_devices, num_gpus_per_worker
        spec = (all_reduce_spec,) if isinstance(all_reduce_spec, str) else all_reduce_spec
        self.all_reduce_spec = spec if isinstance(spec, list) else [spec]
        for spec in self.all_reduce_spec:
            if not isinstance(spec, tuple):
                raise ValueError(f"A tuple is expected for all-reduce spec: {all_reduce_spec!r}")
            if not 1 <= len(spec) <= 3:
                raise ValueError(f"Too many elements in the all-reduce spec tuple: {spec!r}")


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
