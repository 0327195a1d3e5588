"""``tensorflow.python.tools.inspect_checkpoint``: prints what is in a checkpoint.

    python -m tensorflow.python.tools.inspect_checkpoint --file_name=model.ckpt-1000 --all_tensors
"""
from __future__ import annotations

import argparse
import math
import re
import sys
from typing import Any

import numpy as np

from penstock.checkpoint.contents import CheckpointReader
from penstock.errors import OpError

_PARTS = (".index", ".meta", ".data")  # the files of one checkpoint, which is named by what stands before


def print_tensors_in_checkpoint_file(file_name: str, tensor_name: str, all_tensors: bool, all_tensor_names: bool = False,
                                     count_exclude_pattern: str = "") -> None:
    """Prints a tensor, all of them, their names, or (by default) a line with type and shape for each; then the number of parameters.

    What is wrong with a checkpoint is printed, too, not raised.
    """
    try:
        _print_tensors(CheckpointReader(file_name), tensor_name, all_tensors, all_tensor_names, count_exclude_pattern)
    except OpError as error:
        print(error.message)
        if any(part in file_name for part in _PARTS):
            print(f"A checkpoint is named by the prefix of its files. Try: --file_name={file_name.rpartition('.')[0]}")


def _print_tensors(reader: CheckpointReader, tensor_name: str, all_tensors: bool, all_tensor_names: bool, count_exclude_pattern: str) -> None:
    shapes = reader.get_variable_to_shape_map()
    if all_tensors or all_tensor_names:
        for name in sorted(shapes):
            print("tensor_name: ", name)
            if all_tensors:
                print(reader.get_tensor(name))
    elif tensor_name:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
    else:
        print(reader.debug_string().decode())
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    if count_exclude_pattern:
        excluded = {name: size for name, size in sizes.items() if re.search(count_exclude_pattern, name)}
        print(f"# Excluding {len(excluded)} tensors ({sum(excluded.values())} params) that match {count_exclude_pattern} when counting.")
        sizes = {name: size for name, size in sizes.items() if name not in excluded}
    print(f"# Total number of params: {sum(sizes.values())}")


def parse_numpy_printoption(kv_str: str) -> None:
    """Sets an option of ``numpy.set_printoptions`` that is given as text, ``"threshold=100000"``."""
    name, equals, text = kv_str.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"'{kv_str}' is not in the form k=v.")
    options = dict(np.get_printoptions())
    if name not in options:
        raise argparse.ArgumentTypeError(f"'{name}' is not a valid printoption.")
    kind: Any = type(options[name])
    if kind is type(None):
        raise argparse.ArgumentTypeError(f"Setting '{name}' from the command line is not supported.")
    try:
        value = text.lower() in ("1", "t", "true", "y", "yes") if kind is bool else kind(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    set_options: Any = np.set_printoptions  # the name is known to be one of its options
    set_options(**{name: value})


def _flag(text: str) -> bool:
    return text.lower() in ("true", "t", "1")


def main(arguments: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(prog="inspect_checkpoint", description="Print what is in a checkpoint.")
    parser.add_argument("--file_name", default="", help="the checkpoint, or for a sharded one the prefix of its files")
    parser.add_argument("--tensor_name", default="", help="the tensor to print")
    parser.add_argument("--count_exclude_pattern", default="", help="a regular expression: tensors that are not counted")
    parser.add_argument("--all_tensors", nargs="?", const=True, type=_flag, default=False, help="print the values of all tensors")
    parser.add_argument("--all_tensor_names", nargs="?", const=True, type=_flag, default=False, help="print the names of all tensors")
    parser.add_argument("--printoptions", nargs="*", type=parse_numpy_printoption, help="options of numpy.set_printoptions, as k=v")
    options = parser.parse_args(arguments)
    if not options.file_name:
        print("Usage: inspect_checkpoint --file_name=checkpoint_file_name [--tensor_name=tensor_to_print] [--all_tensors] [--all_tensor_names]")
        return 1
    print_tensors_in_checkpoint_file(options.file_name, options.tensor_name, options.all_tensors, options.all_tensor_names,
                                     options.count_exclude_pattern)
    return 0


if __name__ == "__main__":
    sys.exit(main())
