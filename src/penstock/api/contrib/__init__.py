"""``tf.contrib``: what came with TensorFlow 1 outside of its core."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.api.keras:": "keras", "penstock.api.lite:": "lite"}
SUBMODULES = (
    "all_reduce autograph bayesflow boosted_trees checkpoint cloud cluster_resolver compiler constrained_optimization copy_graph crf cudnn_rnn "
    "data deprecated distribute distributions eager estimator factorization feature_column ffmpeg framework gan graph_editor grid_rnn image "
    "input_pipeline integrate kernel_methods layers learn legacy_seq2seq linalg linear_optimizer lookup losses memory_stats metrics "
    "mixed_precision model_pruning nccl nn opt optimizer_v2 predictor quantize recurrent reduce_slice_ops remote_fused_graph resampler rnn rpc "
    "saved_model seq2seq session_bundle signal slim solvers sparsemax staging stateless summary tensor_forest tensorboard tensorrt testing tfprof "
    "timeseries tpu training util"
)
# Built later, or never: a new namespace module moves its name from here to SUBMODULES.
MISSING = "batching labeled_tensor periodic_resample proto quantization receptive_field specs stat_summarizer"
publish(__name__, TABLE, SUBMODULES, MISSING)
