"""Workers that train variables of their own and exchange them with a shared model every few steps: elastic averaging, model averaging, AGN.

A custom getter makes the variables: a trainable one on the worker, its global centre on the parameter servers, and what else the method needs.
"""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph.scopes import device
from penstock.ops.nn.nn_ops import l2_loss
from penstock.ops.queues.accumulator_classes import ConditionalAccumulator
from penstock.ops.queues.queue_classes import FIFOQueue
from penstock.train.optimizer import Optimizer
from penstock.train.optimizer_wrapper import OptimizerWrapper
from penstock.train.saveable import op_list_to_dict
from penstock.train.saver import Saver
from penstock.train.session_run_hook import SessionRunHook
from penstock.variables.creators import variable_creator_scope
from penstock.variables.initialization import global_variables_initializer, local_variables_initializer
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.variable import Variable

_GLOBAL, _LOCAL = "global_center_variable", "local_center_variable"


def _read(variable: Any) -> tf.Tensor:
    """The value of a variable at this point of the step, wherever it is used: an operation elsewhere would get what was sent before."""
    with tf.colocate_with(variable.op):
        return tf.convert_to_tensor(variable.read_value())


class _WorkerGetter:
    """A custom getter: trainable variables are local ones of the worker, with further variables beside them."""

    def __init__(self, worker_device: Any) -> None:
        self._worker_device = worker_device
        self._global_map: dict[Any, Any] = {}

    def __call__(self, getter: Callable[..., Any], name: str, trainable: Any, collections: Any, *args: Any, **kwargs: Any) -> Any:
        if not trainable:
            return self._not_trained(getter, name, trainable, collections, *args, **kwargs)

        def make(full_name: str, trained: bool, local: bool) -> Any:
            keys = [tf.GraphKeys.LOCAL_VARIABLES if local else tf.GraphKeys.GLOBAL_VARIABLES]
            if not local:
                return getter(full_name, *args, trainable=trained, collections=keys, **kwargs)
            with device(self._worker_device):
                return getter(full_name, *args, trainable=trained, collections=keys, **kwargs)

        own = make(name, True, True)
        if kwargs.get("reuse") is not True:
            self._make_others(own, name, make)
        return own

    def _not_trained(self, getter: Callable[..., Any], name: str, trainable: Any, collections: Any, *args: Any, **kwargs: Any) -> Any:
        if tf.GraphKeys.LOCAL_VARIABLES in (collections or ()):
            with device(self._worker_device):
                return getter(name, *args, trainable=trainable, collections=collections, **kwargs)
        return getter(name, *args, trainable=trainable, collections=collections, **kwargs)

    def _make_others(self, own: Any, name: str, make: Callable[[str, bool, bool], Any]) -> None:
        """Makes what belongs to a trainable variable."""
        raise NotImplementedError


def _pair(table: dict[Any, Any], own: Any, other: Any) -> None:
    """Notes which variable belongs to which, part by part."""
    if isinstance(own, PartitionedVariable):
        table.update(zip(own, other))
    else:
        table[own] = other


