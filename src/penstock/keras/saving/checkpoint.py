"""``tf.train.Checkpoint``: saves and restores the variables of objects, by the way to them through attributes.

Restoring does not need the variables to exist: what is made later gets its value when it is made (``layers/restoring.py``).
"""
from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

from penstock.checkpoint.checkpoint_state import get_checkpoint_state, remove_checkpoint, update_checkpoint_state
from penstock.checkpoint.contents import load_checkpoint
from penstock.checkpoint.object_keys import stored_object_graph
from penstock.graph import dtypes
from penstock.graph.function import init_scope
from penstock.graph.graph import default_graph
from penstock.keras.saving import object_graph
from penstock.layers import restoring
from penstock.layers.sessions import assign_values, initialized_session, track_variable, values_of
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.variable import Variable


class Checkpoint:
    """A group of objects that are saved together: ``tf.train.Checkpoint(model=model, optimizer=optimizer)``."""

    def __init__(self, **kwargs: Any) -> None:
        self._save_counter: Any = None
        for name, value in sorted(kwargs.items()):
            if object_graph.tracked(value) is None:
                raise ValueError(f"`Checkpoint` was expecting a trackable object (a variable, a layer, a model, an optimizer, or a list or "
                                 f"dictionary of these), got {value!r} for '{name}'.")
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if default_graph().imperative and object_graph.tracked(value) is not None:
            restoring.retry()

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        for name, value in self.__dict__.items():
            child = None if name == "_save_counter" else object_graph.tracked(value)
            if child is not None:
                yield name, child
        if self._save_counter is not None:
            yield "save_counter", self._save_counter

    @property
    def save_counter(self) -> Any:
        """How often ``save`` was called: a variable."""
        if self._save_counter is None:
            with init_scope():
                self._save_counter = ResourceVariable(np.int64(0), trainable=False, name="save_counter", dtype=dtypes.int64)
                track_variable(self._save_counter)
            restoring.retry()
        return self._save_counter

    def write(self, file_prefix: str, session: Any = None) -> str:
        """Saves under this very name; returns it."""
        with _default(session):
            object_graph.write(self, file_prefix)
        return file_prefix

    def save(self, file_prefix: str, session: Any = None) -> str:
        """Saves under a name with a number behind it, which ``tf.train.latest_checkpoint`` finds; returns it."""
        with _default(session):
            count = self.count_save()
            path = self.write(f"{file_prefix}-{count}")
        update_checkpoint_state(os.path.dirname(path) or ".", path, [path])
        return path

    def count_save(self) -> int:
        """The number of the checkpoint that is to be saved: the counter is one more from now on."""
        counter, graph = self.save_counter, default_graph()
        with graph.counting_as(3 if graph.first_time(("counted", counter)) else 0):
            count = int(values_of([counter])[0]) + 1
            assign_values([(counter, np.int64(count))])
        return count

    def restore(self, save_path: str | None) -> RestoreStatus:
        """Gives variables the values of a checkpoint: at once, or when they are made."""
        if save_path is None:
            return RestoreStatus(self, None)
        self.save_counter  # noqa: B018 (it is restored too)
        status = RestoreStatus(self, save_path)
        if not status.restore_more():
            self._status = status  # it lives as long as the checkpoint, and waits for variables
            restoring.wait(status)
        return status


