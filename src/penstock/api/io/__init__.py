"""``tf.io``: reading, writing and parsing."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.text.parsing": "FixedLenFeature VarLenFeature SparseFeature FixedLenSequenceFeature parse_example parse_single_example "
                            "parse_sequence_example parse_single_sequence_example",
    "penstock.ops.text.decoding": "decode_raw decode_csv decode_json_example serialize_tensor parse_tensor",
    "penstock.ops.text.containers": "decode_compressed",
    "penstock.ops.sparse.sparse_serialize": "serialize_sparse serialize_many_sparse deserialize_many_sparse",
    "penstock.ops.text.strings": "encode_base64 decode_base64",
    "penstock.ops.image.image_codec": "decode_jpeg encode_jpeg decode_png encode_png decode_gif decode_bmp decode_image decode_and_crop_jpeg "
                                "extract_jpeg_shape is_jpeg",
    "penstock.ops.queues.queue_classes": "PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "penstock.train.input": "match_filenames_once",
    "penstock.platform.tf_record": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
    "penstock.train.meta_graph": "write_graph",
    "penstock.ops.text.files": "read_file write_file matching_files",
}
publish(__name__, TABLE, "gfile")
