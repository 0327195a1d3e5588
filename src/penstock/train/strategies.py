"""``tf.distribute``: strategies, which say on which devices a model is built, and how its replicas are kept in step.

All devices of a process share its memory. So a mirrored variable is one variable that all replicas read, and the sum of their gradients is applied
once: the values, and the checkpoints, are those of copies that are kept equal. Replicas are built one after the other (``variables/replicas.py``).
"""
from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable, Iterator
from typing import Any

from penstock.data.dataset import Dataset
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.scopes import control_dependencies, device
from penstock.layers import losses
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import identity
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.reduce import reduce_mean, reduce_sum
from penstock.program.default_config import default_config
from penstock.program.devices import local_devices
from penstock.train.cross_device_ops import CrossDeviceOps, ReduceOp, reduced, sum_of
from penstock.train.strategy_steps import MultiStepContext, run_steps_on_iterator
from penstock.variables import replicas
from penstock.variables.creators import variable_creator_scope
from penstock.variables.replicas import PerReplica, ReplicaContext


class _Updating(threading.local):
    device: str | None = None


_updating = _Updating()


class UpdateContext:
    """``tf.contrib.distribute.UpdateContext``: inside, variables of a device are updated; ``get_update_device`` says which device that is."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._outer: str | None = None

    def __enter__(self) -> None:
        self._outer, _updating.device = _updating.device, self._device

    def __exit__(self, *error: object) -> None:
        _updating.device = self._outer


def get_update_device() -> str | None:
    """The device whose variables are being updated; None outside of updates."""
    return _updating.device


class StrategyExtended:
    """``tf.distribute.StrategyExtended``: what libraries ask of a strategy."""

    def __init__(self, strategy: Strategy, devices: list[str], scope_device: Any = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        self._strategy, self._devices, self._scope_device, self._cross_device_ops = strategy, devices, scope_device, cross_device_ops

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas."""
        return tuple(self._devices)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of the variables."""
        return tuple(self._devices)

    experimental_between_graph = experimental_require_static_shapes = False
    experimental_should_init = should_checkpoint = should_save_summary = True
    worker, workers = 0, 1  # this process, and how many of them have replicas
    has_servers = False  # are variables on parameter servers?

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are added up."""
        return len(self._devices) * self.workers

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """``fn`` called for each replica, with its part of the arguments."""
        with replicas.cross_replica(self._strategy):
            return replicas.call_for_each_replica(self._strategy, self._devices, fn, args, kwargs)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The sum or mean of the replicas' values. A value that is the same in all of them counts as often as there are replicas."""
        values = value.values if isinstance(value, PerReplica) else (value,) * len(self._devices)
        if self._cross_device_ops is None or any(each is None for each in values):
            return reduced(reduce_op, values)
        return self._cross_device_ops.reduce(reduce_op, PerReplica(values), self._devices[0] if destinations is None else destinations)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """``reduce_to`` for several values."""
        return [self.reduce_to(reduce_op, value, destinations) for value, destinations in value_destination_pairs]

    def update(self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True) -> Any:
        """``fn(var, *args)``, where the variable is."""
        with default_graph().colocate_with(var.op), UpdateContext(var.device):
            updated = fn(var, *args, **(kwargs or {}))
        return updated if group else [updated]

    def non_slot_devices(self, var_list: Any) -> Any:
        """Where an optimizer's own variables belong: the devices of all variables, or, if those are at different places, the first one by name."""
        if self._scope_device is None and self._devices != [""]:
            return self.parameter_devices
        return min(var_list, key=lambda variable: variable.name)

    def update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True) -> Any:
        """``fn(*args)``, at one of the places that ``non_slot_devices`` gives: variables are the same for all replicas, so one call updates them."""
        place = colocate_with[0] if isinstance(colocate_with, (list, tuple)) else colocate_with
        name = place if isinstance(place, str) else place.device
        with device(name) if isinstance(place, str) else default_graph().colocate_with(place.op), UpdateContext(name):
            updated = fn(*args, **(kwargs or {}))
        return updated if group else [updated]

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Dataset:
        """A dataset of the rows of arrays."""
        return Dataset.from_tensor_slices(numpy_input)

    def experimental_run_steps_on_iterator(self, fn: Callable[..., Any], iterator: Any, iterations: Any = 1,
                                           initial_loop_values: Any = None) -> MultiStepContext:
        """``fn(context, batches)`` several times, in a loop of the graph; ``run_op`` of what it returns runs it."""
        with replicas.cross_replica(self._strategy):
            return run_steps_on_iterator(fn, iterator, iterations, initial_loop_values)

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return identity(to_tensor(v))

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """The tensor: all devices share memory."""
        return tensor

    def value_container(self, value: Any) -> Any:
        """The variable that a value belongs to: itself."""
        return value

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether the strategy may use a variable: it may use all of the graph."""
        return v.graph is default_graph()

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """Inside, variables are made where another one is."""
        return default_graph().colocate_with(colocate_with_variable.op)


class InputContext:
    """``tf.distribute.InputContext``: which part of the input a function is to give."""

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.num_input_pipelines, self.input_pipeline_id, self.num_replicas_in_sync = num_input_pipelines, input_pipeline_id, num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The size of a replica's batch."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` {self.num_replicas_in_sync} ")
        return global_batch_size // self.num_replicas_in_sync


class InputReplicationMode(enum.Enum):
    """``tf.distribute.InputReplicationMode``: how many functions give input."""

    PER_WORKER = "PER_WORKER"


class InputIterator:
    """What iterators of strategies give: a batch for each replica, one after the other from one dataset, or the parts of a large one."""

    def __init__(self, dataset: Dataset, extended: StrategyExtended, is_split: bool) -> None:
        self._iterator, self._is_split = dataset.make_initializable_iterator(), is_split
        self._count, self._all = len(extended.worker_devices), extended.num_replicas_in_sync
        self._first = extended.worker * self._count  # of the replicas, that this process has

    @property
    def initializer(self) -> Any:
        """The operation that starts it."""
        return self._iterator.initializer

    def initialize(self) -> list[Any]:
        """The operations that start it."""
        return [self.initializer]

    def get_next(self) -> Any:
        """The next batches."""
        batches: list[Any] = []
        if self._is_split:
            batch = self._iterator.get_next()
            rows = shape(nest.flatten(batch)[0])[0]
            batches = [self._part(batch, rows, self._first + number) for number in range(self._count)] if self._all > 1 else [batch]
        else:
            for _ in range(self._count):
                with control_dependencies(nest.flatten(batches[-1]) if batches else []):  # in order, so that each step deals alike
                    batches.append(self._iterator.get_next())
        return replicas.together(batches)

    def _part(self, batch: Any, rows: Any, number: int) -> Any:
        start, end = (rows * each // self._all for each in (number, number + 1))
        return nest.map_structure(lambda each: each[start:end], batch)


class Strategy:
    """``tf.distribute.Strategy``: what all strategies share."""

    def __init__(self, extended: StrategyExtended | None = None) -> None:
        self._extended = extended or StrategyExtended(self, [""])
        self._scales_loss = False  # inside estimators

    @property
    def extended(self) -> StrategyExtended:
        """What libraries ask of it."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are added up."""
        return self._extended.num_replicas_in_sync

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Inside, this is the current strategy, and variables are made where it wants them."""
        with (replicas.cross_replica(self), device(self._extended._scope_device or self._extended._devices[0]),
              variable_creator_scope(_as_resource)):
            yield self

    @contextlib.contextmanager
    def scaling_losses(self) -> Iterator[None]:
        """Inside, as in estimators, optimizers divide losses that are means by the number of replicas, since they add up their gradients."""
        self._scales_loss = True
        try:
            yield
        finally:
            self._scales_loss = False

    def loss_is_mean(self) -> bool:
        """Whether a loss that was made just now is to be divided."""
        return self._scales_loss and losses.last_reduction() != losses.Reduction.SUM

    def _scaled_loss(self, loss: Any) -> Any:
        count = self.num_replicas_in_sync
        return loss * (1.0 / count) if count > 1 and self.loss_is_mean() else loss

    def make_dataset_iterator(self, dataset: Dataset) -> InputIterator:
        """An iterator that splits each batch among the replicas."""
        return InputIterator(dataset, self._extended, is_split=True)

    experimental_distribute_dataset = make_dataset_iterator

    def make_input_fn_iterator(self, input_fn: Callable[[InputContext], Any],
                               replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER) -> InputIterator:
        """An iterator over the dataset that a function returns; each replica gets batches of its own."""
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode}")
        dataset = input_fn(InputContext(self._extended.workers, self._extended.worker, self.num_replicas_in_sync))
        if not isinstance(dataset, Dataset):
            raise ValueError("dataset_fn() must return a tf.data.Dataset when using a tf.distribute.Strategy.")
        return InputIterator(dataset, self._extended, is_split=False)

    experimental_distribute_datasets_from_function = make_input_fn_iterator

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Dataset:
        """A dataset of the rows of arrays."""
        return self._extended.experimental_make_numpy_dataset(numpy_input, session)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: InputIterator | None = None) -> Any:
        """``fn`` for each replica, with its next batch."""
        return self.experimental_run_v2(fn, (input_iterator.get_next(),) if input_iterator is not None else ())

    def experimental_run_v2(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """``fn`` for each replica; values that differ between replicas are taken apart and put together."""
        return self._extended.call_for_each_replica(fn, args, kwargs)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """One value of those of all replicas; along ``axis`` of each, too."""
        if axis is None:
            return self._extended.reduce_to(reduce_op, value, None)
        parts = [reduce_sum(each, axis) for each in self.experimental_local_results(value)]
        if ReduceOp(getattr(reduce_op, "value", reduce_op)) is ReduceOp.SUM:
            return sum_of(parts)
        return reduce_mean(concat(list(self.experimental_local_results(value)), axis), axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas."""
        return value.values if isinstance(value, PerReplica) else (value,)

    unwrap = experimental_local_results

    def group(self, value: Any, name: str | None = None) -> Any:
        """One operation for those of all replicas."""
        operations = dict.fromkeys(self.experimental_local_results(value))
        return group(*operations, name=name) if operations else no_op(name=name)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """Inside, variables are made where another one is."""
        return self._extended.colocate_vars_with(colocate_with_variable)

    def configure(self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None) -> None:
        """Nothing: sessions of Penstock need no other configuration for replicas."""

    def update_config_proto(self, config_proto: Any) -> Any:
        """The configuration, as it is."""
        return config_proto

    def __deepcopy__(self, memo: Any) -> Strategy:
        return self  # a configuration is copied, the strategy in it is the same


