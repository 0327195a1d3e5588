"""``tf.data.experimental``: further transformations."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.data.dataset": "AUTOTUNE",
    "penstock.data.dataset_options": "AutoShardPolicy DistributeOptions=OptionGroup OptimizationOptions=OptionGroup "
                                     "MapVectorizationOptions=OptionGroup ThreadingOptions=OptionGroup StatsOptions=OptionGroup",
    "penstock.data.structure": "TensorStructure SparseTensorStructure get_structure=structure_of_dataset",
    "penstock.data.interleave": "parallel_interleave sample_from_datasets choose_from_datasets RandomDataset",
    "penstock.data.transformations": "dense_to_sparse_batch map_and_batch "
                                     "map_and_batch_with_legacy_function=map_and_batch unbatch shuffle_and_repeat ignore_errors "
                                     "enumerate_dataset unique take_while scan Counter prefetch_to_device copy_to_device get_single_element "
                                     "cardinality",
    "penstock.data.rejection": "rejection_resample",
    "penstock.data.iterator_saveable": "make_saveable_from_iterator",
    "penstock.data.file_datasets": "SqlDataset TFRecordWriter",
    "penstock.ops.data.dataset_core": "INFINITE_CARDINALITY=INFINITE UNKNOWN_CARDINALITY=UNKNOWN",
    "penstock.data.grouping": "group_by_window group_by_reducer Reducer bucket_by_sequence_length",
    "penstock.data.features": "parse_example_dataset make_batched_features_dataset CsvDataset make_csv_dataset",
    "penstock.data.optional": "Optional get_next_as_optional",
}
publish(__name__, TABLE, missing="CheckpointInputPipelineHook RaggedTensorStructure StatsAggregator "
                                 "TensorArrayStructure bytes_produced_stats from_variant "
                                 "latency_stats service to_variant")
