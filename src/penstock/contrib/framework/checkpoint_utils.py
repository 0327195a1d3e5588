"""What is in a checkpoint, and variables that start with it. The arguments have the names that they had before TensorFlow 1.4."""
from __future__ import annotations

from typing import Any

from penstock.checkpoint import contents
from penstock.train import restore_init


def load_checkpoint(filepattern: str) -> contents.CheckpointReader:
    """A reader of the checkpoint with this name, or of the newest in this folder."""
    return contents.load_checkpoint(filepattern)


def load_variable(checkpoint_dir: str, name: str) -> Any:
    """The value of a variable in a checkpoint."""
    return contents.load_variable(checkpoint_dir, name)


def list_variables(checkpoint_dir: str) -> list[tuple[str, list[int]]]:
    """(name, shape) of all variables in a checkpoint."""
    return contents.list_variables(checkpoint_dir)


def init_from_checkpoint(checkpoint_dir: str, assignment_map: dict[str, Any]) -> None:
    """From now on, variables of this graph are initialised with values of a checkpoint."""
    restore_init.init_from_checkpoint(checkpoint_dir, assignment_map)