def _as_resource(next_creator: Callable[..., Any], **arguments: Any) -> Any:
    """Variables of strategies are resources, as in TensorFlow: a loop of steps reads them anew in each."""
    return next_creator(**{**arguments, "use_resource": True})


# --- the strategies --------------------------------------------------------------------------------------------------


class OneDeviceStrategy(Strategy):
    """``tf.distribute.OneDeviceStrategy``: everything on one device."""

    def __init__(self, device: str) -> None:
        if not isinstance(device, str):
            raise AssertionError(f"device must be a string. Given: {device!r}")
        super().__init__(StrategyExtended(self, [device]))


def _default_devices() -> list[str]:
    """The GPUs of this process; the CPU, if there are none."""
    gpus = [device for device in local_devices(default_config()) if device.device_type == "GPU"]
    return [f"/gpu:{number}" for number in range(len(gpus))] or ["/cpu:0"]


class MirroredStrategy(Strategy):
    """``tf.distribute.MirroredStrategy``: a replica per device; the sum of their gradients is applied."""

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        names = list(devices) if devices is not None else _default_devices()
        if not names:
            raise ValueError("Must specify at least one device for MirroredStrategy.")
        if len(set(names)) < len(names):
            raise AssertionError(f"No duplicates allowed in `devices` argument: {names}")
        super().__init__(StrategyExtended(self, names, cross_device_ops=cross_device_ops))


