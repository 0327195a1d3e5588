"""``tf.contrib.data``: what later became ``tf.data`` and ``tf.data.experimental``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.data.dataset": "Dataset AUTOTUNE",
    "penstock.data.iterator": "Iterator",
    "penstock.data.dataset_options": "OptimizationOptions=OptionGroup ThreadingOptions=OptionGroup StatsOptions=OptionGroup",
    "penstock.data.file_datasets": "TextLineDataset TFRecordDataset FixedLengthRecordDataset LMDBDataset SqlDataset TFRecordWriter",
    "penstock.data.interleave": "parallel_interleave sloppy_interleave sample_from_datasets choose_from_datasets RandomDataset",
    "penstock.data.transformations": "dense_to_sparse_batch map_and_batch "
                                     "batch_and_drop_remainder padded_batch_and_drop_remainder unbatch assert_element_shape "
                                     "shuffle_and_repeat ignore_errors enumerate_dataset unique scan sliding_window_batch Counter "
                                     "prefetch_to_device copy_to_device get_single_element PrivateThreadPool override_threadpool",
    "penstock.data.rejection": "rejection_resample",
    "penstock.data.iterator_saveable": "make_saveable_from_iterator",
    "penstock.data.grouping": "group_by_window group_by_reducer Reducer bucket_by_sequence_length",
    "penstock.data.features": "parse_example_dataset make_batched_features_dataset read_batch_features CsvDataset make_csv_dataset",
    "penstock.data.optional": "Optional get_next_as_optional",
}
publish(__name__, TABLE, "python", "CheckpointInputPipelineHook StatsAggregator reduce_dataset")
