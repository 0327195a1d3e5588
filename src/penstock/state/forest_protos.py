"""Trees of random forests, their statistics and parameters as protocol buffers: what checkpoints hold. Field numbers are TensorFlow's."""
from __future__ import annotations

from penstock.platform.proto import messages

TreeModel, TreePath, FertileStats, MatchingValuesTest, ForestParams = messages("tensor_forest.proto", """
    // google.protobuf's, by the same bytes
    message Int32Value { int32 value = 1; }
    message StringValue { string value = 1; }
    message Any { string type_url = 1; bytes value = 2; }

    message Model { DecisionTree decision_tree = 1; }
    message DecisionTree { repeated TreeNode nodes = 1; }
    message TreeNode {
        Int32Value node_id = 1;
        oneof node_type { BinaryNode binary_node = 4; Leaf leaf = 5; }
    }
    message BinaryNode {
        Int32Value left_child_id = 1; Int32Value right_child_id = 2;
        oneof left_child_test { InequalityTest inequality_left_child_test = 4; Any custom_left_child_test = 5; }
    }
    message Leaf { oneof leaf { Vector vector = 1; SparseVector sparse_vector = 2; } }
    message Vector { repeated Value value = 1; }
    message SparseVector { map<int64, Value> sparse_value = 1; }
    message Value { oneof value { float float_value = 1; } }
    message FeatureId { StringValue id = 1; }
    message InequalityTest { FeatureId feature_id = 1; int32 type = 2; Value threshold = 3; }
    message MatchingValuesTest { FeatureId feature_id = 1; repeated Value value = 2; bool inverse = 3; }
    message TreePath { repeated TreeNode nodes_visited = 1; }

    message FertileStats { repeated FertileSlot node_to_slot = 1; }
    message FertileSlot { repeated SplitCandidate candidates = 1; LeafStat post_init_leaf_stats = 6; int32 node_id = 5; int32 depth = 7; }
    message SplitCandidate { BinaryNode split = 1; LeafStat left_stats = 4; LeafStat right_stats = 5; }
    message LeafStat {
        float weight_sum = 3;
        oneof leaf_stat { ClassificationStats classification = 1; RegressionStats regression = 2; }
    }
    message ClassificationStats { oneof counts { Vector dense_counts = 1; SparseVector sparse_counts = 2; } }
    message RegressionStats { Vector mean_output = 1; Vector mean_output_squares = 2; }

    message LinearParam { float slope = 1; float y_intercept = 2; float min_val = 3; float max_val = 4; }
    message ExponentialParam { float bias = 1; float base = 2; float multiplier = 3; float depth_multiplier = 4; }
    message ThresholdParam { float on_value = 1; float off_value = 2; float threshold = 3; }
    message DepthDependentParam {
        oneof ParamType { float constant_value = 1; LinearParam linear = 2; ExponentialParam exponential = 3; ThresholdParam threshold = 4; }
    }
    message SplitPruningConfig { DepthDependentParam prune_every_samples = 1; SplitPruningStrategyType type = 2; }
    message SplitFinishConfig { DepthDependentParam check_every_steps = 1; SplitFinishStrategyType type = 2; }
    enum LeafModelType {
        MODEL_DENSE_CLASSIFICATION = 0; MODEL_SPARSE_CLASSIFICATION = 1; MODEL_REGRESSION = 2; MODEL_SPARSE_OR_DENSE_CLASSIFICATION = 3;
    }
    enum StatsModelType {
        STATS_DENSE_GINI = 0; STATS_SPARSE_GINI = 1; STATS_LEAST_SQUARES_REGRESSION = 2; STATS_SPARSE_THEN_DENSE_GINI = 3;
        STATS_FIXED_SIZE_SPARSE_GINI = 4;
    }
    enum SplitPruningStrategyType {
        SPLIT_PRUNE_NONE = 0; SPLIT_PRUNE_HALF = 1; SPLIT_PRUNE_QUARTER = 2; SPLIT_PRUNE_10_PERCENT = 3; SPLIT_PRUNE_HOEFFDING = 4;
    }
    enum SplitFinishStrategyType { SPLIT_FINISH_BASIC = 0; SPLIT_FINISH_DOMINATE_HOEFFDING = 2; SPLIT_FINISH_DOMINATE_BOOTSTRAP = 3; }
    message TensorForestParams {
        LeafModelType leaf_type = 1; StatsModelType stats_type = 2; int32 collection_type = 3;
        SplitPruningConfig pruning_type = 4; SplitFinishConfig finish_type = 5;
        int32 num_trees = 6; int32 max_nodes = 7; int32 num_features = 21; int32 inequality_test_type = 19;
        bool is_regression = 8; bool drop_final_class = 9; bool collate_examples = 10; bool checkpoint_stats = 11;
        bool use_running_stats_method = 20; bool initialize_average_splits = 22; bool inference_tree_paths = 23;
        int32 num_outputs = 12; DepthDependentParam num_splits_to_consider = 13; DepthDependentParam split_after_samples = 14;
        DepthDependentParam dominate_fraction = 15; DepthDependentParam min_split_samples = 18;
        string graph_dir = 16; int32 num_select_features = 17; int32 num_classes_to_track = 24;
    }
    """, "Model", "TreePath", "FertileStats", "MatchingValuesTest", "TensorForestParams", package="tensorflow.tensorforest")
