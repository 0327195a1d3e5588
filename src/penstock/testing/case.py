"""``tf.test.TestCase`` and ``tf.test.main``: each test starts with an empty default graph and the same seeds."""
from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from absl.testing import absltest
from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.graph.graph import Graph, reset_default_graph
from penstock.graph.nest import flatten, pack_sequence_as
from penstock.graph.scopes import get_default_graph
from penstock.graph.seeds import DEFAULT_GRAPH_SEED, set_random_seed
from penstock.graph.stacks import default_session
from penstock.platform import app
from penstock.session.session import Session
from penstock.testing.assertions import ArrayAssertions
from penstock.testing.local_devices import is_gpu_available


class _NotATest:
    """A method whose name begins with ``test``: test loaders, which look at the class, do not see it."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return None if instance is None else self.method.__get__(instance, owner)


class TestCase(ArrayAssertions, absltest.TestCase):
    """A test case with sessions, and comparisons for arrays and tensors."""

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._cached: Session | None = None
        self._temporary: str | None = None

    def setUp(self) -> None:
        """A new default graph; the seeds of Python, NumPy and the graph."""
        super().setUp()
        self._close_cached()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        reset_default_graph()
        set_random_seed(DEFAULT_GRAPH_SEED)
        self.addCleanup(self._close_cached)

    def _close_cached(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    @contextmanager
    def session(self, graph: Graph | None = None, config: ConfigProto | None = None, use_gpu: bool = False,
                force_gpu: bool = False) -> Iterator[Session]:
        """A new session, the default one in the body, with its graph. ``use_gpu`` makes no difference: nodes go where there is
        a kernel for them."""
        if force_gpu and not is_gpu_available():
            self.skipTest("there is no GPU")
        graph = graph or get_default_graph()
        with graph.as_default(), Session(graph=graph, config=config or ConfigProto(allow_soft_placement=True)) as session:
            yield session

    @contextmanager
    def cached_session(self, graph: Graph | None = None, config: ConfigProto | None = None, use_gpu: bool = False,
                       force_gpu: bool = False) -> Iterator[Session]:
        """The one session of a test, made at its first use; variables keep their values between two uses."""
        if force_gpu and not is_gpu_available():
            self.skipTest("there is no GPU")
        if self._cached is None:
            self._cached = Session(graph=graph or get_default_graph(), config=config or ConfigProto(allow_soft_placement=True))
        elif graph is not None and graph is not self._cached.graph:
            raise ValueError("The cached session of this test has another graph; use self.session()")
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    @_NotATest
    def test_session(self, graph: Graph | None = None, config: ConfigProto | None = None, use_gpu: bool = False,
                     force_gpu: bool = False) -> AbstractContextManager[Session]:
        """`cached_session`, or `session` if a graph is given."""
        make = self.cached_session if graph is None else self.session
        return make(graph, config, use_gpu, force_gpu)

    def evaluate(self, tensors: Any) -> Any:
        """The values of a structure of tensors, in the default session or a new one."""
        flat = flatten(tensors)
        if get_default_graph().imperative:
            return pack_sequence_as(tensors, [item.numpy() if hasattr(item, "numpy") else item for item in flat])
        session = default_session()
        if session is not None:
            return pack_sequence_as(tensors, session.run(flat))
        with self.session() as session:
            return pack_sequence_as(tensors, session.run(flat))

    def get_temp_dir(self) -> str:
        """A folder for the files of this test, removed after it."""
        if self._temporary is None:
            folder = tempfile.TemporaryDirectory(prefix=f"{type(self).__name__}-")
            self.addCleanup(folder.cleanup)
            self._temporary = folder.name
        return self._temporary

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> CheckedThread:
        """A thread whose failure is the test's failure, when it is joined."""
        return CheckedThread(self, target, args, kwargs)

    # Names that unittest has dropped, which old tests use.
    assertEquals = absltest.TestCase.assertEqual
    assertNotEquals = absltest.TestCase.assertNotEqual
    assertAlmostEquals = absltest.TestCase.assertAlmostEqual
    assertItemsEqual = absltest.TestCase.assertCountEqual
    assertRaisesRegexp = absltest.TestCase.assertRaisesRegex
    assertRegexpMatches = absltest.TestCase.assertRegex
    assert_ = absltest.TestCase.assertTrue


class CheckedThread:
    """See `TestCase.checkedThread`."""

    def __init__(self, case: TestCase, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._case, self._error = case, None
        self._call = lambda: target(*(args or ()), **(kwargs or {}))
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # any error is the test's
            self._error = error

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the thread; fails the test if it failed."""
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error!r}")

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the program. Flags are parsed first."""
    app.run(main=lambda arguments: absltest.main(argv=arguments), argv=argv)


def get_temp_dir() -> str:
    """A folder for the files of all tests of this process."""
    global _temporary
    if _temporary is None:
        _temporary = tempfile.mkdtemp(prefix=os.path.basename(sys.argv[0]) or "penstock-")
    return _temporary


_temporary: str | None = None


def test_src_dir_path(relative_path: str) -> str:
    """A path below the folder of test sources, which the environment variable ``TEST_SRCDIR`` names (by default the current folder)."""
    return os.path.join(os.environ.get("TEST_SRCDIR", os.getcwd()), relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]  (not a test, in spite of its name)
