"""Training without parameter servers: each worker has all variables, and gradients are averaged by all-reduce.

    from penstock.train.allreduce import AllReduceOptimizer

    with tf.device(f"/job:worker/task:{task}"):
        ...
        opt = AllReduceOptimizer(tf.train.GradientDescentOptimizer(0.1), worker=task, workers=3)
        train = opt.minimize(loss, global_step=tf.train.get_global_step())
    with tf.train.MonitoredTrainingSession(server.target, checkpoint_dir=folder if task == 0 else None, hooks=[opt.make_session_run_hook()]) as sess:
        while not sess.should_stop():
            sess.run(train)

Every worker is the chief of its own variables. Worker 0 leads: the others start with copies of its variables, so that all replicas have the same bits
at each step, and it alone writes and restores checkpoints.

An *epoch* lasts until a worker is lost. Then the steps of all others end one after the other (see ``interrupt``), their sessions are made anew, and
their hooks meet on the task of worker 0, at a *board* of numbers that all can read: [epoch, the epoch that has started, for each worker the epoch
that it has joined, or ENDED]. Worker 0 has restored its checkpoint by then. It writes a new epoch; each worker that sees it copies the variables and
joins; when all have joined, no step of the old epoch can still run, so worker 0 empties the queues and starts. A worker never joins an epoch that has
started: the board may still show the last one, of a training that has ended.
"""
from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.distributed.allreduce import Ring
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import device, name_scope
from penstock.ops.constant import identity, placeholder
from penstock.ops.flow.misc import group
from penstock.ops.queues.tags import ENDED
from penstock.ops.state.resource import ReadVariableOp, VarHandleOp
from penstock.ops.state.state import Assign, VariableV2
from penstock.platform import logging
from penstock.train.optimizer import Optimizer
from penstock.train.optimizer_wrapper import OptimizerWrapper
from penstock.train.session_run_hook import SessionRunHook
from penstock.variables.assign import scatter_update
from penstock.variables.initialization import global_variables
from penstock.variables.resource_variable import ResourceVariable

_LOOK_AGAIN = 0.02  # seconds
_NEWS = 10.0  # seconds of waiting for the other workers until that is logged
_FAREWELL = 10.0  # seconds that a worker waits until its neighbour knows that it ends


class AllReduceOptimizer(OptimizerWrapper):
    """Wraps an optimizer: the gradients that it applies are the means over all workers. Sparse gradients are made dense."""

    def __init__(self, opt: Optimizer, worker: int, workers: int, job: str = "worker", name: str = "allreduce") -> None:
        super().__init__(opt, False, name)
        self._worker, self._workers, self._job = worker, workers, job
        self._ring: Ring | None = None

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Operation:
        """Averages the gradients over all workers, and applies them."""
        pairs = list(grads_and_vars)
        places = [place for place, (grad, _) in enumerate(pairs) if grad is not None]
        self._ring = Ring(self._worker, self._workers, self._job, self._name)
        means = dict(zip(places, self._ring.allreduce([to_tensor(pairs[place][0]) for place in places])))
        return self._opt.apply_gradients([(means.get(place), variable) for place, (_, variable) in enumerate(pairs)], global_step, name)

    def make_session_run_hook(self) -> AllReduceHook:
        """The hook that every worker needs."""
        if self._ring is None:
            raise ValueError("Should be called after apply_gradients().")
        return AllReduceHook([self._ring])


