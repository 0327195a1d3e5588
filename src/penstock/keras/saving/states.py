"""What checkpoints of objects hold besides variables: Python's own state, and values that several objects save and restore together.

Such an object has ``saved_as``, the name of its value in the checkpoint, gives the value (``_saved_value``) and takes it back (``_restore_value``).
"""
from __future__ import annotations

import abc
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.graph.convert import to_tensor
from penstock.graph.scopes import device as on_device


class PythonState(abc.ABC):
    """``tf.train.experimental.PythonState``: an object that is saved as a string. It is restored at once, in graphs, too."""

    saved_as = "py_state"

    @abc.abstractmethod
    def serialize(self) -> Any:
        """The string that is saved."""

    @abc.abstractmethod
    def deserialize(self, string_value: Any) -> None:
        """Takes a string that was saved."""

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        return iter(())

    def _saved_value(self) -> Any:
        value = self.serialize()
        return np.array(value.encode() if isinstance(value, str) else value, dtype=object)

    def _restore_value(self, value: np.ndarray) -> None:
        self.deserialize(np.asarray(value, object).item())


class _Array(PythonState):
    """A NumPy array in a checkpoint."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def serialize(self) -> bytes:
        """As a file of NumPy's."""
        file = io.BytesIO()
        np.save(file, self.array, allow_pickle=False)
        return file.getvalue()

    def deserialize(self, string_value: bytes) -> None:
        """From a file of NumPy's."""
        self.array = np.load(io.BytesIO(string_value), allow_pickle=False)


class NumpyState:
    """``tf.contrib.checkpoint.NumpyState``: its attributes are NumPy arrays, which are saved. Those of a checkpoint come with restoring it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, (np.ndarray, np.generic)):
            raise NotImplementedError(f"Assigned {value} to the {name} property of {self}, which is not a NumPy array. Currently mixing NumPy arrays "
                                      "and other trackable objects is not supported. File a feature request if this limitation bothers you.")
        self.__dict__.setdefault(name, _Array(value)).array = value

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return value.array if isinstance(value, _Array) else value

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        yield from self.__dict__.items()

    def _make_children(self, names: Iterable[str]) -> None:
        """Has the attributes that a checkpoint names."""
        for name in names:
            self.__dict__.setdefault(name, _Array(np.array([])))


class _Component:
    """One of the values that are saved and restored together. It looks like a variable in the checkpoint."""

    saved_as = "VARIABLE_VALUE"

    def __init__(self, name: str, dtype: Any, parts: _Together) -> None:
        self._name, self._dtype, self._together = name, dtype, parts

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        return iter(())

    def _saved_value(self) -> Any:
        return self._together.take(self._name)

    def _restore_value(self, value: np.ndarray) -> Any:
        return self._together.give(self._name, value, self._dtype)


class _Together:
    """The values of all components, between the first of them that is saved or restored and the last."""

    def __init__(self, count: int, fill: Callable[[dict[str, Any]], Any], consume: Callable[[dict[str, Any]], Any], device: Any) -> None:
        self._count, self._fill, self._consume, self._device = count, fill, consume, device
        self._saved: dict[str, Any] = {}
        self._restored: dict[str, Any] = {}

    def take(self, name: str) -> Any:
        """The tensor that is saved under a name."""
        if name not in self._saved:
            if self._saved:
                raise AssertionError(f"Split dependency {name} unsynchronized. Split dependencies must be saved together.")
            with on_device(self._device):
                self._fill(self._saved)
        return self._saved.pop(name)

    def give(self, name: str, value: np.ndarray, dtype: Any) -> Any:
        """Keeps a restored value; with the last one, all are used. What restores them then, or None."""
        if name in self._restored:
            raise AssertionError(f"Split dependency {name} unsynchronized. Split dependencies must be restored together.")
        with on_device(self._device):
            self._restored[name] = to_tensor(value, dtype)
            if len(self._restored) < self._count:
                return None
            values, self._restored = self._restored, {}
            return self._consume(values)


def split_dependency(component_names: Sequence[str], component_dtypes: Sequence[Any], fill_save_buffer_fn: Callable[[dict[str, Any]], Any],
                     consume_restore_buffer_fn: Callable[[dict[str, Any]], Any], device: Any) -> dict[str, Any]:
    """``tf.contrib.checkpoint.split_dependency``: {name: an object to be saved}; the values of all of them are made, and used, by one function."""
    together = _Together(len(component_names), fill_save_buffer_fn, consume_restore_buffer_fn, device)
    return {name: _Component(name, dtype, together) for name, dtype in zip(component_names, component_dtypes)}
