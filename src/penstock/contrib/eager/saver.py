"""``tfe.Saver``: saves variables by name, without a session; variables that take their first values from a checkpoint."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.checkpoint.versions import open_checkpoint
from penstock.graph.graph import default_graph
from penstock.train.saver import Saver as NamedSaver


class Saver:
    """``tfe.Saver(var_list)``: saves and restores variables, which are a list or a dict by name."""

    def __init__(self, var_list: Any) -> None:
        self._saver = NamedSaver(var_list)

    def save(self, file_prefix: str, global_step: Any = None) -> str:
        """Saves the variables as ``file_prefix``, with ``-STEP`` behind it if there is a ``global_step``; the name of the checkpoint."""
        path = self._saver.save(None, file_prefix, global_step)
        assert path is not None
        return path

    def restore(self, file_prefix: str) -> None:
        """Gives the variables the values of a checkpoint."""
        self._saver.restore(None, file_prefix)


@contextmanager
def restore_variables_on_create(save_path: Any, map_func: Callable[[str], str] | None = None) -> Iterator[None]:
    """Inside, new variables take their values from a checkpoint, by their names, or what ``map_func`` makes of them. None restores nothing."""
    if save_path is None:
        yield
        return
    if not default_graph().imperative:
        raise RuntimeError("Currently, restore_variables_on_create can only be used with eager execution enabled.")
    checkpoint = open_checkpoint(os.fspath(save_path))

    def restore(variable: Any) -> None:
        name = variable.name.rpartition(":")[0]
        variable.assign(checkpoint.read(name if map_func is None else map_func(name)))

    graph: Any = default_graph()
    graph.on_new_variable.append(restore)
    try:
        yield
    finally:
        graph.on_new_variable.remove(restore)
