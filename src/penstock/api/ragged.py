"""``tf.ragged``: tensors whose rows have different lengths."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ragged.value": "RaggedTensorValue",
    "penstock.ragged.factory": "constant constant_value placeholder",
    "penstock.ragged.combining": "boolean_mask stack stack_dynamic_partitions",
    "penstock.ragged.elementwise": "map_flat_values",
    "penstock.ragged.partition": "row_splits_to_segment_ids segment_ids_to_row_splits",
    "penstock.ragged.ranges": "range=ragged_range",
}
publish(__name__, TABLE)