class _Hook(SessionRunHook):
    """Initialises a worker's variables from the global ones."""

    def __init__(self, make_init_op: Callable[[], Any], is_chief: bool, runs_it: bool = True) -> None:
        self._make_init_op, self._is_chief, self._runs_it = make_init_op, is_chief, runs_it

    def begin(self) -> None:
        """Makes the operations, before the graph is finalized."""
        self._local_init_op = local_variables_initializer()
        self._global_init_op = global_variables_initializer() if self._is_chief else None
        self._variable_init_op = self._make_init_op()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Takes over the global values."""
        if self._runs_it:
            session.run(self._variable_init_op)


class _PeriodicOptimizer(OptimizerWrapper):
    """An optimizer of local variables, whose steps it counts; every ``period`` of them it exchanges values with the global variables."""

    get_slot, get_slot_names = Optimizer.get_slot, Optimizer.get_slot_names  # its own, as TensorFlow's: those of the wrapped one are local

    def __init__(self, opt: Optimizer, period: int, getter: _WorkerGetter, use_locking: bool, name: str) -> None:
        super().__init__(opt, use_locking, name)
        self._period = period
        with device(getter._worker_device):  # also where a device setter would give it to a parameter server, for all workers together
            self._local_step = tf.get_variable(initializer=0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local_step")
        self._opt._prepare()

    def _every_period(self, after: list[Any], exchange: Callable[[], Any]) -> Any:
        """Counts a step after ``after``; then ``exchange``, if it is time."""
        with tf.control_dependencies(after):
            counted = tf.assign_add(self._local_step, 1, name="local_step_update")
        with tf.control_dependencies([counted]):
            is_time = tf.equal(tf.mod(_read(self._local_step), self._period), 0)
            return tf.cond(is_time, exchange, tf.no_op)


def _apply_locally(opt: Optimizer, grads_and_vars: list[tuple[Any, Any]]) -> Any:
    """The step of an optimizer whose slots are local variables, as what they belong to."""
    def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        keys = [tf.GraphKeys.LOCAL_VARIABLES if key == tf.GraphKeys.GLOBAL_VARIABLES else key
                for key in kwargs.pop("collections", None) or [tf.GraphKeys.GLOBAL_VARIABLES]]
        return next_creator(collections=keys, **kwargs)

    with variable_creator_scope(creator):
        return opt.apply_gradients(grads_and_vars)


def _trained_with(maps: list[dict[Any, Any]], what: str) -> list[Any]:
    variables = tf.trainable_variables()
    if not variables or not all(maps):
        raise ValueError(f"The lists of {what} should not be empty: the model's variables must be made with the custom getter")
    return variables


# --- elastic averaging -----------------------------------------------------------------------------------------------


class ElasticAverageCustomGetter(_WorkerGetter):
    """``tf.contrib.opt.ElasticAverageCustomGetter``: each variable has a global centre, and a local copy of it."""

    def __init__(self, worker_device: Any) -> None:
        super().__init__(worker_device)
        self._local_map: dict[Any, Any] = {}

    def _make_others(self, own: Any, name: str, make: Callable[[str, bool, bool], Any]) -> None:
        _pair(self._global_map, own, make(f"{_GLOBAL}/{name}", False, False))
        _pair(self._local_map, own, make(f"{_LOCAL}/{name}", False, True))


class ElasticAverageOptimizer(_PeriodicOptimizer):
    """``tf.contrib.opt.ElasticAverageOptimizer``: workers and the global centre pull at each other (Zhang et al., 2015)."""

    BETA = 0.9

    def __init__(self, opt: Optimizer, num_worker: int, ea_custom_getter: ElasticAverageCustomGetter, communication_period: int = 10,
                 moving_rate: Any = None, rho: Any = None, use_locking: bool = True, synchronous: bool = False,
                 name: str = "ElasticAverageOptimizer") -> None:
        super().__init__(opt, communication_period, ea_custom_getter, use_locking, name)
        self._num_worker, self._synchronous = num_worker, synchronous
        self._local_map, self._global_map = ea_custom_getter._local_map, ea_custom_getter._global_map
        self._moving_rate = self.BETA / communication_period / num_worker if moving_rate is None else moving_rate
        self._rho = self._moving_rate / opt._learning_rate if rho is None else rho  # type: ignore[attr-defined]

    def compute_gradients(self, loss: Any, var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
                          colocate_gradients_with_ops: bool = False, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        """Gradients of the loss and of the distance to the centre."""
        var_list = var_list or tf.trainable_variables()
        distances = [l2_loss(tf.subtract(var, self._local_map[var])) for var in var_list]
        total = loss + self._rho * tf.add_n(distances)
        return self._opt.compute_gradients(total, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The wrapped optimizer's step on the local variables; every period, a pull in both directions."""
        pairs = list(grads_and_vars)
        variables = [var for grad, var in pairs if grad is not None]

        def exchange() -> Any:
            with tf.control_dependencies([tf.assign(self._local_map[var], _read(self._global_map[var])) for var in variables]):
                moves = [self._moving_rate * tf.subtract(_read(var), _read(self._local_map[var])) for var in variables]
            with tf.control_dependencies(moves):
                updates = [tf.assign_sub(var, move) for var, move in zip(variables, moves)]
                updates += [tf.assign_add(self._global_map[var], move) for var, move in zip(variables, moves)]
                updates += [] if global_step is None else [tf.assign_add(global_step, 1)]
            return tf.group(*updates)

        return self._every_period([_apply_locally(self._opt, pairs)], exchange)

    def get_init_op(self, task_index: int) -> Any:
        """Gives the worker the global values; with ``synchronous``, when all workers are there."""
        variables = _trained_with([self._global_map, self._local_map], "local_variables, global_center_variables, local_center_variables")
        taken = tf.group(*(tf.assign(each, self._global_map[var]) for var in variables for each in (var, self._local_map[var])))
        if not self._synchronous:
            return taken
        with tf.colocate_with(self._global_map[variables[0]].op):  # where all workers see the same queues
            queues = [FIFOQueue(self._num_worker, [tf.bool_], shapes=[[]], shared_name=f"variable_init_sync_queue{i}")
                      for i in builtins.range(self._num_worker)]
        with tf.control_dependencies([taken]):
            tokens = [queue.enqueue(tf.constant(False)) for i, queue in enumerate(queues) if i != task_index]
        return tf.group(*tokens, queues[task_index].dequeue_many(len(queues) - 1))

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> SessionRunHook:
        """A hook for monitored sessions that initialises the worker's variables."""
        return _Hook(lambda: self.get_init_op(task_index), is_chief)

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """A Saver that writes the global centres under the names of the variables."""
        if not self._global_map:
            raise RuntimeError("global_center_variable is empty: the model's variables must be made first, with an ElasticAverageCustomGetter")
        saved = tf.trainable_variables() if var_list is None else var_list
        saved = saved if isinstance(saved, dict) else op_list_to_dict(saved)
        by_name = {var.op.name: centre for var, centre in self._global_map.items()}

        def centre(var: Any) -> Any:
            return by_name.get(var.op.name, var)

        return Saver({key: [centre(part) for part in var] if isinstance(var, (list, PartitionedVariable)) else centre(var)
                      for key, var in saved.items()}, name=name, **kwargs)


