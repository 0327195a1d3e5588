"""SyncReplicasOptimizer: workers compute gradients in parallel, and an update is the mean of ``replicas_to_aggregate`` of them.

The graph. Each variable has an accumulator next to it. A worker's train op adds its gradients to the accumulators, marked with its *local step*,
and then waits for a token. The chief has a thread that runs the sync op: it takes the means out of the accumulators as soon as they hold enough
gradients, applies them, and puts a token for every worker into the token queue. A token is the new global step; it becomes the local step of the
worker that takes it. A gradient with an old local step, computed from weights that have been replaced since, is dropped: so a slow worker delays
no other if there are more workers than gradients needed.

Why it never stands still: each round has at least as many tokens as the next one needs gradients, and a worker that takes one adds a gradient. Only a
worker that leaves with a token in its hands takes one away. It gives it back if it leaves in good order; it brings one along if it is started again;
if it does neither, the chief replaces it after a while. ``sync_replicas_hook.py`` has the details.
"""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.composite import IndexedSlices
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import colocate_with, control_dependencies, device, name_scope
from penstock.ops.array.fill import fill
from penstock.ops.array.pack import stack
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.reduce import reduce_max
from penstock.ops.queues.accumulator_classes import ConditionalAccumulator, ConditionalAccumulatorBase, SparseConditionalAccumulator
from penstock.ops.queues.queue_classes import FIFOQueue
from penstock.platform import logging
from penstock.train.optimizer import Optimizer
from penstock.train.optimizer_wrapper import OptimizerWrapper
from penstock.train.queue_runner import QueueRunner
from penstock.train.sync_replicas_hook import LOST_WORKER_SECS, SyncReplicasOptimizerHook
from penstock.variables.assign import assign
from penstock.variables.initialization import global_variables, report_uninitialized_variables
from penstock.variables.variable import Variable


