"""Examples chosen at random: by a probability for each, by wanted shares of classes, or several times each by a rate."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.train.batching import batch, maybe_batch
from penstock.train.moving_averages import assign_moving_average
from penstock.variables.variable import Variable


def rejection_sample(tensors: Any, accept_prob_fn: Callable[[list[Any]], Any], batch_size: int, queue_threads: int = 1, enqueue_many: bool = False,
                     prebatch_capacity: int = 16, prebatch_threads: int = 1, runtime_checks: bool = False, name: str | None = None) -> list[Any]:
    """``tf.contrib.training.rejection_sample``: batches of examples, each kept with the probability that ``accept_prob_fn`` gives."""
    with tf.variable_scope(name, "rejection_sample", tensors):
        given = [tf.convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            for tensor in given:
                tensor.shape.with_rank_at_least(1)[:1].assert_is_compatible_with(given[0].shape[:1])
            given = _one_by_one(given, prebatch_threads, prebatch_capacity)
        probability = accept_prob_fn(given)
        if runtime_checks:
            checks = [tf.assert_less_equal(0.0, probability), tf.assert_less_equal(probability, 1.0)]
            probability = tf.identity(tf.with_dependencies(checks, probability), name="prob_with_checks")
        chosen = maybe_batch(given, keep_input=tf.random_uniform([]) < probability, batch_size=batch_size, num_threads=queue_threads)
        return [chosen] if isinstance(chosen, tf.Tensor) else chosen


def _one_by_one(tensors: list[Any], threads: int, capacity: int) -> list[Any]:
    singles = batch(tensors, batch_size=1, num_threads=threads, capacity=capacity, enqueue_many=True)
    return [tf.squeeze(single, [0]) for single in (singles if isinstance(singles, list) else [singles])]


# --- shares of classes -----------------------------------------------------------------------------------------------


def stratified_sample(tensors: Any, labels: Any, target_probs: Any, batch_size: int, init_probs: Any = None, enqueue_many: bool = False,
                      queue_capacity: int = 16, threads_per_queue: int = 1, name: str | None = None) -> tuple[list[Any], Any]:
    """``tf.contrib.training.stratified_sample``: batches in which classes have the shares ``target_probs``; (tensors, labels).

    ``init_probs`` are the shares in the data; without them they are estimated from what was seen.
    """
    with tf.name_scope(name, "stratified_sample", [*tensors, labels]):
        given, labels = [tf.convert_to_tensor(tensor) for tensor in tensors], tf.convert_to_tensor(labels)
        target = tf.convert_to_tensor(target_probs, dtype=tf.float32)
        if not enqueue_many:
            given, labels = [tf.expand_dims(tensor, 0) for tensor in given], tf.expand_dims(labels, 0)
        if init_probs is None:
            target.shape.assert_is_fully_defined()
            initial = _estimated_shares(labels, target.shape.num_elements())
        else:
            initial = tf.convert_to_tensor(init_probs, dtype=tf.float32)
        given, labels, (initial, target) = _verify_inputs(given, labels, [initial, target])
        accept = _acceptance(initial, target)
        *values, label = _one_by_one([*given, labels], threads_per_queue, queue_capacity)
        keep = tf.random_uniform([]) < tf.gather(accept, label)
        *values, label = maybe_batch([*values, label], keep_input=keep, batch_size=batch_size, num_threads=threads_per_queue)
        return values, label


def _estimated_shares(labels: tf.Tensor, classes: int, smoothing: int = 10) -> tf.Tensor:
    """The shares of classes so far, as if each had been seen ``smoothing`` times before."""
    counts = Variable([smoothing] * classes, trainable=False, name="class_count", dtype=tf.int64)
    seen = counts.assign_add(tf.reduce_sum(tf.one_hot(labels, classes, dtype=tf.int64), 0)) + 0
    return tf.cast(tf.truediv(seen, tf.reduce_sum(seen)), tf.float32)


def _verify_inputs(tensors: list[Any], labels: tf.Tensor, shares: list[tf.Tensor]) -> tuple[list[Any], tf.Tensor, list[tf.Tensor]]:
    """All of them, behind checks: shares add up to 1, labels are classes, and there is a label for each example."""
    checked = []
    for each in shares:
        each.shape.assert_is_fully_defined()
        each.shape.assert_has_rank(1)
        total = tf.reduce_sum(each)
        checked.append(tf.with_dependencies([tf.assert_non_negative(each), tf.assert_less(total, 1.0 + 1e-6), tf.assert_less(1.0 - 1e-6, total)],
                                            each))
    classes = checked[0].shape.num_elements()
    if any(each.shape.num_elements() != classes for each in checked):
        raise ValueError("Probability parameters must have the same length.")
    labels.shape.assert_has_rank(1)
    for tensor in tensors:
        tensor.shape.with_rank_at_least(1)[:1].assert_is_compatible_with(labels.shape)
    count = tf.shape(labels)[0]
    some = tf.assert_positive(count)
    tensors = [tf.with_dependencies([some, tf.assert_equal(tf.shape(tensor)[0], count)], tensor) for tensor in tensors]
    labels = tf.with_dependencies([some, tf.assert_integer(labels), tf.assert_non_negative(labels),
                                   tf.assert_less(labels, tf.cast(classes, labels.dtype))], labels)
    return tensors, labels, checked


def _acceptance(initial: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """The probability with which to keep an example of each class: the most wanted class is always kept."""
    possible = tf.reduce_all(tf.logical_or(tf.not_equal(initial, 0), tf.equal(target, 0)))
    check = tf.Assert(possible, ["All classes with zero initial probability must also have zero target probability: ", initial, target])
    initial = tf.with_dependencies([check], initial)
    ratio = target / initial
    ratio = tf.where_v2(tf.is_nan(ratio), tf.zeros_like(ratio), ratio)
    accept = ratio / tf.reduce_max(ratio)
    rejected = tf.reduce_sum((1 - accept) * initial)
    return tf.cond(tf.less(rejected, 0.5), lambda: accept,
                   lambda: tf.Print(accept, [accept], message="Proportion of examples rejected by sampler is high.", first_n=10))


# --- rates -----------------------------------------------------------------------------------------------------------


def resample_at_rate(inputs: Any, rates: Any, scope: str | None = None, seed: int | None = None, back_prop: bool = False) -> list[tf.Tensor]:
    """``tf.contrib.training.resample_at_rate``: each row as often as a Poisson distribution with its rate says."""
    with tf.name_scope(scope, default_name="resample_at_rate", values=[*inputs, rates]):
        rates = tf.convert_to_tensor(rates, name="rates")
        counts = tf.cast(tf.random_poisson(rates, (), rates.dtype, seed=seed), tf.int32)
        places = repeat_range(counts)
        if not back_prop:
            places = tf.stop_gradient(places)
        return [tf.gather(each, places) for each in inputs]


def repeat_range(counts: tf.Tensor) -> tf.Tensor:
    """0 as often as the first count says, then 1, ..."""
    ends = tf.cumsum(counts)
    places = tf.range(tf.reduce_sum(counts))
    return tf.reduce_sum(tf.cast(tf.expand_dims(places, 1) >= tf.expand_dims(ends, 0), tf.int32), axis=1)


def weighted_resample(inputs: Any, weights: tf.Tensor, overall_rate: Any, scope: str | None = None, mean_decay: float = 0.999,
                      seed: int | None = None) -> tuple[list[tf.Tensor], tf.Tensor]:
    """``tf.contrib.training.weighted_resample``: (rows chosen by their weight, their rates); ``overall_rate`` rows for each, on average."""
    with tf.name_scope(scope, "weighted_resample", inputs) as name:
        with tf.variable_scope(scope, "estimate_mean", inputs):
            estimate = tf.get_local_variable("estimated_mean", initializer=tf.cast(0, weights.dtype), dtype=weights.dtype)
            mean = assign_moving_average(estimate, tf.reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        chosen_rates, *chosen = resample_at_rate([rates, *inputs], rates, scope=name, seed=seed, back_prop=False)
        return chosen, chosen_rates
