"""OptimizerV2, which is ``tf.keras.optimizers.Optimizer``: hyperparameters are variables, so that callbacks can change them between batches.

A subclass names its hyperparameters (``_set_hyper``), makes slots (``_create_slots``), computes once per step and type what all variables share
(``_prepare_local``), and says how one variable moves (``_resource_apply_dense``, ``_resource_apply_sparse``). The order of ``weights`` - the counter
of steps, then the slots - is that of TensorFlow: optimizer states in files depend on it.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.gradients import gradients
from penstock.graph import dtypes, nest
from penstock.graph.composite import IndexedSlices
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import colocate_with, control_dependencies, device, name_scope
from penstock.imperative.eager_graph import EagerGraph
from penstock.keras.optimizers.schedules import LearningRateSchedule
from penstock.keras.optimizers.schedules import deserialize as deserialize_schedule
from penstock.keras.optimizers.schedules import serialize as serialize_schedule
from penstock.layers import initializers, restoring
from penstock.layers.naming import snake_case, unique_object_name
from penstock.layers.sessions import assign_values, initialized_session, track_variable, values_of
from penstock.layers.weights import make_variable
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.array.unique import unique
from penstock.ops.constant import identity
from penstock.ops.math.clip import clip_by_norm, clip_by_value
from penstock.ops.math.segment import unsorted_segment_sum
from penstock.ops.state.resource import ResourceScatterAdd, ResourceScatterUpdate
from penstock.platform import logging
from penstock.train import repeated
from penstock.train.optimizer import taped
from penstock.variables.modes import VariableAggregation, VariableSynchronization
from penstock.variables.replicas import current_context
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.variable import Variable

_KEYWORDS = frozenset(["clipnorm", "clipvalue", "lr", "decay"])
State = dict[tuple[str, Any], dict[str, Any]]


class OptimizerV2:
    """``tf.keras.optimizers.Optimizer``."""

    def __init__(self, name: str | None, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if key not in _KEYWORDS:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self._hyper: dict[str, Any] = {}
        self._repeats: Any = None  # a Repeats: the updates of imperative style, if they depend on nothing but what ``_repeated_key`` says
        self._use_locking = True
        self._name = name or unique_object_name(snake_case(type(self).__name__), zero_based=True)
        self._slots: dict[Any, dict[str, Any]] = {}
        self._slot_names: list[str] = []
        self._weights: list[Any] = []
        self._iterations: Any = None
        self._hypers_created = False
        self._initial_decay = kwargs.get("decay", 0.0)
        for key in ("clipnorm", "clipvalue"):
            if key in kwargs:
                setattr(self, key, kwargs[key])

    # --- steps -------------------------------------------------------------------------------------------------------

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None) -> Any:
        """An operation that takes one step against the gradient of ``loss``, a tensor or a function that makes it."""
        pairs = self._compute_gradients(loss, var_list, grad_loss)
        return self.apply_gradients(pairs, name=name)

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        value, differentiate = loss, gradients
        if callable(loss):
            value, _, differentiate = taped(loss, None if callable(var_list) else nest.flatten(var_list))
        variables = nest.flatten(var_list() if callable(var_list) else var_list)
        with name_scope(f"{self._name}/gradients"):
            return list(zip(self._clip(differentiate(value, variables, grad_ys=grad_loss)), variables))

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """The gradients of ``loss``, clipped; ValueError where there is none."""
        params = nest.flatten(params)
        with name_scope(f"{self._name}/gradients"):
            grads = gradients(loss, params)
            for grad, param in zip(grads, params):
                if grad is None:
                    raise ValueError(f"Variable {param} has `None` for gradient. Please make sure that all of your ops have a gradient defined "
                                     "(i.e. are differentiable). Common ops without gradient: K.argmax, K.round, K.eval.")
            return self._clip(grads)

    def _clip(self, grads: Iterable[Any]) -> list[Any]:
        """The gradients, no longer and with no larger elements than was asked for."""
        grads = list(grads)
        if hasattr(self, "clipnorm"):
            grads = [None if grad is None else clip_by_norm(grad, self.clipnorm) for grad in grads]
        if hasattr(self, "clipvalue"):
            grads = [None if grad is None else clip_by_value(grad, -self.clipvalue, self.clipvalue) for grad in grads]
        return grads

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """The operations of one step; on a replica, of its part of the loss."""
        context = current_context()
        if context is not None:
            loss = loss / context.strategy.num_replicas_in_sync
        return [self.apply_gradients(list(zip(self.get_gradients(loss, params), params)))]

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None) -> Any:
        """An operation that applies gradients to variables and counts the step; in imperative style that is done, and it is the counter."""
        pairs = _with_gradients(list(grads_and_vars))
        context = current_context()
        if context is not None:
            return context.merge_call(self._apply_from_replicas, (pairs, name))
        graph = default_graph()
        if not isinstance(graph, EagerGraph):
            return self._apply_all(pairs, name)
        key = self._repeated_key(graph, pairs)
        if key is None or not self._repeats.knows(graph, key) or self._repeats.call(graph, key, repeated.tensors_of(pairs)) is None:
            self._apply_all(pairs, name)
            key = key or self._repeated_key(graph, pairs)
            if key is not None:
                self._repeats.learn(graph, key, repeated.tensors_of(pairs),
                                    lambda *tensors: self._apply_all(repeated.with_tensors(pairs, tensors), name))
        return self.iterations

    def _apply_from_replicas(self, strategy: Any, pairs: list[tuple[Any, Any]], name: str | None) -> Any:
        """Applies the sums of all replicas' gradients."""
        sums = strategy.extended.batch_reduce_to("SUM", pairs)
        return self.apply_gradients(zip(sums, [variable for _, variable in pairs]), name)

    def _apply_all(self, pairs: list[tuple[Any, Any]], name: str | None) -> Any:
        """The operation that counts the step, after the updates of all variables."""
        variables = [variable for _, variable in pairs]
        with name_scope(self._name):
            self._create_variables(variables)
            state = self._prepare(variables)
            with name_scope(name or self._name):
                updates = []
                for grad, variable in pairs:
                    with name_scope(f"update_{variable.op.name}"), colocate_with(variable.op):
                        updates.append(self._update(grad, variable, state))
                with control_dependencies(updates):
                    return self.iterations.assign_add(1).op

    def _repeated_key(self, graph: EagerGraph, pairs: list[tuple[Any, Any]]) -> Any:
        """What an update is known by (``train/repeated.py``); None if it may depend on more: on Python functions, or on variables to be made."""
        if self._repeats is None or not self._hypers_created or not all(isinstance(hyper, ResourceVariable) for hyper in self._hyper.values()):
            return None
        key = repeated.key_of(graph, pairs, self.iterations)
        plain = [(name, value) for name, value in vars(self).items() if type(value) in (bool, int, float, str, tuple)]
        return None if key is None else (key, *map(id, self._hyper.values()), *plain)

    def _create_variables(self, variables: Sequence[Any]) -> None:
        """Makes the counter of steps, the hyperparameters and the slots, where they are missing."""
        with control_dependencies(None):
            _ = self.iterations
            self._create_hypers()
            self._create_slots(variables)
            restoring.retry()

    def _update(self, grad: Any, variable: Any, state: State) -> Any:
        """The op that moves one variable, and then brings it back to where its constraint allows."""
        if isinstance(grad, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return self._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices,
                                                                 **_extra_arguments(self._resource_apply_sparse, state))
        update = self._resource_apply_dense(grad, variable, **_extra_arguments(self._resource_apply_dense, state))
        if variable.constraint is None:
            return update
        with control_dependencies([update]):
            return variable.assign(variable.constraint(variable)).op

    # --- what subclasses define --------------------------------------------------------------------------------------

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Makes the slots for these variables."""

    def _prepare(self, var_list: Sequence[Any]) -> State:
        """What the updates of one step share, by device and type of the variables."""
        state: State = {}
        for where, dtype in dict.fromkeys((variable.device, variable.dtype.base_dtype) for variable in var_list):
            state[where, dtype] = {}
            with device(where or None):
                self._prepare_local(where, dtype, state)
        return state

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        if "learning_rate" in self._hyper:
            apply_state[var_device, var_dtype]["lr_t"] = identity(self._decayed_lr(var_dtype))

    def _coefficients(self, variable: Any, apply_state: State | None) -> dict[str, Any]:
        """What ``_prepare_local`` computed for the device and type of a variable."""
        key = variable.device, variable.dtype.base_dtype
        if apply_state is None or key not in apply_state:
            apply_state = {key: {}}
            self._prepare_local(*key, apply_state)
        return apply_state[key]

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how to update a variable: _resource_apply_dense is missing")

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how to update rows of a variable: _resource_apply_sparse is missing")

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, var: Any, indices: Any, **kwargs: Any) -> Any:
        """Adds up the rows of equal indices first; a subclass that need not may override this."""
        distinct, position = unique(indices)
        summed = unsorted_segment_sum(grad, position, shape_of(distinct)[0])
        return self._resource_apply_sparse(summed, var, distinct, **kwargs)

    def _resource_scatter_add(self, variable: Any, indices: Any, values: Any) -> Any:
        with control_dependencies([ResourceScatterAdd(variable.handle, indices, values)]):
            return variable.read_value()

    def _resource_scatter_update(self, variable: Any, indices: Any, values: Any) -> Any:
        with control_dependencies([ResourceScatterUpdate(variable.handle, indices, values)]):
            return variable.read_value()

    # --- hyperparameters ---------------------------------------------------------------------------------------------

    def _set_hyper(self, name: str, value: Any) -> None:
        before = self._hyper.get(name)
        if name in self._hyper and isinstance(before, Variable) and not isinstance(value, LearningRateSchedule):
            assign_values([(before, value)])
        else:
            self._hyper[name] = value

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        if not self._hypers_created:
            self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        value = value() if callable(value) else value
        return cast(value, dtype) if dtype else value

    def _create_hypers(self) -> None:
        if self._hypers_created:
            return
        for name, value in sorted(self._hyper.items()):
            if not isinstance(value, (Tensor, Variable)) and not callable(value):
                self._hyper[name] = self.add_weight(name, shape=[], trainable=False, initializer=value,
                                                    aggregation=VariableAggregation.ONLY_FIRST_REPLICA)
        self._hypers_created = True

    def _decayed_lr(self, var_dtype: Any) -> Any:
        """The learning rate of the step under way."""
        rate = self._get_hyper("learning_rate", var_dtype)
        if isinstance(rate, LearningRateSchedule):
            rate = cast(rate(cast(self.iterations, var_dtype)), var_dtype)
        if self._initial_decay > 0.0:
            rate = rate / (1.0 + self._get_hyper("decay", var_dtype) * cast(self.iterations, var_dtype))
        return rate

    def __getattr__(self, name: str) -> Any:
        """Hyperparameters are attributes; ``lr`` is the learning rate."""
        hyper = self.__dict__.get("_hyper", {})
        known = "learning_rate" if name == "lr" else name
        if known in hyper:
            return self._get_hyper(known)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        known = "learning_rate" if name == "lr" else name
        if known in self.__dict__.get("_hyper", {}):
            self._set_hyper(known, value)
        else:
            object.__setattr__(self, known, value)

    # --- variables ---------------------------------------------------------------------------------------------------

    @property
    def iterations(self) -> Any:
        """The number of steps taken."""
        if self._iterations is None:
            self.iterations = self.add_weight("iter", shape=[], dtype=dtypes.int64, trainable=False,
                                              aggregation=VariableAggregation.ONLY_FIRST_REPLICA)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if self._iterations is not None:
            raise RuntimeError("Cannot set `iterations` to a new Variable after the Optimizer weights have been created")
        self._iterations = variable
        self._weights.append(variable)

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """The slot of a variable, made if there is none."""
        if slot_name not in self._slot_names:
            self._slot_names.append(slot_name)
        named = self._slots.setdefault(var, {})
        if slot_name not in named:
            by_rule = isinstance(initializer, str) or callable(initializer)
            value = functools.partial(initializers.get(initializer), var.shape.as_list(), dtype=var.dtype.base_dtype) if by_rule else initializer
            with default_graph().colocate_with(var.op):
                named[slot_name] = Variable(value, name=f"{var._shared_name}/{slot_name}", dtype=var.dtype.base_dtype, trainable=False,
                                            use_resource=True)
            track_variable(named[slot_name])
            self._weights.append(named[slot_name])
        return named[slot_name]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """The slot of a variable."""
        return self._slots[var][slot_name]

    def get_slot_names(self) -> list[str]:
        """The names of all slots."""
        return self._slot_names

    def add_weight(self, name: str, shape: Any, dtype: Any = None, initializer: Any = "zeros", trainable: bool | None = None,
                   synchronization: Any = VariableSynchronization.AUTO, aggregation: Any = VariableAggregation.NONE) -> Any:
        """A variable of the optimizer as a whole."""
        dtype = dtypes.as_dtype(dtype or dtypes.float32)
        rule = initializers.get(initializer) if isinstance(initializer, str) or callable(initializer) else cast(initializer, dtype)
        variable = make_variable(name, shape=shape, dtype=dtype, initializer=rule, trainable=bool(trainable or trainable is None),
                                 synchronization=synchronization, aggregation=aggregation)
        track_variable(variable)
        return variable

    def variables(self) -> list[Any]:
        """The counter of steps and the slots."""
        return self._weights

    weights = property(lambda self: self._weights, doc="The counter of steps and the slots.")

    def get_weights(self) -> list[Any]:
        """The values of ``weights``."""
        return values_of(self._weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Replaces the values of ``weights``."""
        if len(self._weights) != len(weights):
            raise ValueError(f"You called `set_weights(weights)` on optimizer {self._name} with a  weight list of length {len(weights)}, but the "
                             f"optimizer was expecting {len(self._weights)} weights. Provided weights: {str(weights)[:50]}...")
        for variable, value in zip(self._weights, weights):
            if tuple(variable.shape.as_list()) != tuple(value.shape):
                raise ValueError(f"Optimizer weight shape {tuple(variable.shape.as_list())} not compatible with provided weight shape {value.shape}")
        assign_values(list(zip(self._weights, weights)))

    # --- configurations ----------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {"name": self._name, **{key: getattr(self, key) for key in ("clipnorm", "clipvalue") if hasattr(self, key)}}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The optimizer that ``get_config`` describes."""
        config = dict(config)
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = deserialize_schedule(config["learning_rate"], custom_objects=custom_objects)
        return cls(**config)

    def _serialize_hyperparameter(self, hyperparameter_name: str) -> Any:
        value = self._hyper[hyperparameter_name]
        if isinstance(value, LearningRateSchedule):
            return serialize_schedule(value)
        if callable(value):
            return value()
        return initialized_session().run(value) if isinstance(value, (Tensor, Variable)) else value

    def _hyper_config(self, *names: str) -> dict[str, Any]:
        return {name: self._serialize_hyperparameter(name) for name in names}


def _extra_arguments(method: Any, state: State) -> dict[str, Any]:
    """What an update rule, maybe a user's, takes besides gradient and variable."""
    return {"apply_state": state} if "apply_state" in inspect.signature(method).parameters else {}


def _with_gradients(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The pairs that have a gradient; a warning names the others."""
    kept = [(grad, variable) for grad, variable in pairs if grad is not None]
    if pairs and not kept:
        raise ValueError(f"No gradients provided for any variable: {[variable.name for _, variable in pairs]}.")
    if len(kept) < len(pairs):
        logging.warning("Gradients do not exist for variables %s when minimizing the loss.",
                        [variable.name for grad, variable in pairs if grad is None])
    return kept
