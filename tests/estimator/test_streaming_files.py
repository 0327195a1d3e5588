"""Records of many files, as programs for TPUs read them."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.estimator.tpu.datasets import StreamingFilesDataset


@pytest.fixture
def pattern(tmp_path):
    for number in range(3):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"part-{number}")) as writer:
            for record in range(4):
                writer.write(b"%d-%d" % (number, record))
    return str(tmp_path / "part-*")


def elements(dataset, count=100):
    read, values = dataset.make_one_shot_iterator().get_next(), []
    with tf.Session() as session:
        try:
            while len(values) < count:
                values.append(session.run(read))
        except tf.errors.OutOfRangeError:
            return values
    return values


EVERY = sorted(b"%d-%d" % (number, record) for number in range(3) for record in range(4))


def test_every_record_comes_once_per_epoch(pattern):
    assert sorted(elements(StreamingFilesDataset(pattern, num_epochs=1))) == EVERY
    assert sorted(elements(StreamingFilesDataset(tf.data.Dataset.list_files(pattern), num_epochs=2, batch_transfer_size=16))) == sorted(EVERY * 2)


def test_without_a_number_of_epochs_it_does_not_end(pattern):
    assert len(elements(StreamingFilesDataset(pattern), 50)) == 50


def test_an_order_can_be_kept(pattern):
    dataset = StreamingFilesDataset(pattern, lambda name: tf.data.TFRecordDataset(name).take(1), num_epochs=1, filename_shuffle_buffer_size=0,
                                    num_parallel_reads=1, sloppy=False)
    assert elements(dataset) == [b"0-0", b"1-0", b"2-0"]


def test_what_is_not_a_file(pattern):
    with pytest.raises(ValueError, match="Unexpected filetype: csv"):
        StreamingFilesDataset(pattern, "csv")
    with pytest.raises(ValueError, match="string or a callable"):
        StreamingFilesDataset(pattern, 3)
    with pytest.raises(ValueError, match="not a string or a dataset"):
        StreamingFilesDataset([pattern])
