"""``tf.contrib``: what came with TensorFlow 1 outside of its core."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {}
SUBMODULES = "data distributions eager framework layers legacy_seq2seq lookup rnn seq2seq staging tfprof training"
# Built later, or never: a new namespace module moves its name from here to SUBMODULES.
MISSING = (
    "autograph batching bayesflow checkpoint cloud cluster_resolver compiler constrained_optimization copy_graph crf cudnn_rnn deprecated "
    "distribute estimator factorization feature_column ffmpeg graph_editor grid_rnn image input_pipeline integrate "
    "keras kernel_methods labeled_tensor learn linear_optimizer lite losses memory_stats metrics mixed_precision model_pruning nccl nn "
    "opt optimizer_v2 periodic_resample predictor proto quantization quantize receptive_field recurrent reduce_slice_ops remote_fused_graph "
    "resampler rpc saved_model signal slim solvers sparsemax specs stat_summarizer stateless summary tensor_forest tensorboard testing "
    "timeseries tpu util"
)
publish(__name__, TABLE, SUBMODULES, MISSING)
