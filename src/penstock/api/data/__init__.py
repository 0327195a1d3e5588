"""``tf.data``: input pipelines."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.data.dataset": "Dataset get_output_types get_output_shapes get_output_classes make_one_shot_iterator make_initializable_iterator",
    "penstock.data.iterator": "Iterator",
    "penstock.data.dataset_options": "Options",
    "penstock.data.file_datasets": "TextLineDataset TFRecordDataset FixedLengthRecordDataset",
}
publish(__name__, TABLE, "experimental")
