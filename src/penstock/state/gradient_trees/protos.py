"""Ensembles, and how they are learned, as protocol buffers. Field numbers are TensorFlow's."""
from __future__ import annotations

from penstock.platform.proto import messages

EnsembleProto, TreeProto, LeafProto, NodeProto = messages("gradient_trees.proto", """
    message TreeNode {
        oneof node {
            Leaf leaf = 1; DenseFloatBinarySplit dense_float_binary_split = 2;
            SparseFloatBinarySplitDefaultLeft sparse_float_binary_split_default_left = 3;
            SparseFloatBinarySplitDefaultRight sparse_float_binary_split_default_right = 4;
            CategoricalIdBinarySplit categorical_id_binary_split = 5;
            CategoricalIdSetMembershipBinarySplit categorical_id_set_membership_binary_split = 6;
        }
        TreeNodeMetadata node_metadata = 777;
    }
    message TreeNodeMetadata { float gain = 1; Leaf original_leaf = 2; repeated Vector original_oblivious_leaves = 3; }
    message Leaf { oneof leaf { Vector vector = 1; SparseVector sparse_vector = 2; } }
    message Vector { repeated float value = 1; }
    message SparseVector { repeated int32 index = 1; repeated float value = 2; }
    message DenseFloatBinarySplit { int32 feature_column = 1; int32 dimension_id = 5; float threshold = 2; int32 left_id = 3; int32 right_id = 4; }
    message SparseFloatBinarySplitDefaultLeft { DenseFloatBinarySplit split = 1; }
    message SparseFloatBinarySplitDefaultRight { DenseFloatBinarySplit split = 1; }
    message CategoricalIdBinarySplit { int32 feature_column = 1; int64 feature_id = 2; int32 left_id = 3; int32 right_id = 4; }
    message CategoricalIdSetMembershipBinarySplit { int32 feature_column = 1; repeated int64 feature_ids = 2; int32 left_id = 3; int32 right_id = 4; }
    message DecisionTreeConfig { repeated TreeNode nodes = 1; }
    message DecisionTreeMetadata { int32 num_tree_weight_updates = 1; int32 num_layers_grown = 2; bool is_finalized = 3; }
    message GrowingMetadata { int64 num_trees_attempted = 1; int64 num_layers_attempted = 2; repeated int64 used_handler_ids = 3; }
    message DecisionTreeEnsembleConfig {
        repeated DecisionTreeConfig trees = 1; repeated float tree_weights = 2; repeated DecisionTreeMetadata tree_metadata = 3;
        GrowingMetadata growing_metadata = 4;
    }
    """, "DecisionTreeEnsembleConfig", "DecisionTreeConfig", "Leaf", "TreeNode", package="tensorflow.boosted_trees.trees")

(LearnerConfig, TreeRegularizationConfig, TreeConstraintsConfig, LearningRateConfig, LearningRateFixedConfig, LearningRateLineSearchConfig,
 LearningRateDropoutDrivenConfig, AveragingConfig) = messages("gradient_tree_learner.proto", """
    message TreeRegularizationConfig { float l1 = 1; float l2 = 2; float tree_complexity = 3; }
    message TreeConstraintsConfig { uint32 max_tree_depth = 1; float min_node_weight = 2; int64 max_number_of_unique_feature_columns = 3; }
    message LearningRateConfig {
        oneof tuner { LearningRateFixedConfig fixed = 1; LearningRateDropoutDrivenConfig dropout = 2; LearningRateLineSearchConfig line_search = 3; }
    }
    message LearningRateFixedConfig { float learning_rate = 1; }
    message LearningRateLineSearchConfig { float max_learning_rate = 1; int32 num_steps = 2; }
    message AveragingConfig { oneof config { float average_last_n_trees = 1; float average_last_percent_trees = 2; } }
    message LearningRateDropoutDrivenConfig { float dropout_probability = 1; float probability_of_skipping_dropout = 2; float learning_rate = 3; }
    message LearnerConfig {
        enum PruningMode { PRUNING_MODE_UNSPECIFIED = 0; PRE_PRUNE = 1; POST_PRUNE = 2; }
        enum GrowingMode { GROWING_MODE_UNSPECIFIED = 0; WHOLE_TREE = 1; LAYER_BY_LAYER = 2; }
        enum MultiClassStrategy { MULTI_CLASS_STRATEGY_UNSPECIFIED = 0; TREE_PER_CLASS = 1; FULL_HESSIAN = 2; DIAGONAL_HESSIAN = 3; }
        enum WeakLearnerType { NORMAL_DECISION_TREE = 0; OBLIVIOUS_DECISION_TREE = 1; }
        uint32 num_classes = 1;
        oneof feature_fraction { float feature_fraction_per_tree = 2; float feature_fraction_per_level = 3; }
        TreeRegularizationConfig regularization = 4;
        TreeConstraintsConfig constraints = 5;
        PruningMode pruning_mode = 8;
        GrowingMode growing_mode = 9;
        LearningRateConfig learning_rate_tuner = 6;
        MultiClassStrategy multi_class_strategy = 10;
        AveragingConfig averaging_config = 11;
        WeakLearnerType weak_learner_type = 12;
    }
    """, "LearnerConfig", "TreeRegularizationConfig", "TreeConstraintsConfig", "LearningRateConfig", "LearningRateFixedConfig",
    "LearningRateLineSearchConfig", "LearningRateDropoutDrivenConfig", "AveragingConfig", package="tensorflow.boosted_trees.learner")