class CentralStorageStrategy(Strategy):
    """``tf.distribute.experimental.CentralStorageStrategy``: replicas on several devices, variables on one."""

    def __init__(self, compute_devices: Any = None, parameter_device: str | None = None) -> None:
        super().__init__(StrategyExtended(self, list(compute_devices or _default_devices()), parameter_device))


class ContribMirroredStrategy(MirroredStrategy):
    """``tf.contrib.distribute.MirroredStrategy``: the same, which may be told a number of GPUs instead of devices."""

    def __init__(self, devices: Any = None, num_gpus: int | None = None, num_gpus_per_worker: int | None = None, cross_device_ops: Any = None,
                 auto_shard_dataset: bool = False, cross_tower_ops: Any = None) -> None:
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        gpus = num_gpus if num_gpus is not None else num_gpus_per_worker
        if devices is not None and gpus is not None:
            raise ValueError("You can only specify one of `devices` and `num_gpus_per_worker`.")
        if gpus is not None:
            devices = [f"/device:GPU:{number}" for number in range(gpus)] or ["/cpu:0"]
        super().__init__(devices, cross_device_ops or cross_tower_ops)


# --- what is current -------------------------------------------------------------------------------------------------

_default = Strategy()
_outside = replicas.single_replica(_default)  # the context of programs without a strategy


