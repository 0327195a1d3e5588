"""Optimizers of problems with constraints: one player moves the parameters, the other the weights of the constraints.

Each step computes both players' gradients before either of them moves.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.train.optimizer import Optimizer
from penstock.variables.variable import Variable


class ConstrainedMinimizationProblem(ABC):
    """``tf.contrib.constrained_optimization.ConstrainedMinimizationProblem``: an objective, and constraints that are not to be positive."""

    @property
    @abstractmethod
    def objective(self) -> Any:
        """What is to be minimized: a number."""

    @property
    @abstractmethod
    def constraints(self) -> Any:
        """A vector of what is not to be positive."""

    @property
    def proxy_constraints(self) -> Any:
        """What has gradients in the place of the constraints, if they have none; or None."""
        return None

    @property
    def pre_train_ops(self) -> list[Any] | None:
        """Operations to run before each step, if there are some."""
        return None

    @property
    def num_constraints(self) -> int:
        """The number of constraints."""
        shapes = [tf.convert_to_tensor(each).shape for each in (self.constraints, self.proxy_constraints) if each is not None]
        if any(not shape.is_fully_defined() for shape in shapes):
            raise ValueError(f"constraints and proxy_constraints must have fully-known shapes, got {[str(shape) for shape in shapes]}.")
        if len({tuple(shape.as_list()) for shape in shapes}) > 1:
            raise ValueError(f"constraints and proxy_constraints must have the same shape, got {[str(shape) for shape in shapes]}.")
        return shapes[0].num_elements() or 0


class ConstrainedOptimizer(ABC):
    """``tf.contrib.constrained_optimization.ConstrainedOptimizer``: the base of all."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer of the parameters."""
        return self._optimizer

    @abstractmethod
    def _minimize_constrained(self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, **arguments: Any) -> Any:
        """The step, after the problem's ``pre_train_ops``."""

    def minimize_constrained(self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, var_list: Any = None,
                             gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
                             name: str | None = None, grad_loss: Any = None) -> Any:
        """A step that respects the constraints."""
        with tf.control_dependencies(list(minimization_problem.pre_train_ops or ())):
            return self._minimize_constrained(minimization_problem, global_step, var_list=var_list, gate_gradients=gate_gradients, name=name,
                                              aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
                                              grad_loss=grad_loss)

    def minimize_unconstrained(self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, var_list: Any = None,
                               gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
                               name: str | None = None, grad_loss: Any = None) -> Any:
        """A step that does not look at the constraints."""
        with tf.control_dependencies(list(minimization_problem.pre_train_ops or ())):
            return self._optimizer.minimize(minimization_problem.objective, global_step=global_step, var_list=var_list, gate_gradients=gate_gradients,
                                            aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
                                            name=name, grad_loss=grad_loss)

    def minimize(self, minimization_problem: ConstrainedMinimizationProblem, unconstrained_steps: Any = None, global_step: Any = None,
                 var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
                 colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: Any = None) -> Any:
        """A step; the first ``unconstrained_steps`` do not look at the constraints."""
        arguments = {"global_step": global_step, "var_list": var_list, "gate_gradients": gate_gradients, "aggregation_method": aggregation_method,
                     "colocate_gradients_with_ops": colocate_gradients_with_ops, "name": name, "grad_loss": grad_loss}
        if unconstrained_steps is None:
            return self.minimize_constrained(minimization_problem, **arguments)
        if global_step is None:
            raise ValueError("global_step cannot be None if unconstrained_steps is provided: it counts the steps.")
        limit = tf.convert_to_tensor(unconstrained_steps)
        is_free = tf.cast(global_step, limit.dtype) < limit
        return tf.cond(is_free, lambda: self.minimize_unconstrained(minimization_problem, **arguments),
                       lambda: self.minimize_constrained(minimization_problem, **arguments))