# --- model averaging -------------------------------------------------------------------------------------------------


class ModelAverageCustomGetter(_WorkerGetter):
    """``tf.contrib.opt.ModelAverageCustomGetter``: each variable has a global one, which begins with its value."""

    def _make_others(self, own: Any, name: str, make: Callable[[str, bool, bool], Any]) -> None:
        self._global_map[own] = Variable(own.initialized_value(), name=f"{_GLOBAL}/{name}", trainable=False,
                                         collections=[tf.GraphKeys.GLOBAL_VARIABLES])


class ModelAverageOptimizer(_PeriodicOptimizer):
    """``tf.contrib.opt.ModelAverageOptimizer``: every ``interval_steps`` steps all workers go on with the mean of their variables."""

    def __init__(self, opt: Optimizer, num_worker: int, is_chief: bool, ma_custom_getter: ModelAverageCustomGetter, interval_steps: int = 100,
                 use_locking: bool = True, name: str = "ModelAverageOptimizer") -> None:
        super().__init__(opt, interval_steps, ma_custom_getter, use_locking, name)
        self._num_worker, self._is_chief, self._global_map = num_worker, is_chief, ma_custom_getter._global_map
        self._chief_init_op: Any = None

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The wrapped optimizer's step; every interval, the chief averages and all take over the means."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required")
        applied = self._opt.apply_gradients(pairs)
        variables = [var for grad, var in pairs if grad is not None]
        centres = [self._global_map[var] for var in variables]
        with tf.colocate_with(global_step.op):
            tokens = FIFOQueue(-1, [tf.bool_], shapes=[[]], shared_name="sync_queue")
        means = []
        for centre in centres:
            with tf.name_scope(None, f"{self._name}/global"), device(centre.device):
                means.append(ConditionalAccumulator(centre.dtype.base_dtype, shape=centre.shape, shared_name=f"{centre.name}/var_accum"))
        exchange = self._exchange(variables, centres, means, tokens, global_step)
        self._chief_init_op = tf.group(*(each.set_global_step(global_step, name="SetGlobalStep") for each in means))
        return self._every_period([applied], exchange)

    def _exchange(self, variables: list[Any], centres: list[Any], means: list[Any], tokens: Any, global_step: Any) -> Callable[[], Any]:
        def exchange() -> Any:
            given = [mean.apply_grad(_read(var), local_step=tf.cast(_read(global_step), tf.int64))
                     for mean, var in zip(means, variables)]
            with tf.control_dependencies(given):
                if self._is_chief:
                    taken = [tf.assign(centre, mean.take_grad(self._num_worker)) for centre, mean in zip(centres, means)]
                    with tf.control_dependencies([*taken, tf.assign_add(global_step, 1)]):
                        synced = tokens.enqueue_many(tf.fill([self._num_worker - 1], tf.constant(False)))
                else:
                    synced = tokens.dequeue()
            with tf.control_dependencies([synced]):
                return self._take_over(variables)
        return exchange

    def _take_over(self, variables: list[Any]) -> Any:
        if not variables:
            raise ValueError("The list of local_variables should not be empty")
        return tf.group(*(tf.assign(var, _read(self._global_map[var])) for var in variables))

    def get_init_op(self) -> Any:
        """Gives the worker the global values."""
        return self._take_over(tf.trainable_variables())

    def make_session_run_hook(self) -> SessionRunHook:
        """A hook for monitored sessions, which makes the initial operations; workers begin with values of their own, as in TensorFlow."""
        return _Hook(self.get_init_op, self._is_chief, runs_it=False)


