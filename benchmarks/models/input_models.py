"""Input pipelines, written once for TensorFlow's interface: Penstock, TensorFlow 1.15 and TensorFlow 2 (``compat.v1``) run the same lines.

A step is one pass over the data: the examples of ``COUNTS[case]`` go through the pipeline and out of ``Session.run``, batch by batch. The pass begins
with empty buffers, so nothing is made before the clock runs. ``parameters`` is a checksum of the first batch: all frameworks must read the same.

The files are in the folder that PENSTOCK_BENCH_DATA names; ``input.py`` makes them. This file also runs in TensorFlow 1's Python 3.7.
"""
from __future__ import annotations

import os
import tempfile

import numpy as np
from core import load

from models.architectures import Step

BATCH = 128
COUNTS = {"parse_example": 20000, "parse_single": 4000, "jpeg": 300, "shuffle": 30000, "csv": 4000, "csv_batched": 20000, "text": 8000,
          "padded": 10000, "interleave": 16000, "cache": 10000, "window": 5000, "queue": 4000, "map": 10000, "step": 128 * 60}
STEP_UNITS = 1200


def path(name):
    """A file of the data."""
    return os.path.join(os.environ["PENSTOCK_BENCH_DATA"], name)


def features(tf):
    """40 floats, an int and a string."""
    return {"x": tf.FixedLenFeature([40], tf.float32), "label": tf.FixedLenFeature([], tf.int64), "name": tf.FixedLenFeature([], tf.string)}


# --- pipelines: each gives a dataset -----------------------------------------------------------------------------------

def parse_example(tf):
    """Records in batches, whose protos are parsed together."""
    return tf.data.TFRecordDataset(path("examples.tfrecord")).batch(BATCH).map(lambda batch: tf.parse_example(batch, features(tf))).prefetch(2)


def parse_single(tf):
    """Records that are parsed one by one, in parallel."""
    dataset = tf.data.TFRecordDataset(path("examples.tfrecord")).take(COUNTS["parse_single"])
    return dataset.map(lambda one: tf.parse_single_example(one, features(tf)), num_parallel_calls=2).batch(BATCH).prefetch(2)


def jpeg(tf):
    """Images that are decoded, cut, flipped and scaled, in parallel."""
    def augmented(content):
        image = tf.image.decode_jpeg(content, channels=3)
        image = tf.random_crop(image, [192, 192, 3], seed=1)
        image = tf.image.random_flip_left_right(image, seed=2)
        return tf.image.resize_images(tf.cast(image, tf.float32), [128, 128])

    return tf.data.TFRecordDataset(path("jpeg.tfrecord")).map(augmented, num_parallel_calls=2).batch(32).prefetch(2)


