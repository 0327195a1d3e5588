"""QueueRunner: threads that keep a queue filled while steps empty it."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.graph.graph import default_graph
from penstock.graph.input_proto import QueueRunnerDef
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation
from penstock.graph.stacks import default_session
from penstock.platform import logging
from penstock.session.session import BaseSession
from penstock.train.bulk_enqueue import bulk_enqueue
from penstock.train.coordinator import Coordinator
from penstock.variables.naming import prepend_name_scope, strip_name_scope


class QueueRunner:
    """``tf.train.QueueRunner(queue, enqueue_ops)``: one thread for each of the ops, which runs it again and again.

    A thread ends when its op raises one of ``queue_closed_exception_types`` (the end of its input), when the coordinator asks to stop, or with
    an error. The last one to end closes the queue, so that the steps that take from it see the end too.
    """

    def __init__(self, queue: Any = None, enqueue_ops: Any = None, close_op: Operation | None = None, cancel_op: Operation | None = None,
                 queue_closed_exception_types: Any = None, queue_runner_def: Any = None, import_scope: str | None = None) -> None:
        if default_graph().imperative:
            raise RuntimeError("QueueRunners are not supported when eager execution is enabled. "
                               "Instead, please use tf.data to get data into your model.")
        self._lock = threading.Lock()
        self._running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # threads per session
        self._exceptions_raised: list[Exception] = []
        if queue_runner_def is not None:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._restore(queue_runner_def, import_scope)
            return
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._queue, self._enqueue_ops = queue, list(enqueue_ops)
        self._close_op = close_op if close_op is not None else queue.close()
        self._cancel_op = cancel_op if cancel_op is not None else queue.close(cancel_pending_enqueues=True)
        self._closed_types = _check_exception_types(queue_closed_exception_types)

    def _restore(self, proto: Any, scope: str | None) -> None:
        def element(name: str) -> Any:
            return default_graph().as_graph_element(prepend_name_scope(name, scope))

        self._queue = element(proto.queue_name)
        self._enqueue_ops = [element(name) for name in proto.enqueue_op_name]
        self._close_op, self._cancel_op = element(proto.close_op_name), element(proto.cancel_op_name)
        self._closed_types = tuple(errors.exception_type_from_error_code(code) for code in proto.queue_closed_exception_types) \
            or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue that is filled; of a restored runner, the node that makes it."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Operation]:
        """What the threads run."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Operation:
        """Closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Operation:
        """Closes the queue and wakes the steps that wait for room in it."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        """The errors that are the regular end of the input."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """Errors of the threads, if there was no coordinator to report them to."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    # --- threads -----------------------------------------------------------------------------------------------------

    def create_threads(self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False) -> list[threading.Thread]:
        """The threads for a session: one per enqueue op, and with a coordinator one that closes the queue when it asks to stop.

        An empty list if the threads of an earlier call still run in this session.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [threading.Thread(target=self._run, args=(sess, index, coord), name=f"QueueRunnerThread-{self.name}-{op.name}")
                   for index, op in enumerate(self._enqueue_ops)]
        if coord is not None:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, coord), name=f"QueueRunnerThread-{self.name}-close_on_stop"))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def _enqueue_function(self, sess: Any, index: int) -> Callable[[], Any]:
        """What the thread of one of the enqueue ops calls again and again."""
        enqueue_op = self._enqueue_ops[index]
        return bulk_enqueue(sess, enqueue_op) or sess.make_callable(enqueue_op)

    def _run(self, sess: Any, index: int, coord: Coordinator | None) -> None:
        """The body of a thread that fills the queue."""
        at_the_end = False
        try:
            enqueue = self._enqueue_function(sess, index)
            while coord is None or not coord.should_stop():
                enqueue()
        except self._closed_types:
            at_the_end = True
        except Exception as error:
            self._report(error, coord)
        finally:
            with self._lock:
                self._running[sess] -= 1
                last = self._running[sess] == 0
            if at_the_end and last:
                self._close(sess, self._close_op)

    def _report(self, error: Exception, coord: Coordinator | None) -> None:
        if coord is not None:
            coord.request_stop(error)
            return
        logging.error("Exception in QueueRunner: %s", error)
        with self._lock:
            self._exceptions_raised.append(error)

    def _close_on_stop(self, sess: Any, coord: Coordinator) -> None:
        """The body of the thread that ends the waits of the others."""
        coord.wait_for_stop()
        self._close(sess, self._cancel_op)

    @staticmethod
    def _close(sess: Any, op: Operation) -> None:
        try:
            sess.run(op)
        except Exception as error:  # the queue is closed already, or the session is: either way there is nothing left to end
            logging.vlog(1, "Ignored exception: %s", error)

    # --- as a proto --------------------------------------------------------------------------------------------------

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A QueueRunnerDef; None if the queue is outside of ``export_scope``."""
        if export_scope is not None and not self.name.startswith(export_scope):
            return None

        def name_of(item: Any) -> str:
            return strip_name_scope(item.name, export_scope)

        return QueueRunnerDef(
            queue_name=name_of(self), enqueue_op_name=map(name_of, self._enqueue_ops), close_op_name=name_of(self._close_op),
            cancel_op_name=name_of(self._cancel_op),
            queue_closed_exception_types=[errors.error_code_from_exception_type(cls) for cls in self._closed_types])

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The runner that a QueueRunnerDef describes, for the queue and ops of these names in the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _check_exception_types(types: Any) -> tuple[type[errors.OpError], ...]:
    types = types or (errors.OutOfRangeError,)
    if not isinstance(types, tuple) or not all(isinstance(cls, type) and issubclass(cls, errors.OpError) for cls in types):
        raise TypeError(f"queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: {types}")
    return types


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """``tf.train.add_queue_runner``: has ``start_queue_runners`` start this one too."""
    default_graph().add_to_collection(collection, qr)


def start_queue_runners(sess: Any = None, coord: Coordinator | None = None, daemon: bool = True, start: bool = True,
                        collection: str = GraphKeys.QUEUE_RUNNERS) -> list[threading.Thread]:
    """``tf.train.start_queue_runners``: starts the threads of all queue runners of the graph; returns them."""
    if default_graph().imperative:
        raise RuntimeError("Queues are not compatible with eager execution.")
    if sess is None:
        sess = default_session()
        if sess is None:
            raise ValueError("Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an explicit "
                             "session to tf.start_queue_runners(sess=sess)")
    if hasattr(sess, "raw_session"):  # a monitored session has started them
        return []
    if not isinstance(sess, BaseSession) and not hasattr(sess, "make_callable"):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    with sess.graph.as_default():
        threads: list[threading.Thread] = []
        for runner in sess.graph.get_collection(collection):
            threads.extend(runner.create_threads(sess, coord=coord, daemon=daemon, start=start))
        return threads
