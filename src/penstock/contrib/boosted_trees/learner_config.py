"""How trees are learned, as protocol buffers: ``tf.contrib.boosted_trees.proto.learner_pb2``."""
from __future__ import annotations

from penstock.state.gradient_trees.protos import (
    AveragingConfig,
    LearnerConfig,
    LearningRateConfig,
    LearningRateDropoutDrivenConfig,
    LearningRateFixedConfig,
    LearningRateLineSearchConfig,
    TreeConstraintsConfig,
    TreeRegularizationConfig,
)

__all__ = ["AveragingConfig", "LearnerConfig", "LearningRateConfig", "LearningRateDropoutDrivenConfig", "LearningRateFixedConfig",
           "LearningRateLineSearchConfig", "TreeConstraintsConfig", "TreeRegularizationConfig", "filled"]


def filled(config: LearnerConfig, logits_dimension: int) -> LearnerConfig:
    """The configuration with TensorFlow's defaults, in place. ValueError for what it asks for and cannot have."""
    if config.num_classes < 2:
        raise ValueError("Number of classes must be >=2")
    if config.weak_learner_type != LearnerConfig.NORMAL_DECISION_TREE:
        raise ValueError("weak_learner_type OBLIVIOUS_DECISION_TREE is not supported: Penstock grows NORMAL_DECISION_TREEs. Leave the field out.")
    config.multi_class_strategy = config.multi_class_strategy or (
        LearnerConfig.TREE_PER_CLASS if logits_dimension == 1 else LearnerConfig.DIAGONAL_HESSIAN)
    config.growing_mode = config.growing_mode or LearnerConfig.LAYER_BY_LAYER
    config.pruning_mode = config.pruning_mode or LearnerConfig.POST_PRUNE
    config.constraints.max_tree_depth = config.constraints.max_tree_depth or 6
    tuner = config.learning_rate_tuner.WhichOneof("tuner")
    if tuner is None:
        config.learning_rate_tuner.fixed.learning_rate = 0.1
    elif tuner == "line_search":
        raise ValueError("Line search learning rate is not yet supported. Set learning_rate_tuner.fixed.learning_rate.")
    return config