class _TwoPlayers(ConstrainedOptimizer):
    """An optimizer with a variable of the second player."""

    _state_name: str

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None) -> None:
        super().__init__(optimizer)
        self._constraint_optimizer = constraint_optimizer

    @property
    def constraint_optimizer(self) -> Optimizer | None:
        """The optimizer of the second player; without one, the parameters' optimizer moves both."""
        return self._constraint_optimizer

    @abstractmethod
    def _initial_state(self, num_constraints: int) -> np.ndarray:
        """The first value of the variable."""

    @abstractmethod
    def _weights(self, state: Any) -> tuple[Any, Any]:
        """(weight of the objective, weights of the constraints)."""

    @abstractmethod
    def _reward(self, state: Any, constraints: Any) -> Any:
        """What the second player goes along, of the form of its variable."""

    @abstractmethod
    def _project(self, state: Any) -> Any:
        """The nearest value that is allowed."""

    def _minimize_constrained(self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, **arguments: Any) -> Any:
        count = minimization_problem.num_constraints
        objective, constraints, proxies = _tensors_of_one_type(minimization_problem)
        constraints, proxies = tf.reshape(constraints, [count]), tf.reshape(proxies, [count])
        first = self._initial_state(count)
        # A resource, whose reads are snapshots: the step takes both gradients at the values before it.
        variable = Variable(lambda: tf.constant(first, tf.float32), trainable=False, use_resource=True, name=self._state_name)
        state = tf.identity(variable)
        share, weights = self._weights(state)
        loss = tf.cast(share, objective.dtype) * objective + tf.reduce_sum(tf.cast(tf.stop_gradient(weights), proxies.dtype) * proxies)
        name, grad_loss = arguments.pop("name"), arguments.pop("grad_loss")
        gradients = self._optimizer.compute_gradients(loss, grad_loss=grad_loss, **arguments)
        reward = self._reward(state, tf.cast(tf.stop_gradient(constraints), tf.float32))
        computed = [gradient for gradient, _ in gradients if gradient is not None]
        with tf.control_dependencies([*(getattr(each, "values", each) for each in computed), reward]):
            moved = self._applied(gradients, [(-reward, variable)])
        with tf.control_dependencies(moved):
            projected = tf.assign(variable, self._project(tf.identity(variable))).op
            counted = [] if global_step is None else [tf.assign_add(global_step, 1)]
        return tf.group(projected, *counted, name=name)

    def _applied(self, gradients: list[Any], rewards: list[Any]) -> list[Any]:
        """One application where one optimizer moves both players: Adam's powers, say, are to move once a step."""
        if self._constraint_optimizer is None:
            return [self._optimizer.apply_gradients([*gradients, *rewards], name="update")]
        return [self._optimizer.apply_gradients(gradients, name="update"),
                self._constraint_optimizer.apply_gradients(rewards, name="optimizer_state_update")]


def _tensors_of_one_type(problem: ConstrainedMinimizationProblem) -> tuple[Any, Any, Any]:
    """(objective, constraints, proxy constraints); without proxies the constraints in their place."""
    constraints, proxies = problem.constraints, problem.proxy_constraints
    tensors = [tf.convert_to_tensor(each) for each in (problem.objective, constraints, constraints if proxies is None else proxies)]
    if len({each.dtype.base_dtype for each in tensors}) > 1:
        raise ValueError("objective, constraints and proxy_constraints must have the same dtype, "
                         f"got {', '.join(each.dtype.base_dtype.name for each in tensors)}.")
    return tensors[0], tensors[1], tensors[2]


class AdditiveExternalRegretOptimizer(_TwoPlayers):
    """``tf.contrib.constrained_optimization.AdditiveExternalRegretOptimizer``: Lagrange multipliers that follow the violations."""

    _state_name = "external_regret_optimizer_state"

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None, maximum_multiplier_radius: float | None = None) -> None:
        super().__init__(optimizer, constraint_optimizer)
        if maximum_multiplier_radius is not None and maximum_multiplier_radius < 0:
            raise ValueError(f"maximum_multiplier_radius must be strictly positive, got {maximum_multiplier_radius}.")
        self._radius = maximum_multiplier_radius or None  # 0 stands for no bound, as in TensorFlow

    def _initial_state(self, num_constraints: int) -> np.ndarray:
        return np.zeros([num_constraints])

    def _weights(self, state: Any) -> tuple[Any, Any]:
        return 1.0, state

    def _reward(self, state: Any, constraints: Any) -> Any:
        return constraints

    def _project(self, state: Any) -> Any:
        positive = tf.maximum(state, 0.0)
        if self._radius is None:
            return positive
        return tf.where_v2(tf.reduce_sum(positive) > self._radius, on_simplex(state[:, None], self._radius)[:, 0], positive)


