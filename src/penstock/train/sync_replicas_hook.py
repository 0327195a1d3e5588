"""The hook of SyncReplicasOptimizer: starts the rounds of synchronous training, and ends them for all.

What it adds to TensorFlow's, so that no worker is left waiting for a token that never comes:

- a worker that ends (the end of its data, a step that was reached) gives its token back, so that the others can add the gradient in its place;
- the chief that ends says so, and wakes the workers that wait: they stop after that run;
- a chief that starts again, or has a new session after a failure, puts tokens for a whole round: those of the interrupted round may be lost;
- if a round takes much longer than all before it, a worker has died with its token: the chief puts another one, so that a worker that waits adds
  the missing gradient. If the worker was only slow, its gradient comes late and is dropped.
"""
from __future__ import annotations

import threading
import time
from typing import Any

from penstock import errors
from penstock.graph.scopes import device, name_scope
from penstock.ops.array.cast import cast
from penstock.ops.flow.misc import group
from penstock.platform import logging
from penstock.train.session_manager import not_ready
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues

_CHIEF_PATIENCE = 30.0  # seconds that a worker waits for a chief if the last one has ended: parameter servers may serve several jobs in turn
_LOOK_AGAIN = 0.2
LOST_WORKER_SECS = 6.0  # a round that stands still for so long has lost a worker, which is noticed before 10 seconds have passed
_LOOKS = 6  # at a round in that time
_MUCH_LONGER = 3  # times the longest round so far; to be wrong costs one gradient, which comes too late and is dropped


class SyncReplicasOptimizerHook(SessionRunHook):
    """What ``SyncReplicasOptimizer.make_session_run_hook`` returns."""

    def __init__(self, sync_optimizer: Any, is_chief: bool, num_tokens: int, lost_worker_secs: float | None = LOST_WORKER_SECS) -> None:
        self._optimizer, self._is_chief, self._num_tokens, self._lost_worker_secs = sync_optimizer, is_chief, num_tokens, lost_worker_secs
        self._started = False

    def begin(self) -> None:
        """Makes the ops that it runs later."""
        optimizer = self._optimizer
        if optimizer._chief_queue_runner is None:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        self._sync_op = optimizer.get_chief_queue_runner().enqueue_ops[0]
        self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens)
        with device(optimizer._global_step.device), name_scope(""):
            ended = optimizer._ended_queue
            self._ended = ended.size()
            self._begin_op = ended.dequeue_many(self._ended)
            self._resume_op = optimizer._tokens(optimizer._replicas_to_aggregate)
            self._return_token_op = optimizer._tokens(1)
            # Two for each worker: it may have looked for the sign just before it was given.
            self._end_op = group(ended.enqueue(1), optimizer._tokens(2 * optimizer._tokens_per_step))
            self._waiting_tokens = optimizer._token_queue.size()
            self._step = cast(optimizer._global_step, optimizer._global_step.dtype.base_dtype)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Sets the local step; the chief also sets the accumulators' steps, puts tokens and starts to apply updates."""
        optimizer = self._optimizer
        missing = not_ready(optimizer.ready_for_local_init_op, session)
        if missing is not None:
            raise RuntimeError("Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                               f"{optimizer.local_step_init_op.name}, error: {missing}")
        if not self._is_chief:
            session.run(optimizer.local_step_init_op)
            self._wait_for_chief(session)
            return
        session.run(optimizer.chief_init_op)
        session.run(self._begin_op)
        resumed = self._started or session.run(self._step) > 0
        session.run(self._resume_op if resumed else self._init_tokens_op)
        self._started = True
        for body in (self._apply_updates, self._replace_lost_tokens):
            threading.Thread(target=self._until_stopped, args=(body, session, coord), name=f"SyncReplicas{body.__name__}", daemon=True).start()

    def _wait_for_chief(self, session: Any) -> None:
        end = time.monotonic() + _CHIEF_PATIENCE
        while session.run(self._ended) and time.monotonic() < end:
            time.sleep(_LOOK_AGAIN)

    # --- the threads of the chief ------------------------------------------------------------------------------------

    @staticmethod
    def _until_stopped(body: Any, session: Any, coord: Any) -> None:
        """Runs ``body``; its errors stop all threads, except those of the end itself: closing the session ends what a thread waits for."""
        try:
            body(session, coord)
        except (errors.OpError, RuntimeError) as error:  # RuntimeError: the session is closed
            if not coord.should_stop():
                coord.request_stop(error)

    def _apply_updates(self, session: Any, coord: Any) -> None:
        """Takes gradients and applies them, round after round."""
        while not coord.should_stop():
            session.run(self._sync_op)

    def _replace_lost_tokens(self, session: Any, coord: Any) -> None:
        """Puts a token if a round takes much longer than all before it and none is left."""
        if self._lost_worker_secs is None:
            return
        step, since, longest = -1, time.monotonic(), 0.0
        while not coord.wait_for_stop(self._lost_worker_secs / _LOOKS):
            now, (at, tokens) = time.monotonic(), session.run([self._step, self._waiting_tokens])
            if at != step:
                longest = max(longest, now - since) if step >= 0 else 0.0
                step, since = at, now
            elif not tokens and now - since > max(self._lost_worker_secs, _MUCH_LONGER * longest):
                logging.warning("No update for %.0f s at step %d: a worker seems to be lost. Another one may take its place.", now - since, at)
                session.run(self._return_token_op)
                since = now

    # --- around the runs ---------------------------------------------------------------------------------------------

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Looks whether the chief has ended."""
        return None if self._is_chief else SessionRunArgs(self._ended)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """If so, stops: there will be no updates."""
        if not self._is_chief and run_values.results:
            logging.info("The chief has ended: this worker ends too.")
            run_context.request_stop()

    def end(self, session: Any) -> None:
        """Lets the others go on, or end."""
        try:
            session.run(self._end_op if self._is_chief else self._return_token_op)
        except (errors.AbortedError, errors.UnavailableError) as error:
            logging.info("The parameter servers are gone already: %s", error)
