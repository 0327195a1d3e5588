"""A Saver restores a checkpoint of objects: variables are found by the names that they had in the program which saved it."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock import errors
from penstock.checkpoint.contents import CheckpointReader
from penstock.checkpoint.object_keys import keys_by_name
from penstock.platform import logging
from penstock.train.saveable import op_list_to_dict
from penstock.variables.variable import Variable


def restore_objects(sess: Any, path: str, var_list: Any) -> bool:
    """Restores the variables of a Saver; False if the checkpoint has no graph of objects. It adds no nodes: the graph may be finalized."""
    reader = CheckpointReader(path)
    keys = keys_by_name(reader)
    if keys is None or var_list is None:
        return False
    named = var_list if isinstance(var_list, dict) else op_list_to_dict(var_list)
    missing = sorted(named.keys() - keys.keys())
    if missing:
        raise errors.NotFoundError(None, None, f"{path} is a checkpoint of objects (of tf.train.Checkpoint or Model.save_weights), which a Saver "
                                   f"restores by the names of variables. Existing variables that it does not have: {missing}. Variables that it "
                                   f"has and that do not exist now: {sorted(keys.keys() - named.keys())}. {len(named) - len(missing)} names did "
                                   "match. tf.train.Saver(var_list={...}) restores some variables, or by other names.")
    logging.warning("Restoring an object-based checkpoint using a name-based saver: variables are found by their names. tf.train.Checkpoint() finds "
                    "them by the objects that hold them.")
    for name, item in named.items():
        value = np.asarray(reader.get_tensor(keys[name]))
        for part in [item] if isinstance(item, Variable) else item:
            _load(sess, part, value)
    return True


def _load(sess: Any, variable: Variable, value: np.ndarray) -> None:
    info = variable._get_save_slice_info()
    if info is not None and info.var_offset is not None and info.var_shape is not None:
        value = value[tuple(slice(start, start + size) for start, size in zip(info.var_offset, info.var_shape))]
    variable.load(value, sess)
