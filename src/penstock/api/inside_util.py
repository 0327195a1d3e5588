"""Small utilities of TensorFlow's private modules (``tensorflow.python.util``, ``framework.test_util``, ``pywrap_tensorflow``) that programs call."""
from __future__ import annotations

import faulthandler
import functools
import inspect
import itertools
import traceback
from collections.abc import Callable, Iterator, MutableMapping, MutableSet
from typing import Any

import numpy as np
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.testing.graphs import assert_equal_graph_def


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that refuses positional arguments."""
    @functools.wraps(func)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"The function {func.__name__} only accepts keyword arguments. Do not pass positional arguments.")
        return func(**kwargs)

    return checked


def unchanged(function: Any) -> Any:
    """A decorator that asks for what is always so here."""
    return function


def unchanged_for_a_reason(description: str) -> Callable[[Any], Any]:
    """A decorator that says why a test leaves XLA out, which is not there."""
    return unchanged


def equal_graph_def(actual: bytes, expected: bytes) -> bytes:
    """``EqualGraphDefWrapper``: what tells two serialized GraphDefs apart; empty if nothing does."""
    try:
        assert_equal_graph_def(GraphDef.FromString(actual), GraphDef.FromString(expected))
    except AssertionError as difference:
        return str(difference).encode()
    return b""


def extract_stack(limit: int | None = None) -> list[tuple[str, int, str, str | None]]:
    """(file, line, function, text) of each caller, the outermost first."""
    return [(frame.filename, frame.lineno or 0, frame.name, frame.line) for frame in traceback.extract_stack(limit=limit)[:-1]]


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dict whose keys are told apart by identity."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._entries: dict[int, tuple[Any, Any]] = {}
        self.update(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._entries[id(key)][1]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        self._entries[id(key)] = (key, value)

    def __delitem__(self, key: Any) -> None:
        del self._entries[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in list(self._entries.values()))

    def __contains__(self, key: Any) -> bool:
        return id(key) in self._entries

    def __len__(self) -> int:
        return len(self._entries)


class ObjectIdentitySet(MutableSet[Any]):
    """A set whose elements are told apart by identity."""

    def __init__(self, *args: Any) -> None:
        self._entries = {id(each): each for each in (args[0] if args else ())}

    def __contains__(self, item: Any) -> bool:
        return id(item) in self._entries

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, value: Any) -> None:
        self._entries[id(value)] = value

    def discard(self, value: Any) -> None:
        self._entries.pop(id(value), None)


def get_test_data(train_samples: int, test_samples: int, input_shape: tuple[int, ...], num_classes: int,
                  random_seed: int | None = None) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """(inputs, labels) to train with and (inputs, labels) to test with: noise around a template for each class."""
    random = np.random if random_seed is None else np.random.RandomState(random_seed)
    count = train_samples + test_samples
    templates = 2 * num_classes * random.random((num_classes, *input_shape))
    labels = random.randint(0, num_classes, size=(count,))
    inputs = (templates[labels] + random.normal(loc=0, scale=1., size=(count, *input_shape))).astype(np.float32)
    return (inputs[:train_samples], labels[:train_samples]), (inputs[train_samples:], labels[train_samples:])


# --- util.decorator_utils --------------------------------------------------------------------------------------------

def get_qualified_name(function: Any) -> str:
    """The name of a function, with the classes around it."""
    return str(function.__qualname__)


def validate_callable(func: Any, decorator_name: str) -> None:
    """ValueError unless a decorator is given something that can be called."""
    if not callable(func):
        raise ValueError(f"{func} is not a function. If this is a property, make sure @property appears before @{decorator_name} in your source "
                         "code.")


def add_notice_to_docstring(doc: str | None, instructions: str, no_doc_str: str, suffix_str: str, notice: list[str]) -> str:
    """A docstring with a notice behind its first line, and a suffix to that; ``no_doc_str`` stands for one that is not there."""
    brief, _, rest = inspect.cleandoc(doc).partition("\n") if doc else (None, "", "")
    parts = [no_doc_str if brief is None else f"{brief} {suffix_str}", "\n".join([*notice, instructions]), rest.strip("\n")]
    return "\n\n".join(part for part in parts if part)


def skip_common_stack_elements(stacktrace: list[Any], base_case: list[Any]) -> list[Any]:
    """The frames of a stack that come after those it shares with another one."""
    shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(stacktrace, base_case)))
    return stacktrace[-1:] if shared == len(stacktrace) else stacktrace[shared:]


def install_stack_trace_handler() -> None:
    """Has a process that crashes tell where its threads were."""
    faulthandler.enable()
