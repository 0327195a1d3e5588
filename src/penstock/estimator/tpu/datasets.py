"""``tf.contrib.tpu.StreamingFilesDataset``: records of many files, which a TPU could not read itself. Here they are read where the dataset runs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data.dataset import Dataset
from penstock.data.file_datasets import TextLineDataset, TFRecordDataset
from penstock.data.interleave import parallel_interleave

_READERS: dict[str, Callable[[Any], Dataset]] = {
    "tfrecord": lambda name: TFRecordDataset(name, buffer_size=8 << 20), "textline": lambda name: TextLineDataset(name, buffer_size=8 << 20)}


def StreamingFilesDataset(files: Any, filetype: Any = None, file_reader_job: str | None = None, worker_job: str | None = None,
                          num_epochs: int | None = None, filename_shuffle_buffer_size: Any = None, num_parallel_reads: int | None = None,
                          batch_transfer_size: Any = None, sloppy: bool | None = None) -> Dataset:
    """The elements of files that a pattern matches, or that a dataset names: several files at a time, ``num_epochs`` times (None: without end).

    The jobs and the size of a transfer say how data gets to a TPU: they change nothing here.
    """
    reader = _READERS.get(filetype or "tfrecord") if filetype is None or isinstance(filetype, str) else filetype
    if reader is None:
        raise ValueError(f"Unexpected filetype: {filetype}")
    if not callable(reader):
        raise ValueError("filetype should be a string or a callable")
    if isinstance(files, str):
        names = Dataset.list_files(files, shuffle=False)
    elif isinstance(files, Dataset):
        names = files
    else:
        raise ValueError("files was not a string or a dataset")
    if filename_shuffle_buffer_size is None or filename_shuffle_buffer_size:
        names = names.shuffle(filename_shuffle_buffer_size or 10_000)
    return names.apply(parallel_interleave(reader, cycle_length=num_parallel_reads or 2, sloppy=sloppy is None or sloppy)).repeat(num_epochs)