class RestoreStatus:
    """What ``restore`` returns: which values have found their variables."""

    def __init__(self, root: Any, path: str | None) -> None:
        self._root, self._path = root, path
        self._restored: set[int] = set()  # ids of variables
        self._is_later = False
        self._used: set[int] = set()  # numbers of nodes of the checkpoint's graph
        self._kept: list[Any] = []  # the variables, so that their ids are not used again
        self._reader = None if path is None else load_checkpoint(path)
        stored = None if self._reader is None else stored_object_graph(self._reader)
        self._graph = TrackableObjectGraph() if stored is None else stored

    def restore_more(self) -> bool:
        """Restores variables that are there now and were not before; True if nothing of the checkpoint is left."""
        if self._reader is None:
            return True
        if not self._graph.nodes:
            return self._restore_by_name()
        pairs = []
        for variable, number in object_graph.matched_variables(self._root, self._graph):
            self._used.add(number)
            if id(variable) not in self._restored:
                self._restored.add(id(variable))
                self._kept.append(variable)
                pairs.append((variable, self._reader.get_tensor(self._graph.nodes[number].attributes[0].checkpoint_key)))
        object_graph.assign_restored(self._root, pairs, self._is_later)
        self._is_later = True
        self._restore_states()
        return not self._unused_keys()

    def _restore_states(self) -> None:
        """Values other than variables are restored, once."""
        assert self._reader is not None
        for state, number in list(object_graph.matched_states(self._root, self._graph)):
            if number not in self._used:
                self._used.add(number)
                restored = state._restore_value(self._reader.get_tensor(self._graph.nodes[number].attributes[0].checkpoint_key))
                if restored is not None and not default_graph().imperative:
                    initialized_session().run(restored)

    def _restore_by_name(self) -> bool:
        """From a checkpoint of ``tf.train.Saver``: variables are found by their names in the graph."""
        assert self._reader is not None
        stored = self._reader.get_variable_to_shape_map()
        pairs = [(variable, self._reader.get_tensor(variable.op.name)) for variable in object_graph.variables_of(self._root)
                 if variable.op.name in stored and id(variable) not in self._restored]
        self._restored.update(id(variable) for variable, _ in pairs)
        self._kept += [variable for variable, _ in pairs]
        object_graph.assign_restored(self._root, pairs)
        return False

    def _unused_keys(self) -> list[str]:
        left = [node for number, node in enumerate(self._graph.nodes) if number not in self._used]
        return [attribute.checkpoint_key for node in left for attribute in node.attributes]

    def _missing(self) -> list[str]:
        return [variable.name for variable in object_graph.variables_of(self._root) if id(variable) not in self._restored
                and variable is not getattr(self._root, "_save_counter", None)]

    def assert_consumed(self) -> RestoreStatus:
        """AssertionError unless all values have found variables, and all variables values."""
        self.assert_existing_objects_matched()
        if self._path is not None and self._unused_keys():
            raise AssertionError(f"Unresolved object in checkpoint {self._path}: {self._unused_keys()[:10]}")
        return self

    def assert_existing_objects_matched(self) -> RestoreStatus:
        """AssertionError unless all variables that exist have found values."""
        self._check_path()
        if self._missing():
            raise AssertionError(f"Object not assigned a value from checkpoint {self._path}: {self._missing()[:10]}")
        return self

    def assert_nontrivial_match(self) -> RestoreStatus:
        """AssertionError if nothing but the root was found."""
        if self._path is not None and not self._restored:
            raise AssertionError(f"Nothing except the root object matches the checkpoint {self._path}.")
        return self

    def expect_partial(self) -> RestoreStatus:
        """Itself: nothing is said of values that were not used."""
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """In a graph: variables without a value in the checkpoint get their initial ones. Others have been restored."""
        if not default_graph().imperative:
            with _default(session):
                values_of(object_graph.variables_of(self._root))
                self._restored.clear()  # also what an initializer has overwritten since
                self.restore_more()

    def run_restore_ops(self, session: Any = None) -> None:
        """``initialize_or_restore``; AssertionError if there is no checkpoint."""
        self._check_path()
        self.initialize_or_restore(session)

    def _check_path(self) -> None:
        if self._path is None:
            raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")


class CheckpointManager:
    """``tf.train.CheckpointManager``: numbers the checkpoints of a folder and keeps the newest ``max_to_keep``."""

    def __init__(self, checkpoint: Checkpoint, directory: str, max_to_keep: int | None, keep_checkpoint_every_n_hours: float | None = None,
                 checkpoint_name: str = "ckpt") -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        self._checkpoint, self._folder, self._most, self._hours = checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(directory, checkpoint_name)
        state, now = get_checkpoint_state(directory), time.time()
        self._latest: str | None = None if state is None else state.model_checkpoint_path
        self._last_kept = now - 1 if state is None else min(now, state.last_preserved_timestamp or 0.0)
        # Those that a manager has written have times. Others are the user's, and stay.
        self._times: dict[str, float] = {} if state is None else {
            path: min(now, written) for path, written in zip(state.all_model_checkpoint_paths, state.all_model_checkpoint_timestamps)
            if written > self._last_kept}

    @property
    def latest_checkpoint(self) -> str | None:
        """The newest one."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """All that are kept, oldest first."""
        return list(self._times)

    def save(self, checkpoint_number: Any = None, session: Any = None) -> str:
        """Saves, and removes the oldest ones where there are too many; returns the name."""
        with _default(session):
            if checkpoint_number is None:
                number = self._checkpoint.count_save()
            else:
                number = int(values_of([checkpoint_number])[0] if isinstance(checkpoint_number, Variable) else checkpoint_number)
            path = self._checkpoint.write(f"{self._prefix}-{number}")
        self._latest = path
        self._times.pop(path, None)
        self._times[path] = time.time()
        self._sweep()
        update_checkpoint_state(self._folder, path, list(self._times), all_model_checkpoint_timestamps=list(self._times.values()),
                                last_preserved_timestamp=self._last_kept, save_relative_paths=True)
        return path

    def _sweep(self) -> None:
        while self._most is not None and len(self._times) > self._most:
            oldest, written = next(iter(self._times.items()))
            del self._times[oldest]
            if self._hours is not None and written - self._last_kept >= self._hours * 3600:
                self._last_kept = written  # kept for good
                continue
            remove_checkpoint(oldest)


def _default(session: Any) -> Any:
    return init_scope() if session is None else session.as_default()
