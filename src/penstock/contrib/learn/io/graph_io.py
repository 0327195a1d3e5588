"""Examples and features from files of records, in batches, through queues: from before ``tf.data``."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.contrib import prelude as tf
from penstock.ops.queues.queue_classes import FIFOQueue
from penstock.ops.queues.reader_classes import TFRecordReader
from penstock.ops.text.parsing import parse_example
from penstock.platform import gfile
from penstock.summary import summary
from penstock.train.batching import batch_join, shuffle_batch_join
from penstock.train.input import string_input_producer
from penstock.train.queue_runner import QueueRunner, add_queue_runner

_KEY = "__key__"


def read_batch_examples(file_pattern: Any, batch_size: int, reader: Callable[[], Any], randomize_input: bool = True, num_epochs: int | None = None,
                        queue_capacity: int = 10000, num_threads: int = 1, read_batch_size: int = 1, parse_fn: Any = None, name: str | None = None,
                        seed: int | None = None) -> Any:
    """``tf.contrib.learn.read_batch_examples``: serialized examples of the files that a pattern names."""
    return read_keyed_batch_examples(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, num_threads, read_batch_size,
                                     parse_fn, name, seed)[1]


def read_keyed_batch_examples(file_pattern: Any, batch_size: int, reader: Callable[[], Any], randomize_input: bool = True,
                              num_epochs: int | None = None, queue_capacity: int = 10000, num_threads: int = 1, read_batch_size: int = 1,
                              parse_fn: Any = None, name: str | None = None, seed: int | None = None) -> Any:
    """``tf.contrib.learn.read_keyed_batch_examples``: (keys, examples)."""
    return keyed_batch(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, num_threads, read_batch_size,
                       parse_fn=parse_fn, name=name, seed=seed)


def read_keyed_batch_examples_shared_queue(file_pattern: Any, batch_size: int, reader: Callable[[], Any], randomize_input: bool = True,
                                           num_epochs: int | None = None, queue_capacity: int = 10000, num_threads: int = 1, read_batch_size: int = 1,
                                           parse_fn: Any = None, name: str | None = None, seed: int | None = None) -> Any:
    """``tf.contrib.learn.read_keyed_batch_examples_shared_queue``: (keys, examples); of workers with common variables, each reads other files."""
    return keyed_batch(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, num_threads, read_batch_size,
                       parse_fn=parse_fn, setup_shared_queue=True, name=name, seed=seed)


def seek_next(string_list: list[str], shuffle: bool = False, seed: int | None = None, num_epochs: int | None = None) -> Any:
    """The next text of a list, in a circle. The place in it is a variable: workers that share it share the list. With ``num_epochs`` it ends."""
    generator = random.Random(seed) if seed else random
    texts: list[str] = []
    for _ in range(num_epochs or 1):
        texts += generator.sample(string_list, len(string_list)) if shuffle else string_list
    with tf.variable_scope("obtain_next"):
        place = tf.get_variable("obtain_next_counter", dtype=tf.int64, initializer=tf.constant(-1, tf.int64), trainable=False)
        with tf.colocate_with(place):
            kept = tf.get_variable("obtain_next_expanded_list", dtype=tf.string, initializer=tf.constant(texts), trainable=False)
        taken = []
        if num_epochs:
            count = tf.get_variable("obtain_next_filename_counter", dtype=tf.int64, initializer=tf.constant(0, tf.int64), trainable=False)
            taken.append(count.count_up_to(len(texts)))
        with tf.control_dependencies(taken):
            return obtain_next(kept, place)


def obtain_next(string_list_tensor: Any, counter: Any) -> Any:
    """``tf.contrib.input_pipeline.obtain_next``: the element behind the one that ``counter``, an int64 variable, names, in a circle."""
    return tf.gather(string_list_tensor, counter.assign_add(1) % tf.size(string_list_tensor, out_type=tf.int64))


def keyed_batch(file_pattern: Any, batch_size: Any, reader: Callable[[], Any], randomize_input: bool = True, num_epochs: int | None = None,
                queue_capacity: int = 10000, num_threads: int = 1, read_batch_size: int = 1, filter_fn: Any = None, parse_fn: Any = None,
                setup_shared_queue: bool = False, name: str | None = None, seed: int | None = None) -> Any:
    """(keys, examples) of files, in batches. ``filter_fn`` tells by keys and examples which are taken; tasks divide what is in a shared queue."""
    names = _file_names(file_pattern, randomize_input)
    _check(batch_size, queue_capacity, num_threads, read_batch_size, num_epochs)
    with tf.name_scope(name, "read_batch_examples", [file_pattern]) as scope:
        with tf.name_scope("file_name_queue") as queue_scope:
            if setup_shared_queue:
                files = FIFOQueue(capacity=1, dtypes=[tf.string], shapes=[[]])
                add_queue_runner(QueueRunner(files, [files.enqueue(seek_next(names, randomize_input, seed, num_epochs))]))
            else:
                files = string_input_producer(tf.constant(names, name="input"), num_epochs=num_epochs, shuffle=randomize_input, seed=seed,
                                              name=queue_scope)
        with tf.name_scope("read"):
            examples = [_read(reader(), files, read_batch_size, filter_fn, parse_fn) for _ in range(num_threads)]
        options: dict[str, Any] = {"capacity": queue_capacity, "enqueue_many": read_batch_size > 1, "name": scope,
                                   "allow_smaller_final_batch": num_epochs is not None}
        if randomize_input:
            left = int(queue_capacity * 0.4) if isinstance(batch_size, tf.Tensor) else max(queue_capacity - 3 * batch_size, batch_size)
            batch = shuffle_batch_join(examples, batch_size, min_after_dequeue=left, seed=seed, **options)
        else:
            batch = batch_join(examples, batch_size, **options)
        return (batch.pop(_KEY), batch) if isinstance(batch, dict) else batch


def _file_names(file_pattern: Any, randomize_input: bool) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, list) else [file_pattern]
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    names = [name for pattern in patterns for name in gfile.Glob(pattern)]
    if not names:
        raise ValueError(f"No files match {file_pattern}.")
    return names if randomize_input else sorted(names)


def _check(batch_size: Any, queue_capacity: Any, num_threads: Any, read_batch_size: Any, num_epochs: Any) -> None:
    if not queue_capacity or queue_capacity <= 0:
        raise ValueError(f"Invalid queue_capacity {queue_capacity}.")
    if batch_size is None or (not isinstance(batch_size, tf.Tensor) and not 0 < batch_size < queue_capacity):
        raise ValueError(f"Invalid batch_size {batch_size}, with queue_capacity {queue_capacity}.")
    if read_batch_size is None or read_batch_size <= 0:
        raise ValueError(f"Invalid read_batch_size {read_batch_size}.")
    if not num_threads or num_threads <= 0:
        raise ValueError(f"Invalid num_threads {num_threads}.")
    if num_epochs is not None and num_epochs <= 0:
        raise ValueError(f"Invalid num_epochs {num_epochs}.")


def _read(reader: Any, files: Any, number: int, filter_fn: Any, parse_fn: Any) -> Any:
    """(keys, examples), or the parsed features with their key."""
    keys, examples = reader.read_up_to(files, number) if number > 1 else reader.read(files)
    if filter_fn is not None:
        wanted = filter_fn(keys, examples)
        keys, examples = tf.boolean_mask(keys, wanted), tf.boolean_mask(examples, wanted)
    if parse_fn is None:
        return keys, examples
    parsed = parse_fn(examples)
    return {**parsed, _KEY: keys} if isinstance(parsed, dict) else (keys, parsed)


def read_batch_features(file_pattern: Any, batch_size: int, features: dict[str, Any], reader: Callable[[], Any], randomize_input: bool = True,
                        num_epochs: int | None = None, queue_capacity: int = 10000, feature_queue_capacity: int = 100, reader_num_threads: int = 1,
                        num_enqueue_threads: int = 2, parse_fn: Any = None, name: str | None = None,
                        read_batch_size: int | None = None) -> dict[str, Any]:
    """``tf.contrib.learn.read_batch_features``: the features of the examples in files."""
    return read_keyed_batch_features(file_pattern, batch_size, features, reader, randomize_input, num_epochs, queue_capacity, reader_num_threads,
                                     feature_queue_capacity, num_enqueue_threads, parse_fn, name, read_batch_size)[1]


def read_keyed_batch_features(file_pattern: Any, batch_size: int, features: dict[str, Any], reader: Callable[[], Any], randomize_input: bool = True,
                              num_epochs: int | None = None, queue_capacity: int = 10000, reader_num_threads: int = 1,
                              feature_queue_capacity: int = 100, num_enqueue_threads: int = 2, parse_fn: Any = None, name: str | None = None,
                              read_batch_size: int | None = None) -> tuple[Any, dict[str, Any]]:
    """``tf.contrib.learn.read_keyed_batch_features``: (keys, features)."""
    with tf.name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, examples = read_keyed_batch_examples(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, reader_num_threads,
                                                   batch_size if read_batch_size is None else read_batch_size, parse_fn, scope)
        return queue_parsed_features(parse_example(examples, features), keys, feature_queue_capacity, num_enqueue_threads, scope)


def read_keyed_batch_features_shared_queue(file_pattern: Any, batch_size: int, features: dict[str, Any], reader: Callable[[], Any],
                                           randomize_input: bool = True, num_epochs: int | None = None, queue_capacity: int = 10000,
                                           reader_num_threads: int = 1, feature_queue_capacity: int = 100, num_queue_runners: int = 2,
                                           parse_fn: Any = None, name: str | None = None) -> tuple[Any, dict[str, Any]]:
    """``tf.contrib.learn.read_keyed_batch_features_shared_queue``: (keys, features); of workers with common variables, each reads other files."""
    with tf.name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, examples = read_keyed_batch_examples_shared_queue(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
                                                                reader_num_threads, batch_size, parse_fn, scope)
        return queue_parsed_features(parse_example(examples, features), keys, feature_queue_capacity, num_queue_runners, scope)


def read_batch_record_features(file_pattern: Any, batch_size: int, features: dict[str, Any], randomize_input: bool = True,
                               num_epochs: int | None = None, queue_capacity: int = 10000, reader_num_threads: int = 1,
                               name: str | None = "dequeue_record_examples") -> dict[str, Any]:
    """``tf.contrib.learn.read_batch_record_features``: the features of the examples in files of TFRecords."""
    return read_batch_features(file_pattern, batch_size, features, TFRecordReader, randomize_input, num_epochs, queue_capacity,
                               reader_num_threads=reader_num_threads, name=name)


def queue_parsed_features(parsed_features: dict[str, Any], keys: Any = None, feature_queue_capacity: int = 100, num_enqueue_threads: int = 2,
                          name: str | None = None) -> tuple[Any, dict[str, Any]]:
    """``tf.contrib.learn.queue_parsed_features``: (keys, features) through a queue, which threads fill."""
    with tf.name_scope(name, "queue_parsed_features"):
        names = sorted(parsed_features)
        given = [part for each in names for part in _parts(parsed_features[each])] + ([] if keys is None else [keys])
        queue = FIFOQueue(feature_queue_capacity, [tensor.dtype for tensor in given])
        summary.scalar(f"queue/parsed_features/{queue.name}/fraction_of_{feature_queue_capacity}_full",
                       tf.cast(queue.size(), tf.float32) * (1.0 / feature_queue_capacity))
        add_queue_runner(QueueRunner(queue, [queue.enqueue(given) for _ in range(num_enqueue_threads)],
                                     queue_closed_exception_types=(errors.OutOfRangeError, errors.CancelledError)))
        taken = queue.dequeue()
        taken = list(taken) if isinstance(taken, (list, tuple)) else [taken]
        for tensor, original in zip(taken, given):
            tensor.set_shape(original.shape)
        rest = iter(taken)
        features = {each: tf.SparseTensor(next(rest), next(rest), next(rest)) if isinstance(parsed_features[each], tf.SparseTensor) else next(rest)
                    for each in names}
        return None if keys is None else next(rest), features


def _parts(feature: Any) -> list[Any]:
    return [feature.indices, feature.values, feature.dense_shape] if isinstance(feature, tf.SparseTensor) else [feature]
