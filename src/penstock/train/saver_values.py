"""Saving variables that have values at once: imperative style, where a Saver adds no nodes."""
from __future__ import annotations

from typing import Any

from penstock.checkpoint.bundle_writer import BundleWriter
from penstock.checkpoint.versions import open_checkpoint
from penstock.train.saveable import op_list_to_dict


def variables_by_name(var_list: Any) -> dict[str, Any]:
    """{name in the checkpoint: variable} of what a Saver was given; RuntimeError if that was nothing."""
    if var_list is None:
        raise RuntimeError("When eager execution is enabled, `var_list` must specify a list or dict of variables to save")
    named: dict[str, Any] = dict(var_list) if isinstance(var_list, dict) else op_list_to_dict(var_list)
    for name, variable in named.items():
        if not hasattr(variable, "numpy"):
            raise TypeError(f"'{name}' is not a variable with a value: {variable!r}")
    return named


def write_values(named: dict[str, Any], prefix: str) -> str:
    """Writes a checkpoint; its name."""
    with BundleWriter(prefix) as writer:
        for name in sorted(named):
            writer.add(name, named[name].numpy(), named[name].dtype.base_dtype)
    return prefix


def read_values(named: dict[str, Any], prefix: str) -> None:
    """Gives variables the values of a checkpoint; none of them changes if one is not there."""
    checkpoint = open_checkpoint(prefix)
    values = {name: checkpoint.read(name) for name in named}
    for name, variable in named.items():
        variable.assign(values[name])