class AllReduceHook(SessionRunHook):
    """Lets the workers start together, with the same variables; again after a failure. ``rings``: all that the graph has when a session begins."""

    def __init__(self, rings: Sequence[Ring]) -> None:
        self._rings = rings
        self._epoch = 0  # the last one that this worker was in

    @property
    def _ring(self) -> Ring:
        return self._rings[0]

    @property
    def _is_alone(self) -> bool:
        return not self._rings or self._ring.workers == 1

    def begin(self) -> None:
        """Makes the ops that it runs later."""
        if self._is_alone:
            return
        ring, me = self._ring, self._ring.worker
        with name_scope(ring.scope):
            self._interrupt, self._leave = (group(*[each.interrupt(ended) for each in self._rings]) for ended in (False, True))
            self._left_over = [pair for each in self._rings for task in range(ring.workers) for pair in each.left_over(task)] if me == 0 else []
            self._own_items = ring.left_over(me)[0][0]
            self._value = placeholder(dtypes.int64, [])
            with device(ring.tasks[me]):
                self._enter = group(*[each.state.assign([self._value, 0]).op for each in self._rings])
            with device(ring.tasks[0]):
                board = VariableV2(shape=[2 + ring.workers], dtype=dtypes.int64, shared_name=ring.scope + "board", name="board")
                self._board = board + 0
                self._open = Assign(board, [self._value] + [0] * (1 + ring.workers)).op
                self._start, self._join = (scatter_update(board, [place], [self._value]).op for place in (1, 2 + me))
            self._copy = group(*[variable.assign(_value_on_leader(variable, ring.tasks[0])) for variable in global_variables()]) if me else None

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Meets the others."""
        if self._is_alone:
            return
        session.run(self._interrupt)  # wakes the workers that wait for this one in the old epoch
        if self._ring.worker == 0:
            self._lead(session)
        else:
            self._follow(session)
        session.run(self._enter, {self._value: self._epoch})

    def _lead(self, session: Any) -> None:
        self._epoch = secrets.randbits(62) | 1
        session.run(self._open, {self._value: self._epoch})
        for board in self._boards(session):
            if (board[3:] == self._epoch).all():
                break
        for size, take in self._left_over:
            for _ in range(int(session.run(size))):
                session.run(take)
        session.run(self._start, {self._value: self._epoch})

    def _follow(self, session: Any) -> None:
        joined = missed = 0
        for board in self._boards(session):
            epoch, started = int(board[0]), int(board[1])
            if epoch != started:
                if epoch != joined:
                    session.run(self._copy)
                    session.run(self._join, {self._value: epoch})
                    joined = epoch
            elif epoch == joined != 0:
                break
            elif epoch != missed:  # it has failed, has ended, or began with this worker's predecessor: another one has to come
                session.run(self._interrupt)
                missed = epoch
        self._epoch = joined

    def _boards(self, session: Any) -> Any:
        """The board on the task of worker 0, read again and again; zeros until it is written."""
        news = time.monotonic() + _NEWS
        while True:
            try:
                yield session.run(self._board)
            except errors.FailedPreconditionError:  # worker 0 has not begun
                yield np.zeros(2 + self._ring.workers, np.int64)
            if time.monotonic() > news:
                logging.info("Waiting for the other workers, to start a new epoch.")
                news = time.monotonic() + _NEWS
            time.sleep(_LOOK_AGAIN)

    def end(self, session: Any) -> None:
        """Tells the neighbour, whose loop then ends too, and so on around the ring; waits until the neighbour knows or has ended."""
        if self._is_alone:
            return
        try:
            session.run(self._leave)
            session.run(self._join, {self._value: ENDED})
            neighbour, limit = 2 + (self._ring.worker + 1) % self._ring.workers, time.monotonic() + _FAREWELL
            while time.monotonic() < limit:
                waiting, board = session.run([self._own_items, self._board])
                if not waiting or board[neighbour] == ENDED or board[0] != self._epoch:
                    return
                time.sleep(_LOOK_AGAIN)
        except (errors.AbortedError, errors.UnavailableError) as error:
            logging.info("Another worker is gone already: %s", error)


def _value_on_leader(variable: Any, task: str) -> Tensor:
    """The value of a variable on the task of worker 0."""
    name, shape, dtype = variable.op.name, variable.shape, variable.dtype.base_dtype
    with device(task):
        if isinstance(variable, ResourceVariable):
            return ReadVariableOp(VarHandleOp(shape=shape, dtype=dtype, shared_name=name), dtype=dtype)
        return identity(VariableV2(shape=shape, dtype=dtype, shared_name=name))