# --- accumulated gradient normalisation ------------------------------------------------------------------------------


class AGNCustomGetter(_WorkerGetter):
    """``tf.contrib.opt.AGNCustomGetter``: each variable has a global centre, and a sum of the worker's gradients."""

    def __init__(self, worker_device: Any) -> None:
        super().__init__(worker_device)
        self._grad_map: dict[Any, Any] = {}

    def _not_trained(self, getter: Callable[..., Any], name: str, trainable: Any, collections: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(name, *args, trainable=trainable, collections=collections, **kwargs)

    def _make_others(self, own: Any, name: str, make: Callable[[str, bool, bool], Any]) -> None:
        _pair(self._global_map, own, make(f"{_GLOBAL}/{name}", False, False))
        _pair(self._grad_map, own, make(f"grad_variable/{name}", False, True))


class AGNOptimizer(_PeriodicOptimizer):
    """``tf.contrib.opt.AGNOptimizer``: applies the mean of a period's gradients to the global centres (Hermans et al., 2017)."""

    compute_gradients = Optimizer.compute_gradients

    def __init__(self, optimizer: Optimizer, num_worker: int, custom_getter: AGNCustomGetter, communication_period: int = 10,
                 use_locking: bool = True, name: str = "AGNOptimizer") -> None:
        super().__init__(optimizer, communication_period, custom_getter, use_locking, name)
        self._num_worker = num_worker
        self._global_map, self._grad_map = custom_getter._global_map, custom_getter._grad_map

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The wrapped optimizer's step on the local variables; every period, one on the centres, which are then taken over."""
        pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]
        variables = [var for _, var in pairs]
        sums = [self._grad_map[var] for var in variables]
        updates = [_apply_locally(self._opt, pairs), *(tf.assign_add(total, tf.convert_to_tensor(grad)) for total, (grad, _) in zip(sums, pairs))]

        def exchange() -> Any:
            means = [_read(total) / self._period for total in sums]
            applied = self._opt.apply_gradients([(mean, self._global_map[var]) for mean, var in zip(means, variables)])
            with tf.control_dependencies([applied]):
                changes = [tf.assign(var, _read(self._global_map[var])) for var in variables]
                changes += [tf.assign(total, tf.zeros_like(total)) for total in sums]
                changes += [] if global_step is None else [tf.assign_add(global_step, 1)]
            return tf.group(*changes)

        return self._every_period(updates, exchange)

    def get_init_op(self, task_index: int) -> Any:
        """Gives the worker the global values, and sums of 0."""
        variables = _trained_with([self._global_map, self._grad_map], "local_variables, global_center_variables, grad_center_variables")
        return tf.group(*(tf.assign(var, self._global_map[var]) for var in variables),
                        *(tf.assign(self._grad_map[var], tf.zeros_like(self._grad_map[var])) for var in variables))

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> SessionRunHook:
        """A hook for monitored sessions that initialises the worker's variables."""
        return _Hook(lambda: self.get_init_op(task_index), is_chief)
