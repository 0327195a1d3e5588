"""``tf.saved_model.main_op``: what is run when a SavedModel has been loaded."""
from __future__ import annotations

from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation
from penstock.graph.scopes import control_dependencies, get_collection
from penstock.ops.misc import group
from penstock.ops.save_restore import RestoreV2  # noqa: F401  (restores are part of the graph that is loaded)
from penstock.variables.initialization import global_variables_initializer, local_variables_initializer


def main_op() -> Operation:
    """Initializes local variables and tables."""
    return group(local_variables_initializer(), *get_collection(GraphKeys.TABLE_INITIALIZERS))


def main_op_with_restore(restore_op_name: str) -> Operation:
    """Initializes global variables, restores with the operation of this name, then initializes local variables and tables."""
    with control_dependencies([main_op()]):
        return group(restore_op_name, global_variables_initializer())
