"""``tf.train.warm_start``: a new model begins with the values of an old one, also where its vocabulary has changed."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from penstock.checkpoint.contents import CheckpointReader, checkpoint_path, load_checkpoint
from penstock.checkpoint.object_keys import keys_by_name
from penstock.graph import dtypes
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import get_collection, name_scope
from penstock.ops.array.fill import zeros
from penstock.ops.array.gather import gather
from penstock.ops.array.select import where_v2
from penstock.ops.state.save_restore import RestoreV2
from penstock.platform import logging
from penstock.train.restore_init import init_from_checkpoint, replace_initializer
from penstock.variables.partitioned import full_extents
from penstock.variables.variable import Variable


class VocabInfo(NamedTuple):
    """``tf.train.VocabInfo``: files with the words of the new and of the old model, one per line, which name the rows (or columns) of a variable."""

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


def warm_start(ckpt_to_initialize_from: str, vars_to_warm_start: Any = ".*", var_name_to_vocab_info: dict[str, VocabInfo] | None = None,
               var_name_to_prev_var_name: dict[str, str] | None = None) -> None:
    """``tf.train.warm_start``: variables get their initial values from a checkpoint.

    ``vars_to_warm_start`` is a regular expression for trainable variables, a list of such or of variables, or None (those of the two maps alone).
    """
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    path = checkpoint_path(ckpt_to_initialize_from)
    reader = load_checkpoint(path)
    vocabularies, previous = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
    chosen = _variables_by_name(vars_to_warm_start, [*vocabularies, *previous])
    unknown = (set(vocabularies) | set(previous)) - set(chosen)
    if unknown:
        raise ValueError(f"You provided names of variables that are not warm-started: {', '.join(sorted(unknown))}")
    previous = {**_keys_of_objects(reader, path, chosen, set(vocabularies) | set(previous)), **previous}
    for name, parts in sorted(chosen.items()):
        old = previous.get(name, name)
        if name in vocabularies:
            _remap(reader, path, old, parts, vocabularies[name])
        else:
            init_from_checkpoint(path, {old: parts if parts[0]._get_save_slice_info() is not None else parts[0]})
        logging.debug("Warm-starting variable: %s; prev_var_name: %s", name, old if old != name else "Unchanged")
    logging.info("Warm-started %d variables.", len(chosen))


def _keys_of_objects(reader: CheckpointReader, path: str, chosen: Iterable[str], renamed: set[str]) -> dict[str, str]:
    """{variable: its key}, if the checkpoint names variables by the objects that hold them."""
    keys = keys_by_name(reader)
    if keys is None:
        return {}
    missing = sorted(set(chosen) - keys.keys() - renamed)
    if missing:
        raise ValueError(f"{path} is a checkpoint of objects, which does not have all variables that are warm-started. They are: {sorted(chosen)}; "
                         f"missing from the checkpoint are: {missing}")
    return {name: keys[name] for name in chosen if name in keys}


def _variables_by_name(wanted: Any, named: Iterable[str]) -> dict[str, list[Variable]]:
    """{name: parts of the variable}."""
    if isinstance(wanted, str) or wanted is None:
        logging.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
        candidates = [] if wanted is None else get_collection(GraphKeys.TRAINABLE_VARIABLES, wanted)
    elif not isinstance(wanted, list):
        raise ValueError(f"`vars_to_warm_start` must be a `list` or `str`. Given type is {type(wanted)}")
    elif all(isinstance(item, str) for item in wanted):
        candidates = [variable for pattern in wanted for variable in get_collection(GraphKeys.GLOBAL_VARIABLES, pattern)]
    else:
        candidates = list(wanted)
    candidates += [variable for name in named for variable in get_collection(GraphKeys.GLOBAL_VARIABLES, f"{re.escape(name)}(:0|/part_)")]
    by_name: dict[str, list[Variable]] = {}
    for variable in dict.fromkeys(candidates):
        info = variable._get_save_slice_info()
        by_name.setdefault(variable.op.name if info is None else str(info.full_name), []).append(variable)
    return by_name


def _words(path: str, size: int) -> list[str]:
    with open(path, encoding="utf-8") as file:
        words = file.read().split("\n")
    words = words[:-1] if words and not words[-1] else words
    return words if size < 0 else words[:size]


def _remap(reader: CheckpointReader, path: str, old: str, parts: list[Variable], info: VocabInfo) -> None:
    """Rows (columns) of known words come from the checkpoint; the others from the backup initializer, zeros by default."""
    if not reader.has_tensor(old):
        raise ValueError(f"Tensor {old} is not found in {path} checkpoint")
    rows = {word: row for row, word in enumerate(_words(info.old_vocab, info.old_vocab_size))}
    words = _words(info.new_vocab, info.new_vocab_size)
    places = np.array([rows.get(word, -1) for word in words] + [-1] * info.num_oov_buckets, np.int64)
    for variable in parts:
        slice_info = variable._get_save_slice_info()
        start = 0 if slice_info is None else (slice_info.var_offset or [0])[info.axis]
        mine = places[start:start + full_extents(variable.shape)[info.axis]]
        replace_initializer(variable, _remapped_value(path, old, variable, mine, info))


def _remapped_value(path: str, old: str, variable: Variable, places: np.ndarray, info: VocabInfo) -> Tensor:
    dtype, shape = variable.dtype.base_dtype, variable.shape.as_list()
    with name_scope("warm_start"):
        (stored,) = RestoreV2(path, [old], [""], dtypes=[dtype])
        taken = gather(stored, np.maximum(places, 0), axis=info.axis)
        backup = zeros(shape, dtype) if info.backup_initializer is None else info.backup_initializer(shape, dtype=dtypes.as_dtype(dtype))
        known = (places >= 0).reshape([-1 if axis == info.axis else 1 for axis in range(len(shape))])
        value = where_v2(known, taken, backup)
        value.set_shape(shape)
        return value
