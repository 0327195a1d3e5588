"""Optimizer: what every optimizer shares. A subclass says which slots it keeps and how one variable is moved by its gradient."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.gradients import gradients, why_no_gradient
from penstock.graph import dtypes, nest
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.function import outermost
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import colocate_with, control_dependencies, name_scope
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.tape import GradientTape
from penstock.layers import restoring
from penstock.ops.array.shape_ops import shape
from penstock.ops.array.unique import unique
from penstock.ops.flow.misc import group, tuple_
from penstock.ops.math.segment import unsorted_segment_sum
from penstock.train import repeated, slots
from penstock.variables.assign import assign_add
from penstock.variables.initialization import trainable_variables
from penstock.variables.replicas import current_context
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.variable import Variable

_SHOWN = 5  # variables that an error explains


class DirectSubclass(type):
    """Of classes between Optimizer and the public ones: ``AdamOptimizer.__base__`` is Optimizer, as in TensorFlow. Libraries (GPflow) ask for it."""

    @property
    def __base__(cls) -> type:
        base: type = type.__dict__["__base__"].__get__(cls)
        return Optimizer if isinstance(base, DirectSubclass) and Optimizer in base.__bases__ else base


def _var_key(var: Any) -> Any:
    """What the slots of a variable are kept under: (graph, name), as in TensorFlow; in imperative style, where names repeat, the variable."""
    return var if var.graph.imperative else (var.graph, var.op.name)


class Optimizer:
    """Computes gradients of a loss and applies them to variables.

    Subclasses override ``_create_slots``, ``_prepare``, ``_apply_dense``/``_resource_apply_dense`` and, for gradients with few rows,
    ``_apply_sparse``/``_resource_apply_sparse``; ``_finish`` for what is done once per step.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(3.0)
    ...     step = tf.train.GradientDescentOptimizer(0.25).minimize(v * v)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     sess.run(v)
    np.float32(1.5)
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    _repeats: Any = None  # what its updates are known by: imperative.repeats.Repeats, if they depend on nothing but what ``repeated.py`` says
    _tensors: dict[str, Tensor]  # its hyperparameters, as ``_prepare`` has made them: where there is ``_repeats``

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._owners: dict[Any, Any] = {}  # the variable of a key of slots
        self._non_slots: dict[tuple[str, Any], Any] = {}

    def get_name(self) -> str:
        """The name given to the constructor."""
        return self._name

    # --- the three calls ---------------------------------------------------------------------------------------------

    def minimize(self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: int = GATE_OP,
                 aggregation_method: int | None = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
                 grad_loss: Any = None) -> Any:
        """An operation that takes one step against the gradient of ``loss``: ``compute_gradients``, then ``apply_gradients``."""
        pairs = self.compute_gradients(loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss)
        if all(grad is None for grad, _ in pairs):
            raise ValueError(_no_gradients([variable for _, variable in pairs], loss))
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(self, loss: Any, var_list: Any = None, gate_gradients: int = GATE_OP, aggregation_method: int | None = None,
                          colocate_gradients_with_ops: bool = False, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        """(gradient, variable) pairs; the gradient is a Tensor, IndexedSlices, or None where the loss does not depend on the variable."""
        if callable(loss):
            loss, var_list, differentiate = taped(loss, var_list)
        elif default_graph().imperative:
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled.")
        else:
            differentiate = gradients
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(f"gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH. Not {gate_gradients}")
        self._assert_valid_dtypes([loss])
        context = current_context()
        if context is not None:
            loss = context.strategy._scaled_loss(loss)
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        graph = default_graph()
        if var_list is None:
            var_list = trainable_variables() + graph.get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            var_list = nest.flatten(var_list)
        var_list = [part for variable in var_list for part in (list(variable) if hasattr(variable, "_get_partitions") else [variable])]
        var_list += graph.get_collection(GraphKeys._STREAMING_MODEL_PORTS)
        if not var_list:
            raise ValueError("No variables to optimize.")
        grads = differentiate(loss, var_list, grad_ys=grad_loss, gate_gradients=gate_gradients == self.GATE_OP, aggregation_method=aggregation_method,
                          colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gate_gradients == self.GATE_GRAPH:
            grads = tuple_(grads)
        self._assert_valid_dtypes([variable for grad, variable in zip(grads, var_list)
                                   if grad is not None and variable.dtype.base_dtype is not dtypes.resource])
        return list(zip(grads, var_list))

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None) -> Any:
        """An operation that applies gradients to variables, then adds one to ``global_step``. In imperative style that is done, and it is None."""
        pairs = [(_as_gradient(grad, variable), variable) for grad, variable in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        variables = [variable for grad, variable in pairs if grad is not None]
        if not variables:
            raise ValueError(f"No gradients provided for any variable: {[str(variable) for _, variable in pairs]}.")
        context = current_context()
        if context is not None:
            return context.merge_call(self._apply_from_replicas, (pairs, global_step, name))
        graph = default_graph()
        pairs = [(grad, variable) for grad, variable in pairs if grad is not None]
        key = repeated.key_of(graph, pairs, global_step) if self._repeats is not None and isinstance(graph, EagerGraph) else None
        prepared = key is not None and self._repeats.knows(graph, key)
        if prepared:
            self._prepare()
            update = self._repeats.call(graph, key, [*repeated.tensors_of(pairs), *self._tensors.values()])
            if update is not None:
                return None
        with control_dependencies(None):
            self._create_slots(variables)
            restoring.retry()
        with name_scope(name, self._name) as scope:
            if not prepared:
                self._prepare()
            result = self._updates(pairs, global_step, scope)
        if key is not None:
            self._learn(graph, key, pairs, global_step)
        if graph.imperative:
            return None
        train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if result not in train_ops:
            train_ops.append(result)
        return result

    def _updates(self, pairs: list[tuple[Any, Any]], global_step: Any, scope: str) -> Operation:
        """The updates of all variables, and what is done once per step."""
        updates = []
        for grad, variable in pairs:
            with name_scope("update_" + variable.op.name), colocate_with(variable.op):
                updates.append(self._update(grad, variable))
        return self._count(updates, global_step, scope)

    def _learn(self, graph: Any, key: Any, pairs: repeated.Pairs, global_step: Any) -> None:
        """Has the updates known by ``key``: see ``repeated.py``."""
        hyper, grads = self._tensors, repeated.tensors_of(pairs)

        def update(*tensors: Tensor) -> None:
            self._tensors = dict(zip(hyper, tensors[len(grads):]))
            self._start_updates()
            self._updates(repeated.with_tensors(pairs, tensors), global_step, self._name)

        try:
            self._repeats.learn(graph, key, [*grads, *hyper.values()], update)
        finally:
            self._tensors = hyper

    def _start_updates(self) -> None:
        """Forgets what updates have made for each other; hyperparameters are prepared."""

    def _apply_from_replicas(self, strategy: Any, pairs: list[tuple[Any, Any]], global_step: Any, name: str | None) -> Any:
        """Applies the sums of all replicas' gradients."""
        sums = strategy.extended.batch_reduce_to("SUM", pairs)
        return self.apply_gradients(zip(sums, [variable for _, variable in pairs]), global_step, name)

    def _count(self, updates: list[Any], global_step: Any, scope: str) -> Operation:
        if global_step is None:
            return self._finish(updates, scope)
        with control_dependencies([self._finish(updates, "update")]), colocate_with(global_step.op):
            one = to_tensor(1, global_step.dtype.base_dtype, "value")
            if isinstance(global_step, ResourceVariable):
                return global_step.assign_add(one, name=scope, read_value=False)
            counted = assign_add(global_step, one, name=scope)
        return counted.op if isinstance(counted, Tensor) or hasattr(counted, "op") else counted

    def _update(self, grad: Any, variable: Any) -> Any:
        """The op that moves one variable, and then brings it back to where its constraint allows."""
        resource = isinstance(variable, ResourceVariable)
        if isinstance(grad, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            if resource:
                return self._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices)
            return self._apply_sparse_duplicate_indices(grad, variable)
        update = self._resource_apply_dense(grad, variable) if resource else self._apply_dense(grad, variable)
        if variable.constraint is None:
            return update
        with control_dependencies([update]):
            return variable.assign(variable.constraint(variable))

    # --- what subclasses define --------------------------------------------------------------------------------------

    def _valid_dtypes(self) -> set[Any]:
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots for these variables."""

    def _prepare(self) -> None:
        """Makes the tensors of the hyperparameters, before the updates."""

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how to update a variable: _apply_dense is missing")

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how to update a resource variable: _resource_apply_dense is missing")

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how to update rows of a variable: _apply_sparse is missing")

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how to update rows of a resource variable: _resource_apply_sparse is missing")

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        """Adds up the rows of equal indices first; a subclass that need not may override this."""
        values, indices = _deduplicate(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        values, unique_indices = _deduplicate(grad, indices)
        return self._resource_apply_sparse(values, handle, unique_indices)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        """Groups the updates; what is done once per step goes here."""
        return group(*update_ops, name=name_scope)

    # --- slots -------------------------------------------------------------------------------------------------------

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot ``name`` of a variable, or None."""
        return self._slots.get(name, {}).get(_var_key(var))

    def all_slots(self) -> Iterator[tuple[Any, str, Any]]:
        """(variable, name, slot) of all slots, by name."""
        return ((self._owners[key], name, slot) for name, named in sorted(self._slots.items()) for key, slot in named.items())

    def get_slot_names(self) -> list[str]:
        """The names of all slots."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """All variables of this optimizer: slots and others."""
        graph = default_graph()
        own = [variable for named in self._slots.values() for variable in named.values() if variable.graph is graph]
        own += [variable for variable in self._non_slots.values() if variable.graph is graph]
        return sorted(own, key=lambda variable: variable.name)

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        named, key = self._slot_dict(slot_name), _var_key(var)
        if key not in named:
            named[key] = slots.create_slot(var, val, op_name)
            self._owners[key] = var
        return named[key]

    def _get_or_make_slot_with_initializer(self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str) -> Any:
        named, key = self._slot_dict(slot_name), _var_key(var)
        if key not in named:
            named[key] = slots.create_slot_with_initializer(var, initializer, shape, dtype, op_name)
            self._owners[key] = var
        return named[key]

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        named, key = self._slot_dict(slot_name), _var_key(var)
        if key not in named:
            named[key] = slots.create_zeros_slot(var, op_name)
            self._owners[key] = var
        return named[key]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable that belongs to the optimizer as a whole (Adam's powers of beta)."""
        key = (name, outermost(default_graph()))
        if key not in self._non_slots:
            with default_graph().colocate_with(colocate_with.op):
                self._non_slots[key] = Variable(initial_value, name=name, trainable=False, use_resource=isinstance(colocate_with, ResourceVariable))
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        return self._non_slots.get((name, outermost(graph or default_graph())))

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = tensor.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(f"Invalid type {dtype.name} for {tensor.name}, expected: {sorted(d.name for d in valid)}.")


def taped(loss: Any, var_list: Any) -> tuple[Any, Any, Any]:
    """The value of a loss that is a function, the variables to train by it, and what differentiates it: a tape."""
    with GradientTape() as tape:
        if var_list is not None:
            tape.watch(var_list)
        value = loss()
    chosen = tape.watched_variables() if var_list is None else var_list

    def differentiate(value: Any, variables: list[Any], grad_ys: Any = None, **options: Any) -> list[Any]:
        grads: list[Any] = tape.gradient(value, variables, grad_ys)
        return grads

    return value, chosen, differentiate


def _as_gradient(grad: Any, variable: Any) -> Any:
    if grad is None or isinstance(grad, (Tensor, IndexedSlices)):
        return grad
    try:
        return to_tensor(grad)
    except TypeError:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad} for {variable}") from None


def _deduplicate(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Rows with equal indices, added up."""
    distinct, position = unique(indices)
    return unsorted_segment_sum(values, position, shape(distinct)[0]), distinct


def _no_gradients(variables: list[Any], loss: Tensor) -> str:
    lines = [f"No gradients provided for any variable, check your graph for ops that do not support gradients, between variables "
             f"{[str(variable) for variable in variables]} and loss {loss}."]
    lines += [f"  {variable.name}: {why_no_gradient(loss, variable)}" for variable in variables[:_SHOWN]]
    return "\n".join(lines)