class _SwapRegretOptimizer(_TwoPlayers):
    """The second player has a matrix whose columns are distributions; the weights are what it leaves in place."""

    _state_name = "swap_regret_optimizer_state"

    @abstractmethod
    def _matrix(self, state: Any) -> Any:
        """The stochastic matrix."""

    def _distribution(self, state: Any) -> Any:
        return tf.stop_gradient(_left_in_place(self._matrix(state)))

    def _weights(self, state: Any) -> tuple[Any, Any]:
        distribution = self._distribution(state)
        return distribution[0], distribution[1:]

    def _reward(self, state: Any, constraints: Any) -> Any:
        return tf.concat([tf.zeros_like(constraints[:1]), constraints], 0)[:, None] * self._distribution(state)[None]


class AdditiveSwapRegretOptimizer(_SwapRegretOptimizer):
    """``tf.contrib.constrained_optimization.AdditiveSwapRegretOptimizer``: a matrix that follows the violations."""

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None) -> None:
        super().__init__(optimizer, constraint_optimizer)

    def _initial_state(self, num_constraints: int) -> np.ndarray:
        state = np.zeros([num_constraints + 1] * 2)
        state[0] = 1.0
        return state

    def _matrix(self, state: Any) -> Any:
        return state

    def _project(self, state: Any) -> Any:
        return on_simplex(state, 1.0)


class MultiplicativeSwapRegretOptimizer(_SwapRegretOptimizer):
    """``tf.contrib.constrained_optimization.MultiplicativeSwapRegretOptimizer``: the logarithms of a matrix follow the violations."""

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None, minimum_multiplier_radius: float = 1e-3,
                 initial_multiplier_radius: float | None = None) -> None:
        super().__init__(optimizer, constraint_optimizer)
        if not 0 < minimum_multiplier_radius < 1:
            raise ValueError(f"minimum_multiplier_radius must be in the range (0,1), got {minimum_multiplier_radius}.")
        initial = minimum_multiplier_radius if initial_multiplier_radius is None else initial_multiplier_radius
        if not minimum_multiplier_radius <= initial <= 1:
            raise ValueError(f"initial_multiplier_radius must be in the range [minimum_multiplier_radius,1], got {initial}.")
        self._minimum, self._initial = minimum_multiplier_radius, initial

    def _initial_state(self, num_constraints: int) -> np.ndarray:
        size = num_constraints + 1
        matrix = np.full([size, size], self._initial / size)
        matrix[0] += 1 - self._initial
        return np.log(matrix)

    def _matrix(self, state: Any) -> Any:
        return tf.exp(state)

    def _project(self, state: Any) -> Any:
        normal = state - tf.reduce_logsumexp(state, axis=0, keepdims=True)
        return tf.maximum(normal, np.log(self._minimum / state.shape[0].value))


def _left_in_place(matrix: Any, epsilon: float = 1e-6, maximum_iterations: int = 100) -> Any:
    """The distribution that the matrix leaves in place, by its powers; of several the one that an even start comes to.

    The number of powers is bounded: a matrix that is nearly the identity would take many, and each step moves it anyway.
    """
    def is_moving(number: Any, vector: Any, before: Any) -> Any:
        return tf.logical_and(number < maximum_iterations, tf.norm(vector - before) > epsilon)

    def once_more(number: Any, vector: Any, _before: Any) -> Any:
        product = tf.matmul(matrix, vector[:, None])[:, 0]
        return number + 1, product / tf.norm(product), vector

    even = tf.ones_like(matrix[:, 0])
    even /= tf.norm(even)
    _, vector, _ = tf.while_loop(is_moving, once_more, once_more(tf.constant(0), even, even), name="power_method")
    distribution = tf.abs(vector)
    return distribution / tf.reduce_sum(distribution)


def on_simplex(columns: Any, radius: float) -> Any:
    """The nearest column whose elements are not negative and have the sum ``radius``, for each column."""
    size = columns.shape[0].value
    ordered = tf.transpose(tf.top_k(tf.transpose(columns), size)[0])
    counts = tf.range(1, size + 1, dtype=columns.dtype)[:, None]
    shifts = (tf.cumsum(ordered) - radius) / counts
    count = tf.reduce_sum(tf.cast(ordered > shifts, tf.int32), 0)
    shift = tf.reduce_sum(shifts * tf.one_hot(count - 1, size, dtype=columns.dtype, axis=0), 0, keepdims=True)
    return tf.maximum(columns - shift, 0.0)