class SyncReplicasOptimizer(OptimizerWrapper):
    """``tf.train.SyncReplicasOptimizer``: wraps an optimizer so that an update is the mean of the gradients of several workers.

    With ``total_num_replicas`` larger than ``replicas_to_aggregate`` the surplus workers are backups: the first gradients count, later ones are
    dropped (``num_dropped_gradients``). All workers need the hook of ``make_session_run_hook``.

    A row of a sparse gradient is averaged over the gradients that have it. If one of them has it several times (a batch in which a word occurs
    twice) it counts as their sum; TensorFlow takes such rows one by one, so that its mean depends on their number and order.

        opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=2, total_num_replicas=3)
        train = opt.minimize(loss, global_step=tf.train.get_global_step())
        hook = opt.make_session_run_hook(is_chief)
        with tf.train.MonitoredTrainingSession(server.target, is_chief, hooks=[hook]) as sess:
            while not sess.should_stop():
                sess.run(train)
    """

    def __init__(self, opt: Optimizer, replicas_to_aggregate: int, total_num_replicas: int | None = None, variable_averages: Any = None,
                 variables_to_average: Any = None, use_locking: bool = False, name: str = "sync_replicas") -> None:
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        super().__init__(opt, use_locking, name)
        logging.info("SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s", replicas_to_aggregate, total)
        self._replicas_to_aggregate, self._total_num_replicas = replicas_to_aggregate, total
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._tokens_per_step = max(total, replicas_to_aggregate)
        self._accumulators: list[tuple[ConditionalAccumulatorBase, str]] = []
        self._global_step: Any = None
        self._chief_queue_runner: QueueRunner | None = None

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The train op of a worker: adds its gradients, then waits for a token. Makes the chief's sync op too."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        self._local_step = self._make_local_step(global_step)
        self.local_step_init_op = assign(self._local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            pushes, means = self._accumulate(pairs)
            with device(global_step.device), name_scope(""):
                update = self._opt.apply_gradients(zip(means, [variable for _, variable in pairs]), global_step)
                self._make_queues(global_step)
                with control_dependencies(pushes):
                    token = self._token_queue.dequeue()
                train_op = assign(self._local_step, token)
                self._chief_queue_runner = QueueRunner(self._dummy_queue, [self._make_sync_op(update, global_step)])
            self.chief_init_op = group(self.local_step_init_op, *self._set_steps(global_step))
        return train_op

    def _make_local_step(self, global_step: Any) -> Variable:
        """On this worker's own task, wherever ``tf.device`` puts variables here: next to an op, which goes to the worker."""
        with colocate_with(no_op()):
            return Variable(0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], dtype=global_step.dtype.base_dtype,
                            name="sync_rep_local_step")

    def _accumulate(self, pairs: list[tuple[Any, Any]]) -> tuple[list[Operation], list[Any]]:
        """The ops that add this worker's gradients, and the means that the chief takes; None where there is no gradient."""
        pushes: list[Operation] = []
        means: list[Any] = []
        for grad, variable in pairs:
            with device(variable.device):
                if grad is None:
                    means.append(None)
                    continue
                accumulator: Any
                if isinstance(grad, Tensor):
                    accumulator = ConditionalAccumulator(grad.dtype, shape=variable.get_shape(), shared_name=variable.name + "/grad_accum")
                    pushes.append(accumulator.apply_grad(grad, local_step=self._local_step))
                    means.append(accumulator.take_grad(self._replicas_to_aggregate))
                elif isinstance(grad, IndexedSlices):
                    accumulator = SparseConditionalAccumulator(grad.dtype, shape=(), shared_name=variable.name + "/grad_accum")
                    pushes.append(accumulator.apply_indexed_slices_grad(grad, local_step=self._local_step))
                    means.append(accumulator.take_indexed_slices_grad(self._replicas_to_aggregate))
                else:
                    raise ValueError("Unknown grad type!")
                self._accumulators.append((accumulator, variable.device))
        return pushes, means

    def _make_queues(self, global_step: Any) -> None:
        """The tokens; a queue for the queue runner to close (closing the tokens' would close it for the next chief too); the sign that the
        chief has ended, which is a queue because that needs no initialization: it is set if there is something in it.
        """
        dtype = global_step.dtype.base_dtype
        self._token_queue = FIFOQueue(-1, dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q")
        self._dummy_queue = FIFOQueue(1, dtypes.int32, shapes=(), name="dummy_queue", shared_name="dummy_queue")
        self._ended_queue = FIFOQueue(-1, dtypes.int32, shapes=(), name="sync_ended_q", shared_name="sync_ended_q")

    def _make_sync_op(self, update: Any, global_step: Any) -> Any:
        with control_dependencies([update]):
            sync_op = self._tokens(self._tokens_per_step)
        if self._variable_averages is not None:
            with control_dependencies([sync_op]), name_scope(""):
                sync_op = self._variable_averages.apply(self._variables_to_average)
        return sync_op

    def _tokens(self, count: int) -> Operation:
        """An op that puts so many tokens into the queue."""
        return self._token_queue.enqueue_many((fill([count], self._global_step),))

    def _set_steps(self, global_step: Any) -> list[Operation]:
        operations = []
        for accumulator, where in self._accumulators:
            with device(where):
                operations.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
        return operations

    # --- for the chief -----------------------------------------------------------------------------------------------

    def get_chief_queue_runner(self) -> QueueRunner:
        """The queue runner that applies the updates; the chief must start it, if it does not use the hook."""
        return self._require_applied(self._chief_queue_runner)

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """An op that puts the first tokens into the queue (``replicas_to_aggregate``, if -1): so many gradients may come before the first update."""
        self._require_applied(self._chief_queue_runner)
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            return self._tokens(num_tokens)

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1,
                              lost_worker_secs: float | None = LOST_WORKER_SECS) -> SyncReplicasOptimizerHook:
        """The hook that every worker needs: it initializes the steps, and on the chief puts the first tokens and applies the updates.

        A round that lasts ``lost_worker_secs``, and three times as long as any before it, goes on without the worker that is missing; None: never.
        """
        return SyncReplicasOptimizerHook(self, is_chief, num_tokens, lost_worker_secs)

    def num_dropped_gradients(self) -> Tensor:
        """How many gradients came too late and were dropped, since the parameter servers started (not in TensorFlow)."""
        self._require_applied(self._chief_queue_runner)
        counts = []
        for accumulator, where in self._accumulators:
            with device(where):
                counts.append(accumulator.num_dropped())
        return reduce_max(stack(counts))

    def _require_applied(self, value: Any) -> Any:
        if value is None:
            raise ValueError("Should be called after apply_gradients().")
        return value
