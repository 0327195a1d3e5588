"""SessionManager: makes sessions whose variables have values, from a checkpoint, from their initializers, or by waiting for the chief.

Variables live in the tasks of a cluster and outlive sessions, but not their tasks. So nothing is taken for granted: in a session from
here, ``ready_op`` has found every variable with a value.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.checkpoint.checkpoint_state import get_checkpoint_state
from penstock.graph.graph import Graph, default_graph
from penstock.platform import logging
from penstock.session.session import Session

_FIRST_PAUSE = 0.05  # seconds; each further pause is longer, up to recovery_wait_secs


class SessionManager:
    """``tf.train.SessionManager``: prepares and recovers sessions.

    ``ready_op`` and ``ready_for_local_init_op`` are tensors with the names of variables that have no value; ``local_init_op`` initializes what
    belongs to this process alone, and runs in each new session as soon as ``ready_for_local_init_op`` names nothing.
    """

    def __init__(self, local_init_op: Any = None, ready_op: Any = None, ready_for_local_init_op: Any = None, graph: Graph | None = None,
                 recovery_wait_secs: float = 30, local_init_run_options: Any = None, local_init_feed_dict: Any = None) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError("If you pass a ready_for_local_init_op you must also pass a local_init_op , which may be no_op(): "
                             f"ready_for_local_init_op [{ready_for_local_init_op}]")
        self._local_init_op, self._ready_op, self._ready_for_local_init_op = local_init_op, ready_op, ready_for_local_init_op
        self._graph = graph or default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options, self._local_init_feed_dict = local_init_run_options, local_init_feed_dict

    # --- three ways to a session -------------------------------------------------------------------------------------

    def prepare_session(self, master: str, init_op: Any = None, saver: Any = None, checkpoint_dir: str | None = None,
                        checkpoint_filename_with_path: str | None = None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
                        config: Any = None, init_feed_dict: Any = None, init_fn: Callable[[Any], None] | None = None) -> Session:
        """A session for the chief: variables are restored from the latest checkpoint, or initialized if there is none."""
        sess, restored = self._restore_checkpoint(master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs,
                                                  config)
        try:
            if not restored:
                if init_op is None and init_fn is None and self._local_init_op is None:
                    raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
                if init_op is not None:
                    sess.run(init_op, feed_dict=init_feed_dict)
                if init_fn is not None:
                    init_fn(sess)
            self._require(self._try_local_init(sess), "ready for local_init.", init_op, init_fn)
            self._require(self._model_ready(sess), "ready.", init_op, init_fn)
        except BaseException:
            _safe_close(sess)
            raise
        return sess

    def _require(self, missing: str | None, what: str, init_op: Any, init_fn: Any) -> None:
        if missing is not None:
            raise RuntimeError(f"Init operations did not make model {what}  Init op: {_name(init_op)}, init fn: {init_fn}, "
                               f"local_init_op: {_name(self._local_init_op)}, error: {missing}")

    def recover_session(self, master: str, saver: Any = None, checkpoint_dir: str | None = None, checkpoint_filename_with_path: str | None = None,
                        wait_for_checkpoint: bool = False, max_wait_secs: float = 7200, config: Any = None) -> tuple[Session, bool]:
        """(a session, whether its variables were restored from a checkpoint and all have values)."""
        sess, restored = self._restore_checkpoint(master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs,
                                                  config)
        missing = self._try_local_init(sess)
        if not restored:
            return sess, False
        if missing is None:
            missing = self._model_ready(sess)
        source = checkpoint_dir or checkpoint_filename_with_path
        if missing is not None:
            logging.info("Restoring model from %s did not make model ready: %s", source, missing)
            return sess, False
        logging.info("Restored model from %s", source)
        return sess, True

    def wait_for_session(self, master: str, config: Any = None, max_wait_secs: float | None = float("inf")) -> Session:
        """A session for a worker that is not the chief: waits until the chief has given the variables values.

        It looks often at first and then less often, at least every ``recovery_wait_secs``; DeadlineExceededError after ``max_wait_secs``.
        """
        limit = float("inf") if max_wait_secs is None else max_wait_secs
        end, pause = time.monotonic() + limit, _FIRST_PAUSE
        said: str | None = None
        while True:
            sess = Session(master, graph=self._graph, config=config)
            try:
                missing = self._try_local_init(sess)
                if missing is None:
                    missing = self._model_ready(sess)
            except BaseException:
                _safe_close(sess)
                raise
            if missing is None:
                return sess
            _safe_close(sess)
            if time.monotonic() + pause > end:
                raise errors.DeadlineExceededError(None, None, f"Session was not ready after waiting {limit:.0f} secs. {missing}")
            if missing != said:
                logging.info("Waiting for model to be ready: %s", missing)
                said = missing
            time.sleep(pause)
            pause = min(2 * pause, self._recovery_wait_secs)

    # --- the parts ---------------------------------------------------------------------------------------------------

    def _restore_checkpoint(self, master: str, saver: Any, checkpoint_dir: str | None, checkpoint_filename: str | None, wait_for_checkpoint: bool,
                            max_wait_secs: float, config: Any) -> tuple[Session, bool]:
        """(a new session, whether its variables were restored)."""
        if checkpoint_dir and checkpoint_filename:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        sess = Session(master, graph=self._graph, config=config)
        try:
            if saver is None or not (checkpoint_dir or checkpoint_filename):
                return sess, False
            if checkpoint_filename:
                saver.restore(sess, checkpoint_filename)
                return sess, True
            state = self._checkpoint_state(checkpoint_dir or "", max_wait_secs if wait_for_checkpoint else 0)
            if state is None:
                return sess, False
            saver.restore(sess, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            return sess, True
        except BaseException:
            _safe_close(sess)
            raise

    def _checkpoint_state(self, folder: str, patience: float) -> Any:
        """What the folder says of its checkpoints; None if there are none after ``patience`` seconds."""
        end, pause = time.monotonic() + patience, _FIRST_PAUSE
        while True:
            state = get_checkpoint_state(folder)
            if state is not None and state.model_checkpoint_path:
                return state
            if time.monotonic() + pause > end:
                return None
            logging.info("Waiting for checkpoint to be available.")
            time.sleep(pause)
            pause = min(2 * pause, self._recovery_wait_secs)

    def _try_local_init(self, sess: Session) -> str | None:
        """Runs ``local_init_op`` if the model is ready for it; otherwise returns what is missing."""
        if self._local_init_op is None:
            return None
        missing = not_ready(self._ready_for_local_init_op, sess)
        if missing is None:
            logging.info("Running local_init_op.")
            sess.run(self._local_init_op, feed_dict=self._local_init_feed_dict, options=self._local_init_run_options)
            logging.info("Done running local_init_op.")
        return missing

    def _model_ready(self, sess: Session) -> str | None:
        """None if every variable has a value; otherwise what is missing."""
        return not_ready(self._ready_op, sess)


def not_ready(ready_op: Any, sess: Any) -> str | None:
    """None if ``ready_op`` finds nothing missing in a session, or there is no such op; otherwise what it says."""
    if ready_op is None:
        return None
    try:
        value = sess.run(ready_op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in error.message:
            raise
        return error.message
    if value is None or np.asarray(value).dtype == np.int32 or np.size(value) == 0:  # an op, a check by ranks, or an empty list of names
        return None
    return "Variables not initialized: " + ", ".join(name.decode() if isinstance(name, bytes) else str(name) for name in np.ravel(value))


def _name(item: Any) -> Any:
    return getattr(item, "name", item)


def _safe_close(sess: Session) -> None:
    """Closes a session that may be broken."""
    try:
        sess.close()
    except errors.OpError as error:
        logging.vlog(1, "Closing a session: %s", error)