def shuffle(tf):
    """Rows of 784 floats in random order."""
    images, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    data = np.random.RandomState(0).rand(COUNTS["shuffle"] // 6, 784).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(5000, seed=1).repeat(6).batch(BATCH).prefetch(2)
    dataset.feeds = {images: data, labels: np.arange(len(data))}
    return dataset


def csv(tf):
    """Lines of 20 numbers and a word, taken apart one by one."""
    defaults = [[0.0]] * 18 + [[0], [0]] + [[""]]
    lines = tf.data.TextLineDataset(path("lines.csv")).take(COUNTS["csv"])
    return lines.map(lambda line: tuple(tf.decode_csv(line, defaults))).batch(BATCH).prefetch(2)


def csv_batched(tf):
    """The same lines, taken apart by the batch."""
    defaults = [[0.0]] * 18 + [[0], [0]] + [[""]]
    return tf.data.TextLineDataset(path("lines.csv")).batch(BATCH).map(lambda lines: tuple(tf.decode_csv(lines, defaults))).prefetch(2)


def text(tf):
    """Lines that are split into words, whose numbers in a vocabulary of 10,000 are looked up."""
    module = tf.contrib.lookup if hasattr(tf, "contrib") else None
    if module is not None:
        table = module.index_table_from_file(path("vocabulary.txt"), num_oov_buckets=1)
    else:
        table = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(
            path("vocabulary.txt"), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 1)
    dataset = tf.data.TextLineDataset(path("text.txt"))
    dataset = dataset.map(lambda line: table.lookup(tf.string_split([line]).values), num_parallel_calls=2)
    return dataset.padded_batch(BATCH, [None]).prefetch(2)


def padded(tf):
    """Sequences of 5 to 60 numbers, padded to the longest of their batch."""
    lengths = np.random.RandomState(0).randint(5, 61, COUNTS["padded"])
    dataset = tf.data.Dataset.from_tensor_slices(lengths.astype(np.int64)).map(lambda length: tf.range(length))
    return dataset.padded_batch(BATCH, [None]).prefetch(2)


def interleave(tf):
    """16 files of records, in turn."""
    names = tf.data.Dataset.from_tensor_slices([path("part-%d.tfrecord" % number) for number in range(16)])
    return names.interleave(tf.data.TFRecordDataset, cycle_length=16, block_length=4, num_parallel_calls=2).batch(BATCH).prefetch(2)


def cache(tf):
    """The second epoch of records that were cached to a file."""
    folder = tempfile.mkdtemp()
    dataset = tf.data.TFRecordDataset(path("examples.tfrecord")).take(COUNTS["cache"]).map(lambda one: tf.parse_single_example(one, features(tf)))
    return dataset.cache(os.path.join(folder, "cache")).batch(BATCH).prefetch(2)


def window(tf):
    """Windows of 24 values of a time series, each a step after the one before."""
    series = np.random.RandomState(0).rand(COUNTS["window"] + 23).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(series).window(24, 1, drop_remainder=True).flat_map(lambda part: part.batch(24))
    return dataset.map(lambda part: (part[:-1], part[-1])).batch(BATCH).prefetch(2)


def numbers(tf):
    """Numbers, mapped and batched."""
    return tf.data.Dataset.range(COUNTS["map"]).map(lambda x: tf.cast(x, tf.float32) * 2.0 + 1.0).batch(BATCH).prefetch(2)


# --- steps --------------------------------------------------------------------------------------------------------------

def checksum(values):
    """A number that tells what is in a batch."""
    total = 0
    for value in values:
        value = np.asarray(value)
        total += sum(map(len, value.reshape(-1))) if value.dtype == object else float(np.sum(value, dtype=np.float64))
    return round(total)


def flat(tf, element):
    """The tensors of an element, in a fixed order."""
    return [element[key] for key in sorted(element)] if isinstance(element, dict) else list(element) if isinstance(element, tuple) else [element]


def whole_pass(tf, dataset, random):
    """A step that goes through the dataset once."""
    iterator = dataset.make_initializable_iterator() if hasattr(dataset, "make_initializable_iterator") \
        else tf.data.make_initializable_iterator(dataset)
    batch = flat(tf, iterator.get_next())
    session = tf.Session()
    session.run(tf.tables_initializer())
    feeds = getattr(dataset, "feeds", None)
    session.run(iterator.initializer, feeds)
    first = checksum(session.run(batch))

    def drain():
        try:
            while True:
                session.run(batch)
        except tf.errors.OutOfRangeError:
            return

    def run():
        session.run(iterator.initializer, feeds)
        drain()

    drain()  # a cache is complete at the end of the first epoch
    run()
    return Step(run, 0 if random else first, session.close)


def queue(tf):
    """The pipeline of the years before tf.data: a queue of file names, a reader, a queue of examples."""
    with tf.device("/cpu:0"):
        names = tf.train.string_input_producer([path("examples.tfrecord")], shuffle=False)
        _, record = tf.TFRecordReader().read(names)
        parsed = tf.parse_single_example(record, features(tf))
        batch = tf.train.batch([parsed["label"], parsed["name"], parsed["x"]], BATCH, num_threads=1, capacity=4 * BATCH)
    session = tf.Session()
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    first = checksum(session.run(batch))

    def run():
        for _ in range(COUNTS["queue"] // BATCH):
            session.run(batch)

    def close():
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)
        session.close()

    return Step(run, first, close)


def step(tf):
    """Training steps of a small network on records that are read, parsed and shuffled."""
    dataset = tf.data.TFRecordDataset(path("examples.tfrecord")).repeat().shuffle(2000, seed=1).batch(BATCH)
    dataset = dataset.map(lambda batch: tf.parse_example(batch, features(tf))).prefetch(2)
    iterator = dataset.make_initializable_iterator() if hasattr(dataset, "make_initializable_iterator") \
        else tf.data.make_initializable_iterator(dataset)
    batch = iterator.get_next()
    return training(tf, batch["x"], batch["label"], iterator.initializer)


def step_alone(tf):
    """The same training steps on one batch that is there from the beginning."""
    values = np.random.RandomState(0).rand(BATCH, 40).astype(np.float32), np.arange(BATCH) % 10
    return training(tf, tf.Variable(values[0], trainable=False), tf.Variable(values[1], trainable=False), tf.no_op())


def training(tf, x, label, before):
    """Steps of gradient descent."""
    random = np.random.RandomState(1)
    for units in (STEP_UNITS, STEP_UNITS, 10):
        inputs = int(x.shape[1])
        weights = tf.Variable((random.randn(inputs, units) / inputs ** 0.5).astype(np.float32))
        x = tf.matmul(x, weights)
        x = x if units == 10 else tf.nn.relu(x)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.mod(label, 10), logits=x))
    train = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    session.run(before)

    def run():
        for _ in range(COUNTS["step"] // BATCH):
            session.run(train)

    run()
    return Step(run, 0, session.close)


PIPELINES = {"parse_example": parse_example, "parse_single": parse_single, "jpeg": jpeg, "shuffle": shuffle, "csv": csv, "csv_batched": csv_batched,
             "text": text, "padded": padded, "interleave": interleave, "cache": cache, "window": window, "map": numbers}
STEPS = {"queue": queue, "step": step, "step_alone": step_alone}
RANDOM = {"jpeg", "shuffle"}  # what is in the first batch differs: random numbers of parallel calls, the order of a repeated shuffle


def make(case, variant):
    """The step of a case."""
    tf = load(variant)
    if case in STEPS:
        return STEPS[case](tf)
    return whole_pass(tf, PIPELINES[case](tf), case in RANDOM)
