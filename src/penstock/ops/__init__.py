"""The operations, one folder per family and one file per kind. Importing this package registers all of them.

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

import importlib
import pkgutil

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
