"""What TensorFlow's kernels say of an input of another rank than they want, where programs and tests look for their words."""
from __future__ import annotations

from typing import Any

import numpy as np

_VECTOR_OF_INTEGERS = (1, "shape must be a vector of {{int32,int64}}, got shape {shape}")
_SCALAR = (0, "{name} must be a scalar, got shape {shape}")
_SLICE = (1, "Expected begin and size arguments to be 1-D tensors of size {first}, but got shapes {begin} and {size} instead.")
_STRIDED = (1, "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {begin}, {end}, and {strides} instead.")
# {op type: {input: (its rank, the words)}}
WORDS: dict[str, dict[str, tuple[int, str]]] = {
    "ConcatV2": {"axis": (0, "axis tensor should be a scalar integer, but got shape {shape}")},
    "Fill": {"dims": (1, "dims must be a vector, got shape {shape}"), "value": (0, "value must be a scalar, got shape {shape}")},
    **{kind: {"shape": _VECTOR_OF_INTEGERS} for kind in ("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal",
                                                         "BroadcastTo")},
    "Reshape": {"shape": (1, "sizes input must be 1-D, not {shape}")},
    "ShardedFilename": {"basename": _SCALAR, "shard": _SCALAR, "num_shards": _SCALAR},
    "ShardedFilespec": {"basename": _SCALAR, "num_shards": _SCALAR},
    "Slice": {"begin": _SLICE, "size": _SLICE},
    "StridedSlice": {"begin": _STRIDED, "end": _STRIDED, "strides": _STRIDED},
    "SparseToDense": {"output_shape": (1, "output_shape should be a vector, got shape {shape}")},
    "Tile": {"multiples": (1, "Expected multiples to be 1-D, but got shape {shape}")},
    "OneHot": {"depth": (0, "depth must be a scalar, but got: {shape}")},
    "ReverseV2": {"axis": (1, "'dims' must be 1-dimension, not {rank}")},
    "TopKV2": {"k": (0, "k must be scalar, got shape {shape}")},
    "Multinomial": {"num_samples": (0, "num_samples should be a scalar, got shape {shape}")},
}


def words_about_ranks(definition: Any, attrs: dict[str, Any], inputs: list[Any]) -> str | None:
    """The words of the kernel of an op about the first of its inputs that has another rank than it wants; None if it has none."""
    known = WORDS.get(definition.type)
    if known is None:
        return None
    values = {arg.name: group[0] for arg, group in definition.group(tuple(inputs), attrs) if group}
    shapes = {name: "[" + ",".join(map(str, np.shape(value))) + "]" for name, value in values.items()}
    for name, (rank, words) in known.items():
        if name in values and np.ndim(values[name]) != rank:
            first = np.ndim(next(iter(values.values())))
            return words.format(**{**shapes, "name": name, "shape": shapes[name], "rank": np.ndim(values[name]), "first": first})
    return None
