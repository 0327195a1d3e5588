"""``tf.io``: reading, writing and parsing."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.parsing": "FixedLenFeature VarLenFeature SparseFeature FixedLenSequenceFeature parse_example parse_single_example "
                            "parse_single_sequence_example",
    "penstock.ops.decoding": "decode_raw decode_csv serialize_tensor parse_tensor",
    "penstock.ops.files": "read_file write_file matching_files",
}
publish(__name__, TABLE, "gfile")
