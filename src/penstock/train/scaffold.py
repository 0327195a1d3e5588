"""Scaffold and session creators: which operations make a graph ready for training, and how a session for it is made."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.ops.array.pack import concat
from penstock.ops.flow.misc import group
from penstock.platform import logging
from penstock.summary.summary import merge_all
from penstock.train.resources import local_resources, report_uninitialized_resources, shared_resources
from penstock.train.saver import Saver
from penstock.train.session_manager import SessionManager
from penstock.train.training_ops import TrainingOps, collected_or_new, initialize_local_state
from penstock.variables.initialization import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)

USE_DEFAULT: Any = object()


def get_saver_or_default() -> Saver:
    """The one saver of the graph's collection, or a new one, which joins it."""
    saver: Saver = Scaffold.get_or_default("saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True))
    return saver


class Scaffold(TrainingOps):
    """``tf.train.Scaffold``: the operations that a training session needs. Those that are not given are taken from their collections or made.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(1.0)
    ...     scaffold = tf.train.Scaffold(init_fn=lambda scaffold, session: v.load(5.0, session))
    ...     with tf.train.MonitoredTrainingSession(scaffold=scaffold) as sess:
    ...         sess.run(v)
    np.float32(5.0)
    """

    def __init__(self, init_op: Any = None, init_feed_dict: Any = None, init_fn: Callable[[Scaffold, Any], None] | None = None, ready_op: Any = None,
                 ready_for_local_init_op: Any = None, local_init_op: Any = None, summary_op: Any = None, saver: Saver | None = None,
                 copy_from_scaffold: Scaffold | None = None) -> None:
        source = copy_from_scaffold
        if source is not None and not isinstance(source, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def own_or_copied(value: Any, name: str) -> Any:
            return getattr(source, name) if value is None and source is not None else value

        self._user_init_fn = own_or_copied(init_fn, "_user_init_fn")
        self._init_fn = None if self._user_init_fn is None else lambda sess: self._user_init_fn(self, sess)
        self._init_op, self._init_feed_dict = own_or_copied(init_op, "_init_op"), own_or_copied(init_feed_dict, "_init_feed_dict")
        self._ready_op = own_or_copied(ready_op, "_ready_op")
        self._ready_for_local_init_op = own_or_copied(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op, self._summary_op = own_or_copied(local_init_op, "_local_init_op"), own_or_copied(summary_op, "_summary_op")
        self._saver = own_or_copied(saver, "_saver")

    def finalize(self) -> Scaffold:
        """Makes what is missing, and finalizes the graph."""
        if self._init_op is None:
            self._init_op = self.get_or_default("init_op", GraphKeys.INIT_OP, self.default_init_op)
        if self._ready_op is None:
            self._ready_op = self.get_or_default(
                "ready_op", GraphKeys.READY_OP, lambda: _what_is_missing(None, [*shared_resources(), *local_resources()]))
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: _what_is_missing(global_variables(), shared_resources()))
        if self._local_init_op is None:
            self._local_init_op = self.get_or_default("local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op)
        if self._summary_op is None:
            self._summary_op = self.get_or_default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = get_saver_or_default()
        self._saver.build()
        default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The one item of a collection; if there is none, what ``default_constructor`` makes, which joins the collection."""
        graph = default_graph()
        if len(graph.get_collection(collection_key)) > 1:
            raise RuntimeError(f"More than one item in the collection \"{collection_key}\". Please indicate which one to use by passing it to the "
                               f"tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)")
        return collected_or_new(graph, collection_key, default_constructor)

    @staticmethod
    def default_init_op() -> Any:
        """Initializes all global variables, and creates the resources that tasks share."""
        return group(global_variables_initializer(), *[each.create for each in shared_resources()],
                     *default_graph().get_collection("saved_model_initializers"))

    @staticmethod
    def default_local_init_op() -> Any:
        """Initializes all local variables and tables, and creates the resources of this task."""
        return initialize_local_state()

    @property
    def init_fn(self) -> Callable[[Any], None] | None:
        """Called with the session after ``init_op``."""
        return self._init_fn

    @property
    def local_init_op(self) -> Any:
        """Initializes what belongs to this process."""
        return self._local_init_op


def _what_is_missing(variables: list[Any] | None, resources: list[Any]) -> Any:
    """The names of variables without a value (of all, if None) and of resources that do not exist."""
    without_value = report_uninitialized_variables(variables)
    return concat([without_value, report_uninitialized_resources(resources)], 0) if resources else without_value


class SessionCreator:
    """``tf.train.SessionCreator``: makes the sessions of a monitored session."""

    def create_session(self) -> Any:
        """A new session whose variables have values."""
        raise NotImplementedError(f"create_session is not implemented for {type(self).__name__}")


class _ScaffoldedCreator(SessionCreator):
    """Finalizes a scaffold; its operations tell a SessionManager what to do."""

    def __init__(self, scaffold: Scaffold | None, master: str, config: Any) -> None:
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, config
        self._manager: SessionManager | None = None

    def _session_manager(self) -> SessionManager:
        scaffold = self._scaffold
        if self._manager is None:
            scaffold.finalize()
            self._manager = SessionManager(local_init_op=scaffold.local_init_op, ready_op=scaffold.ready_op,
                                           ready_for_local_init_op=scaffold.ready_for_local_init_op, graph=default_graph())
        return self._manager

    @property
    def ready_op(self) -> Any:
        """The names of variables that have no value."""
        return self._scaffold.ready_op


class ChiefSessionCreator(_ScaffoldedCreator):
    """``tf.train.ChiefSessionCreator``: restores the latest checkpoint, or initializes the variables."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, checkpoint_dir: str | None = None,
                 checkpoint_filename_with_path: str | None = None) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir, self._checkpoint_file = checkpoint_dir, checkpoint_filename_with_path
        self._sessions = 0

    def create_session(self) -> Any:
        """A session with restored or initialized variables."""
        manager, scaffold = self._session_manager(), self._scaffold
        self._sessions += 1
        if self._sessions > 1 and not self._checkpoint_file and not (self._checkpoint_dir and latest_checkpoint(self._checkpoint_dir)):
            logging.warning("A session was lost and there is no checkpoint to restore: all variables are initialized again, and training starts over "
                            "unless another worker hands over its values. With a checkpoint_dir it would go on.")
        return manager.prepare_session(
            self._master, saver=scaffold.saver, checkpoint_dir=self._checkpoint_dir, checkpoint_filename_with_path=self._checkpoint_file,
            config=self._config, init_op=scaffold.init_op, init_feed_dict=scaffold.init_feed_dict, init_fn=scaffold.init_fn)


class WorkerSessionCreator(_ScaffoldedCreator):
    """``tf.train.WorkerSessionCreator``: waits until the chief has given the variables values."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, max_wait_secs: float = 30 * 60) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        """A session with the variables of the chief."""
        return self._session_manager().wait_for_session(self._master, config=self._config, max_wait_secs=self._max_wait_secs)
