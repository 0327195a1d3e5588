"""``tf.saved_model.main_op``: what is run when a SavedModel has been loaded."""
from __future__ import annotations

from typing import Any

from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation
from penstock.graph.scopes import control_dependencies, get_collection
from penstock.ops.flow.misc import group
from penstock.variables.initialization import local_variables_initializer


def main_op() -> Operation:
    """``tf.saved_model.main_op.main_op``: an operation that initializes local variables and tables."""
    return group(local_variables_initializer(), *get_collection(GraphKeys.TABLE_INITIALIZERS))


def main_op_with_restore(restore_op_name: Any) -> Operation:
    """``tf.saved_model.main_op.main_op_with_restore``: ``main_op``, and then the operation of this name."""
    with control_dependencies([main_op()]):
        return group(restore_op_name)
