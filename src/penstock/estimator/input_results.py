"""What input functions return: tensors, or a dataset, whose iterator a hook initializes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data.dataset import Dataset
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.platform import logging
from penstock.platform.inspection import fn_args
from penstock.train.session_run_hook import SessionRunHook


class DatasetInitializerHook(SessionRunHook):
    """Starts the iterator of a dataset, in every session anew."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def begin(self) -> None:
        """Finds the initializer while the graph can still grow."""
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Starts at the first element."""
        session.run(self._initializer)


def call_with(function: Callable[..., Any], **available: Any) -> Any:
    """Calls a function with those of the ``available`` arguments that it has names for."""
    names = fn_args(function)
    return function(**{name: value for name, value in available.items() if name in names})


def features_and_labels(result: Any) -> tuple[Any, Any, list[SessionRunHook]]:
    """(features, labels or None, hooks) of what an input function returned."""
    hooks: list[SessionRunHook] = []
    if isinstance(result, Dataset):
        iterator = result.make_initializable_iterator()
        hooks, result = [DatasetInitializerHook(iterator)], iterator.get_next()
    return (*features_and_labels_of(result), hooks)


def features_and_labels_of(result: Any) -> tuple[Any, Any]:
    """Features and labels of what an input function returns; no labels are None."""
    if not isinstance(result, (list, tuple)):
        return result, None
    if len(result) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    return result[0], result[1]


def features_alone(result: Any) -> tuple[Any, list[SessionRunHook]]:
    """Features and hooks of an input function for predictions, which need no labels."""
    features, _, hooks = features_and_labels(result)
    graph = default_graph()
    if not graph.get_collection(GraphKeys.QUEUE_RUNNERS) and not any("Iterator" in op.type for op in graph.get_operations()):
        logging.warning("Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict yields forever. This is probably a "
                        "mistake.")
    return features, hooks
