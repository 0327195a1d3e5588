"""Which parameter server holds which variable: device functions for ``tf.device``, and strategies that choose the task.

>>> import penstock as tf
>>> with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=2)):
...     [tf.get_variable(name, [2]).device for name in "abc"]
['/job:ps/task:0', '/job:ps/task:1', '/job:ps/task:0']
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from penstock.distributed.cluster_spec import ClusterSpec
from penstock.graph.device import DeviceSpec, canonical_name, merge
from penstock.graph.node import Operation
from penstock.graph.shape import as_shape

STANDARD_PS_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
                   "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "VarHandleOp",
                   "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator",
                   "DecisionTreeResource")

Strategy = Callable[[Operation], int]


def replica_device_setter(ps_tasks: int = 0, ps_device: str = "/job:ps", worker_device: str = "/job:worker", merge_devices: bool = True,
                          cluster: Any = None, ps_ops: Collection[str] | None = None, ps_strategy: Strategy | None = None) -> Any:
    """A device function that puts variables on parameter servers and all other ops on the worker; None if there is no
    ps task.

    The tasks are counted in ``cluster`` if it is given. ``ps_strategy`` says which task an op of a type in ``ps_ops``
    goes to: one after the other by default. What a ``tf.device`` block inside says stays; with ``merge_devices``,
    missing parts of the name are filled in.
    """
    if cluster is not None:
        spec = cluster if isinstance(cluster, ClusterSpec) else ClusterSpec(cluster)
        job = DeviceSpec.from_string(canonical_name(ps_device)).job
        ps_tasks = spec.num_tasks(job) if job in spec.jobs else 0
    if not ps_tasks:
        return None
    strategy = RoundRobinStrategy(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")
    return _ReplicaDevice(canonical_name(ps_device), canonical_name(worker_device), merge_devices,
                          frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops), strategy).device


class _ReplicaDevice:
    """The function that ``replica_device_setter`` returns, with what it knows."""

    def __init__(self, ps: str, worker: str, merges: bool, ps_ops: frozenset[str], strategy: Strategy) -> None:
        self._ps, self._worker, self._merges, self._ps_ops, self._strategy = ps, worker, merges, ps_ops, strategy

    def device(self, op: Operation) -> str:
        """The device of a new op."""
        current = canonical_name(op.device)
        if not self._merges and current:
            return current
        if self._ps and op.type in self._ps_ops:
            spec = DeviceSpec.from_string(self._ps)
            wanted = DeviceSpec.from_string(current)
            if not wanted.job or wanted.job == spec.job:  # an op that is placed by hand does not take a turn
                spec.task = self._strategy(op)
            return merge(spec.to_string(), current)
        return merge(self._worker, current)


class RoundRobinStrategy:
    """Tasks 0, 1, 2, ..., 0, 1, ... in turn."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks, self._next = num_tasks, 0

    def __call__(self, op: Operation) -> int:
        """The next task."""
        task = self._next
        self._next = (task + 1) % self._num_tasks
        return task


class RandomStrategy:
    """A task by a hash of the op's name: the same in every process, whatever the order of the variables."""

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks, self._seed = num_ps_tasks, seed

    def __call__(self, op: Operation) -> int:
        """The task of an op's name."""
        key = f"{op.name}_{self._seed}".encode()
        return int.from_bytes(hashlib.md5(key, usedforsecurity=False).digest(), "big") % self._num_tasks


class GreedyLoadBalancingStrategy:
    """The task with the least load so far; ``load_fn`` says what an op adds to it."""

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._load_fn = load_fn
        self._loads = np.zeros(num_tasks)

    def __call__(self, op: Operation) -> int:
        """The least loaded task, which takes the op's load."""
        task = int(np.argmin(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Operation) -> int:
    """The bytes of an op's output; ValueError if the shape is not known, or there is not one output."""
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    shape = op.attrs["shape"] if op.type == "VarHandleOp" else op.outputs[0].shape
    dtype = op.attrs["dtype"] if op.type == "VarHandleOp" else op.outputs[0].dtype
    as_shape(shape).assert_is_fully_defined()
    return int(as_shape(shape).num_elements() or 0) * int(dtype.base_dtype.size)
