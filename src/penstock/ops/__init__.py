"""The operations, one folder per family and one file per kind.

Importing this package loads what every program needs: operators and conversions. The registry of ``graph/opdef.py`` loads the rest, family after
family, when a type is asked for that is not there yet.

    array/    Shapes, slices, gathers, concatenation, casts: ops that arrange elements.
    math/     Elementwise math, reductions, scans and segments.
    linalg/   Products, decompositions and solutions of matrices.
    sparse/   SparseTensors, IndexedSlices, sets and embeddings.
    nn/       Neural networks: activations, convolutions, pooling, normalisation, losses.
    random/   Random numbers: TensorFlow's own for the same seeds.
    image/    Images: codecs, colours, resizing, boxes.
    signal/   Fourier transforms, windows, frames, spectrograms.
    text/     Strings, parsing and files.
    state/    Variables: reading, writing, training, saving.
    flow/     Control flow: conditionals, loops, tensor arrays, assertions, Python functions.
    queues/   Queues, barriers, accumulators, tables and readers.
    data/     Datasets and their iterators.
    trees/    Boosted trees: ensembles, split statistics, quantiles.

Here lie what all families share (common, public, demands, precision), constants and placeholders (constant), Python's operators on tensors
(operators), the ops that the runtime itself adds to a step (transfer), summaries, and the door for users' own ops (custom).

No two families import each other. An op of a family above, which a gradient may need, comes from ``graph/raw_ops.py``.
"""
from __future__ import annotations

import functools
import importlib
import pkgutil

from penstock.graph.opdef import REGISTRY
from penstock.ops import constant as _constant  # noqa: F401 (this one, and those below, say what Tensors can do)
from penstock.ops import operators as _operators  # noqa: F401
from penstock.ops.array import indexing as _indexing  # noqa: F401
from penstock.ops.array import pack as _pack  # noqa: F401
from penstock.ops.sparse import indexed_slices as _indexed_slices  # noqa: F401
from penstock.ops.sparse import sparse_functions as _sparse_functions  # noqa: F401

_COMMON = ("array", "math", "nn", "linalg", "state", "transfer", "flow", "random", "sparse")  # asked first


def _load(name: str) -> None:
    module = importlib.import_module(f"{__name__}.{name}")
    for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
        importlib.import_module(f"{__name__}.{name}.{part.name}")


def _load_others() -> None:
    for part in pkgutil.iter_modules(__path__):
        if part.name not in _COMMON:
            _load(part.name)


REGISTRY.postpone([*(functools.partial(_load, name) for name in _COMMON), _load_others])
