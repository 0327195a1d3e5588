"""Steps of training under a strategy, as objects: ``tf.contrib.distribute.Step`` and its kin, and loops of steps in the graph."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.graph import nest
from penstock.graph.graph import default_graph
from penstock.graph.scopes import control_dependencies
from penstock.ops.constant import identity
from penstock.ops.flow.control_flow import while_loop
from penstock.ops.flow.misc import group
from penstock.variables import replicas
from penstock.variables.initialization import global_variables_initializer
from penstock.variables.replicas import PerReplica


class MultiStepContext:
    """What a function that is run for several steps tells: the outputs of the last step; ``run_op`` runs them all."""

    def __init__(self) -> None:
        self.run_op: Any = None
        self.last_step_outputs: dict[str, Any] = {}
        self.non_tensor_outputs: dict[str, Any] = {}

    def set_last_step_output(self, name: str, output: Any, reduce_op: Any = None) -> None:
        """Names an output. In a replica it is reduced by ``reduce_op``, which must be given."""
        context, strategy = replicas.current_context(), replicas.current_strategy()
        if context is None:
            self.last_step_outputs[name] = output if reduce_op is None else strategy.reduce(reduce_op, output)
            return
        if reduce_op is None:
            raise AssertionError(f"The output {name!r} of a replica needs a reduce_op.")

        def merge(strategy: Any, value: Any) -> None:
            self.last_step_outputs[name] = strategy.reduce(reduce_op, value)

        context.merge_call(merge, (output,))

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Names an output that is not a tensor; in a replica, those of all replicas."""
        context = replicas.current_context()
        if context is None:
            self.non_tensor_outputs[name] = output
            return

        def merge(strategy: Any, value: Any) -> None:
            self.non_tensor_outputs[name] = strategy.experimental_local_results(value)

        context.merge_call(merge, (output,))


def run_steps_on_iterator(fn: Callable[..., Any], iterator: Any, iterations: Any = 1, initial_loop_values: Any = None) -> MultiStepContext:
    """``fn(context, batches)`` as often as ``iterations`` says, in a loop of the graph. Outputs begin with ``initial_loop_values``."""
    context = MultiStepContext()
    start = nest.flatten(initial_loop_values or {})

    def body(number: Any, *_: Any) -> list[Any]:
        result = fn(context, iterator.get_next())
        done = [each for value in nest.flatten(result) for each in (value.values if isinstance(value, PerReplica) else [value]) if each is not None]
        with control_dependencies(done):
            return [number + 1, *(identity(each) for each in nest.flatten(context.last_step_outputs))]

    results = while_loop(lambda number, *_: number < iterations, body, [0, *start], return_same_structure=True, parallel_iterations=1)
    context.last_step_outputs = nest.pack_sequence_as(context.last_step_outputs, results[1:])
    context.run_op = group(*results)
    return context


class Step:
    """``tf.contrib.distribute.Step``: one step of training, by calling it."""

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution

    @property
    def distribution(self) -> Any:
        """The strategy."""
        return self._distribution

    def initialize(self) -> list[Any]:
        """The operations that are run first."""
        return []

    def __call__(self) -> Any:
        """The operation of a step."""
        raise NotImplementedError("must be implemented in descendants")


class StandardInputStep(Step):
    """``tf.contrib.distribute.StandardInputStep``: with the batches of the dataset that a function returns."""

    def __init__(self, dataset_fn: Callable[[], Any], distribution: Any) -> None:
        super().__init__(distribution)
        self._iterator = distribution.make_input_fn_iterator(lambda _: dataset_fn())

    def initialize(self) -> list[Any]:
        """Starts the dataset."""
        return self._iterator.initialize()


class StandardSingleLossStep(StandardInputStep):
    """``tf.contrib.distribute.StandardSingleLossStep``: an optimizer lessens ``loss_fn(context, batch)``, ``iterations_per_step`` times."""

    def __init__(self, dataset_fn: Callable[[], Any], loss_fn: Callable[..., Any], optimizer: Any, distribution: Any,
                 iterations_per_step: int = 1) -> None:
        super().__init__(dataset_fn, distribution)
        self._loss_fn, self._optimizer, self._iterations = loss_fn, optimizer, iterations_per_step

    def __call__(self) -> Any:
        """The operation of a step."""
        def train(context: MultiStepContext, batches: Any) -> Any:
            return self._distribution.extended.call_for_each_replica(
                lambda each, batch: self._optimizer.minimize(self._loss_fn(each, batch)), args=(context, batches))

        with self._distribution.scope():
            return run_steps_on_iterator(train, self._iterator, self._iterations).run_op


class Monitor:
    """``tf.contrib.distribute.Monitor``: runs a step until its input ends."""

    def __init__(self, step_callable: Step, session: Any = None) -> None:
        if default_graph().imperative:
            if session is not None:
                raise ValueError("Should not provide a `session` in Eager mode.")
            self._run_step: Callable[[], Any] = step_callable
            return
        if session is None:
            raise ValueError("Should provide a `session` in Graph mode.")
        session.run(step_callable.initialize())
        self._run_step = session.make_callable(step_callable())
        session.run(global_variables_initializer())

    def run_steps(self, num_steps: int | None = None) -> None:
        """At most so many steps."""
        number = 0
        while num_steps is None or number < num_steps:
            try:
                self._run_step()
            except errors.OutOfRangeError:
                return
            number += 1
