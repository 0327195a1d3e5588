"""``RecordInput``: records of files, shuffled, without end: from before ``tf.data``, of which it is made."""
from __future__ import annotations

from typing import Any

from penstock import errors
from penstock.contrib import prelude as tf
from penstock.data.dataset import Dataset
from penstock.data.file_datasets import TFRecordDataset
from penstock.platform import gfile
from penstock.platform.tf_record import TFRecordCompressionType, TFRecordOptions

_FOREVER = 2 ** 62


class RecordInput:
    """``tf.contrib.framework.RecordInput``: batches of records. Each epoch goes through all files, shuffled ``buffer_size`` records at a time.

    Each epoch begins ``shift_ratio`` of all files later than the one before it. The order of records is another one than TensorFlow's.
    """

    def __init__(self, file_pattern: str, batch_size: int = 1, buffer_size: int = 1, parallelism: int = 1, shift_ratio: float = 0, seed: int = 0,
                 name: str | None = None, batches: int | None = None, compression_type: Any = None) -> None:
        self._pattern, self._batch_size, self._batches = file_pattern, batch_size * (batches or 1), batches
        self._buffer_size, self._parallelism, self._shift_ratio, self._seed, self._name = buffer_size, parallelism, shift_ratio, seed, name
        kind = TFRecordCompressionType.NONE if compression_type is None else compression_type
        self._compression = TFRecordOptions.get_compression_type_string(TFRecordOptions(kind))

    def get_yield_op(self) -> Any:
        """The next batch: a vector, or, with ``batches``, a list of lists of scalars, dealt out in turn."""
        with tf.name_scope(self._name, "RecordInput"):
            dataset = Dataset.range(_FOREVER).flat_map(self._epoch).batch(self._batch_size)
            records = dataset.prefetch(1).make_one_shot_iterator().get_next()
            if self._batches is None:
                return records
            rows = [tf.reshape(row, []) for row in tf.split(records, self._batch_size, 0)]
            return [rows[first::self._batches] for first in range(self._batches)]

    def _epoch(self, number: Any) -> Dataset:
        names = self._file_names()
        start = tf.cast(tf.cast(number, tf.float64) * self._shift_ratio * len(names), tf.int64) % len(names)
        files = Dataset.from_tensor_slices(tf.roll(tf.constant(names), -start, 0))
        records = files.interleave(lambda file: TFRecordDataset(file, self._compression), cycle_length=self._parallelism)
        return records.shuffle(self._buffer_size, self._seed + number)

    def _file_names(self) -> list[str]:
        try:
            names = gfile.Glob(self._pattern)
        except errors.NotFoundError:
            names = []
        if not names:
            raise errors.NotFoundError(None, None, f"Found no files at {self._pattern}")
        return sorted(names)
