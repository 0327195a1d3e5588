"""``tf.saved_model.tag_constants``: the tags that name the uses of a graph."""
from __future__ import annotations

SERVING = "serve"
TRAINING = "train"
EVAL = "eval"
GPU = "gpu"
TPU = "tpu"
