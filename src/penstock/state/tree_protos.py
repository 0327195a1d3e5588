"""Ensembles of trees as protocol buffers: what checkpoints hold. Field numbers are TensorFlow's."""
from __future__ import annotations

from penstock.platform.proto import messages

TreeEnsembleProto, DebugOutput = messages("boosted_trees.proto", """
    message Node {
        oneof node { Leaf leaf = 1; BucketizedSplit bucketized_split = 2; CategoricalSplit categorical_split = 3; }
        NodeMetadata metadata = 777;
    }
    message NodeMetadata { float gain = 1; Leaf original_leaf = 2; }
    message Leaf {
        oneof leaf { Vector vector = 1; SparseVector sparse_vector = 2; }
        float scalar = 3;
    }
    message Vector { repeated float value = 1; }
    message SparseVector { repeated int32 index = 1; repeated float value = 2; }
    message BucketizedSplit {
        int32 feature_id = 1; int32 threshold = 2; int32 dimension_id = 5; int32 default_direction = 6; int32 left_id = 3; int32 right_id = 4;
    }
    message CategoricalSplit { int32 feature_id = 1; int32 value = 2; int32 dimension_id = 5; int32 left_id = 3; int32 right_id = 4; }
    message Tree { repeated Node nodes = 1; }
    message PostPruneNodeUpdate { int32 new_node_id = 1; repeated float logit_change = 2; }
    message TreeMetadata { int32 num_layers_grown = 2; bool is_finalized = 3; repeated PostPruneNodeUpdate post_pruned_nodes_meta = 4; }
    message GrowingMetadata {
        int64 num_trees_attempted = 1; int64 num_layers_attempted = 2; int32 last_layer_node_start = 3; int32 last_layer_node_end = 4;
    }
    message TreeEnsemble {
        repeated Tree trees = 1; repeated float tree_weights = 2; repeated TreeMetadata tree_metadata = 3; GrowingMetadata growing_metadata = 4;
    }
    message DebugOutput { repeated int32 feature_ids = 1; repeated float logits_path = 2; }
    """, "TreeEnsemble", "DebugOutput")
