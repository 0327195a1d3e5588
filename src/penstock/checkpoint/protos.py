"""The protocol buffers inside checkpoints and SavedModels. Enums are int32 here, which is how they travel."""
from __future__ import annotations

from tensorboard.compat.proto import meta_graph_pb2, tensor_pb2, tensor_shape_pb2, versions_pb2

from penstock.platform.proto import messages

_TEXT = """
    // version 2: the entries of the index
    message BundleHeaderProto { int32 num_shards = 1; int32 endianness = 2; VersionDef version = 3; }
    message BundleEntryProto {
        int32 dtype = 1;
        TensorShapeProto shape = 2;
        int32 shard_id = 3;
        int64 offset = 4;
        int64 size = 5;
        fixed32 crc32c = 6;
        repeated TensorSliceProto slices = 7;
    }
    message TensorSliceProto {
        message Extent {
            int64 start = 1;
            oneof has_length { int64 length = 2; }
        }
        repeated Extent extent = 1;
    }

    // version 1
    message SavedSliceMeta { string name = 1; TensorShapeProto shape = 2; int32 type = 3; repeated TensorSliceProto slice = 4; }
    message SavedTensorSliceMeta { repeated SavedSliceMeta tensor = 1; VersionDef versions = 2; }
    message SavedSlice { string name = 1; TensorSliceProto slice = 2; TensorProto data = 3; }
    message SavedTensorSlices { SavedTensorSliceMeta meta = 1; SavedSlice data = 2; }

    // the file `checkpoint`
    message CheckpointState {
        string model_checkpoint_path = 1;
        repeated string all_model_checkpoint_paths = 2;
        repeated double all_model_checkpoint_timestamps = 3;
        double last_preserved_timestamp = 4;
    }

    // the file `saved_model.pb`
    message SavedModel { int64 saved_model_schema_version = 1; repeated MetaGraphDef meta_graphs = 2; }
"""

BundleHeaderProto, BundleEntryProto, TensorSliceProto, SavedTensorSlices, CheckpointState, SavedModel = messages(
    "checkpoint.proto", _TEXT, "BundleHeaderProto", "BundleEntryProto", "TensorSliceProto", "SavedTensorSlices", "CheckpointState", "SavedModel",
    package="penstock", borrowed=[meta_graph_pb2, tensor_pb2, tensor_shape_pb2, versions_pb2])