def get_strategy() -> Strategy:
    """``tf.distribute.get_strategy``: that of the block; outside of all blocks, one of a single replica."""
    return replicas.current_strategy() or _default


def has_strategy() -> bool:
    """``tf.distribute.has_strategy``: whether there is a block."""
    return replicas.current_strategy() is not None


def in_cross_replica_context() -> bool:
    """``tf.distribute.in_cross_replica_context``: whether all replicas are dealt with at once."""
    return has_strategy() and replicas.current_context() is None


def get_replica_context() -> ReplicaContext | None:
    """``tf.distribute.get_replica_context``: that of the replica which is being built; None where all are dealt with at once."""
    if in_cross_replica_context():
        return None
    return replicas.current_context() or _outside


def get_cross_replica_context() -> Strategy | None:
    """``tf.contrib.distribute.get_cross_replica_context``: the strategy, where all replicas are dealt with at once."""
    return get_strategy() if in_cross_replica_context() else None


def require_replica_context(replica_ctx: ReplicaContext) -> None:
    """``tf.contrib.distribute.require_replica_context``: RuntimeError unless this replica is the one that is being built."""
    context = get_replica_context()
    if context is None:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")
    if context.strategy is not replica_ctx.strategy:
        raise RuntimeError(f"Mismatching tf.distribute.Strategy objects: {context.strategy} is not {replica_ctx.strategy}.")
    if context is not replica_ctx:
        raise RuntimeError("Mismatching ReplicaContext.")


_left_open = contextlib.ExitStack()  # the scope of the strategy of ``experimental_set_strategy``


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """``tf.distribute.experimental_set_strategy``: from now on the program is in the scope of this strategy; with None, in none."""
    if has_strategy() and replicas.current_strategy() is not getattr(_left_open, "strategy", None):
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    _left_open.close()
    if strategy is not None:
        _left_open.enter_context(strategy.scope())
    _left_open.strategy = strategy  # type: ignore[attr-defined]


def get_loss_reduction() -> ReduceOp:
    """``tf.distribute.get_loss_reduction``: how the losses of replicas become one: in estimators, by how the last one was reduced."""
    return ReduceOp.MEAN if get_strategy().loss_is_mean() else ReduceOp.SUM
