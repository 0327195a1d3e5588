"""Checks of arguments: while the graph is built as far as possible; the rest becomes assertions, which ``validate_args`` asks for."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED

_INTEGERS = {"float16": tf.int16, "float32": tf.int32, "float64": tf.int64}  # {float type: the integers that tell whether it has a fraction}


def checked(x: Any, *assertions: Any) -> tf.Tensor:
    """``x``, available when the assertions have held."""
    return tf.with_dependencies(assertions, x)


def defined(statistic: Any, is_defined: Any, shape: Any, dtype: tf.DType) -> tf.Tensor:
    """A statistic with NaN where it is not defined."""
    return tf.where_v2(is_defined, statistic, tf.fill(shape, np.array(np.nan, dtype.as_numpy_dtype), name="nan"))


def assert_integer_form(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, int_dtype: Any = None,
                        name: str = "assert_integer_form") -> Any:
    """An assertion that the elements of ``x``, of whatever type, are whole numbers."""
    with tf.name_scope(name, values=[x, data]):
        x = tf.convert_to_tensor(x, name="x")
        if x.dtype.is_integer:
            return tf.no_op()
        if int_dtype is None and x.dtype.base_dtype.name not in _INTEGERS:
            raise TypeError(f"Unrecognized type {x.dtype.name}")
        whole = tf.cast(tf.cast(x, int_dtype or _INTEGERS[x.dtype.base_dtype.name]), x.dtype)
        return tf.assert_equal(x, whole, data=data, summarize=summarize, message=message or f"{x} has non-integer components", name=name)


def nonnegative_integers(x: Any, name: str = "embed_check_nonnegative_integer_form") -> tf.Tensor:
    """``x``, checked to hold whole numbers that are not negative."""
    with tf.name_scope(name, values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        assertions = [tf.assert_non_negative(x, message=f"'{x}' must be non-negative.")]
        if not x.dtype.is_integer:
            assertions.append(assert_integer_form(x, message=f"'{x}' cannot contain fractional components."))
        return checked(x, *assertions)


def largest_integer(dtype: tf.DType) -> int:
    """The largest n for which 0..n are all numbers of the type."""
    if dtype.is_floating and dtype.base_dtype.name in _INTEGERS:
        return 2 ** (np.finfo(dtype.as_numpy_dtype).nmant + 1)
    if dtype.is_integer:
        return int(np.iinfo(dtype.as_numpy_dtype).max)
    if dtype.base_dtype == tf.bool_:
        return 1
    raise TypeError(f"Unrecognized dtype: {dtype.name}")


def _smallest_integer(dtype: tf.DType) -> int:
    return 0 if dtype.base_dtype in (tf.bool_, tf.uint8, tf.uint16) else -largest_integer(dtype)


def _counts(dtype: tf.DType) -> bool:
    return dtype.is_integer or dtype.base_dtype == tf.bool_


def categorical_parameter(x: Any, name: str = "embed_check_categorical_event_shape") -> tf.Tensor:
    """``x``, checked to have a last axis with at least two classes, and no more than its type can number."""
    with tf.name_scope(name, values=[x]):
        x = tf.convert_to_tensor(x, name="categorical_param")
        if not x.dtype.is_floating:
            raise TypeError(f"Unable to validate size of unrecognized dtype ({x.dtype.base_dtype.name}).")
        most, dtype = largest_integer(x.dtype), x.dtype.base_dtype.name
        if x.shape.ndims == 0:
            raise ValueError("A categorical-distribution parameter must have at least 1 dimension.")
        classes = tf.dimension_value(x.shape.with_rank_at_least(1)[-1])
        if classes is None:
            classes = tf.shape(x, name="x_shape")[-1]
            return checked(
                x,
                tf.assert_rank_at_least(x, 1, message="A categorical-distribution parameter must have at least 1 dimension."),
                tf.assert_greater_equal(tf.shape(x)[-1], 2, message="A categorical-distribution parameter must have at least 2 events."),
                tf.assert_less_equal(classes, most, message="Number of classes exceeds `dtype` precision, "
                                                            f"i.e., {dtype} dtype cannot exceed {most} shape."))
        if classes < 2:
            raise ValueError("A categorical-distribution parameter must have at least 2 events.")
        if classes > most:
            raise ValueError(f"Number of classes exceeds `dtype` precision, i.e., {dtype} implies shape ({classes}) cannot exceed {most}.")
        return x


def castable(x: Any, target_dtype: tf.DType, assert_nonnegative: bool = True, name: str = "embed_check_casting_closed") -> tf.Tensor:
    """``x``, checked to hold numbers that stay what they are when they are cast to another type, one of the two being of integers."""
    with tf.name_scope(name, values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        for dtype, what in ((x.dtype, f"{x.dtype.name}.dtype"), (target_dtype, f"target_dtype ({target_dtype.name})")):
            if not _counts(dtype) and not dtype.is_floating:
                raise TypeError(f"{what} must be floating- or integer-type.")
        if not _counts(x.dtype) and not _counts(target_dtype):
            raise TypeError(f"At least one of {x}.dtype ({x.dtype.name}) and target_dtype ({target_dtype.name}) must be integer-type.")
        assertions = []
        if assert_nonnegative:
            assertions.append(tf.assert_non_negative(x, message="Elements must be non-negative."))
        if x.dtype.is_floating:
            assertions.append(assert_integer_form(x, int_dtype=target_dtype, message=f"Elements must be {target_dtype.name}-equivalent."))
        else:
            assertions += _within(x, target_dtype, assert_nonnegative)
        return checked(x, *assertions) if assertions else x


def _within(x: tf.Tensor, target: tf.DType, assert_nonnegative: bool) -> list[Any]:
    """Assertions that integers fit into another type."""
    assertions, most, least = [], largest_integer(target), _smallest_integer(target)
    if largest_integer(x.dtype) > most:
        assertions.append(tf.assert_less_equal(x, most, message=f"Elements cannot exceed {most}."))
    if not assert_nonnegative and _smallest_integer(x.dtype) < least:
        assertions.append(tf.assert_greater_equal(x, least, message=f"Elements cannot be smaller than {least}."))
    return assertions


def logits_and_probs(logits: Any = None, probs: Any = None, multidimensional: bool = False, validate_args: bool = False,
                     name: str = "get_logits_and_probs", dtype: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
    """Both, made of the one that is given. ``multidimensional``: the last axis numbers classes; else it is about one event and its opposite."""
    with tf.name_scope(name, values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = tf.convert_to_tensor(logits, name="logits", dtype=dtype)
            if not logits.dtype.is_floating:
                raise TypeError("logits must having floating type.")
            if not multidimensional:
                return logits, tf.sigmoid(logits, name="probs")
            if validate_args:
                logits = categorical_parameter(logits)
            return logits, tf.softmax(logits, name="probs")
        probs = tf.convert_to_tensor(probs, name="probs", dtype=dtype)
        if not probs.dtype.is_floating:
            raise TypeError("probs must having floating type.")
        if validate_args:
            probs = _checked_probs(probs, multidimensional)
        with tf.name_scope("logits"):
            if multidimensional:
                return tf.log(probs), probs
            return tf.log(probs) - tf.log1p(-1.0 * probs), probs


def _checked_probs(probs: tf.Tensor, multidimensional: bool) -> tf.Tensor:
    with tf.name_scope("validate_probs"):
        one = tf.constant(1.0, probs.dtype)
        not_negative = tf.assert_non_negative(probs)
        if not multidimensional:
            return checked(probs, not_negative, tf.assert_less_equal(probs, one, message="probs has components greater than 1."))
        probs = categorical_parameter(probs)
        return checked(probs, not_negative, tf.assert_near(tf.reduce_sum(probs, -1), one, message="probs does not sum to 1."))


def shapes_like(names: Sequence[str], sample_shape: Any) -> dict[str, Any]:
    """``param_shapes`` of distributions whose parameters all have the shape of a sample."""
    return dict.fromkeys(names, tf.convert_to_tensor(sample_shape, dtype=tf.int32))


def assert_scalar_distribution(distribution: Any, dtype: tf.DType, validate_args: bool) -> list[Any]:
    """Assertions, where it cannot be told before, that ``distribution`` is one of single numbers of type ``dtype``, without a batch."""
    if distribution.dtype != dtype:
        raise TypeError(f"dtype mismatch; distribution.dtype=\"{distribution.dtype.name}\" is not \"{dtype.name}\"")
    if validate_args and distribution.reparameterization_type != FULLY_REPARAMETERIZED:
        raise ValueError("Base distribution should be reparameterized or be a function of non-trainable variables; "
                         f"distribution.reparameterization_type = \"{distribution.reparameterization_type}\" != \"FULLY_REPARAMETERIZED\".")
    checks = []
    for what, is_scalar in (("event", distribution.is_scalar_event()), ("batch", distribution.is_scalar_batch())):
        static = tf.constant_value(is_scalar)
        if static is not None and not static:
            raise ValueError(f"distribution must be scalar; distribution.is_scalar_{what}=False is not True")
        if static is None and validate_args:
            checks.append(tf.assert_equal(is_scalar, True, message=f"distribution must be scalar; distribution.is_scalar_{what}=False is not True"))
    return checks
