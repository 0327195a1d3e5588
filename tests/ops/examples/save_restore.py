"""Checkpoints: the files that are read are written here, with the code that the ops use."""
from __future__ import annotations

import os
import tempfile

import numpy as np

import penstock as tf
from penstock.checkpoint.bundle_writer import BundleWriter
from support.examples import example, normal, strings

FOLDER = os.path.join(tempfile.gettempdir(), f"penstock_example_{os.getpid()}_checkpoints")
VALUES = {"a": normal(2, 3), "table": normal(4, 2)}


def text(value):
    return np.array(value.encode(), object)


def prefix(name):
    return text(os.path.join(FOLDER, name))


with BundleWriter(os.path.join(FOLDER, "model")) as writer:
    for name, value in VALUES.items():
        writer.add(name, value)

example("SaveV2", prefix("saved"), strings("a", "table"), strings("", "4 2 0,2:-"), [normal(2, 3), normal(2, 2)], grad=False, types=())
example("RestoreV2", prefix("model"), strings("a", "table"), strings("", "4 2 1,2:0,1"), dtypes=["float64", "float64"], dynamic=True)
example("Save", prefix("saved_v1"), strings("a"), [normal(2, 3)], grad=False, types=())
example("SaveSlices", prefix("slices_v1"), strings("a"), strings("4 2 0,2:-"), [normal(2, 2)], grad=False, types=())
example("Restore", prefix("model"), text("a"), dt="float64", dynamic=True)
example("RestoreSlice", prefix("model"), text("table"), text("4 2 0,2:-"), dt="float64")
example("ShardedFilename", text("model"), np.int32(1), np.int32(4))
example("ShardedFilespec", text("model"), np.int32(4))
example("MergeV2Checkpoints", lambda: tf.constant([os.path.join(FOLDER, "model")]), prefix("merged"), run=False)  # it takes the files away

VOCABULARIES = {"old": "a\nb\nc\nd\n", "new": "c\nx\na\ny\n"}
for name, words in VOCABULARIES.items():
    with open(os.path.join(FOLDER, name), "w") as file:
        file.write(words)
with BundleWriter(os.path.join(FOLDER, "narrow")) as writer:
    writer.add("table", normal(4, 2).astype(np.float32))
example("GenerateVocabRemapping", prefix("new"), prefix("old"), new_vocab_offset=1, num_new_vocab=3)
example("LoadAndRemapMatrix", prefix("narrow"), text("table"), np.array([2, -1, 0]), np.array([1, 0]), normal(2).astype(np.float32),
        num_rows=3, num_cols=2)
