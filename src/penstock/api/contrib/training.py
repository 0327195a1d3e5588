"""``tf.contrib.training``: hyperparameters, loops that train and evaluate, placement strategies for parameter servers, and more."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.training.hparams": "HParams parse_values",
    "penstock.contrib.training.training": "add_gradients_summaries clip_gradient_norms clip_gradient_norms_fn create_train_op multiply_gradients "
                                          "train",
    "penstock.contrib.training.evaluation": "SummaryAtEndHook evaluate_repeatedly",
    "penstock.train.evaluation": "StopAfterNEvalsHook evaluate_once get_or_create_eval_step",
    "penstock.contrib.training.buckets": "bucket bucket_by_sequence_length",
    "penstock.contrib.training.state_saver": "NextQueuedSequenceBatch SequenceQueueingStateSaver",
    "penstock.contrib.training.sequence_batches": "batch_sequences_with_states",
    "penstock.contrib.training.feeding_queue_runner": "FeedingQueueRunner",
    "penstock.contrib.training.resampling": "rejection_sample resample_at_rate stratified_sample weighted_resample",
    "penstock.checkpoint.new_checkpoints": "checkpoints_iterator wait_for_new_checkpoint",
    "penstock.train.device_setter": "GreedyLoadBalancingStrategy RandomStrategy byte_size_load_fn",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.training:": "python training hparam evaluation",
}
publish(__name__, TABLE)
