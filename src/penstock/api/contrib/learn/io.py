"""``tf.contrib.learn.io``: inputs from arrays, data frames, generators and files of records."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.learn.io"
TABLE: dict[str, str] = {
    f"{HERE}.arrays": "generator_input_fn numpy_input_fn pandas_input_fn",
    f"{HERE}.graph_io": "queue_parsed_features read_batch_examples read_batch_features read_batch_record_features read_keyed_batch_examples "
                        "read_keyed_batch_examples_shared_queue read_keyed_batch_features read_keyed_batch_features_shared_queue",
    f"{HERE}.dask_io": "extract_dask_data extract_dask_labels",
    f"{HERE}.pandas_io": "extract_pandas_data extract_pandas_labels extract_pandas_matrix",
    f"{HERE}.graph_io:": "graph_io",
    f"{HERE}.dask_io:": "dask_io",
    f"{HERE}.pandas_io:": "pandas_io",
    f"{HERE}.arrays:": "numpy_io generator_io",
}
publish(__name__, TABLE, missing="data_feeder")
