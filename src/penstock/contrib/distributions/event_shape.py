"""``DistributionShape``: which axes of a tensor are samples, batch and event; it makes matrices of them and undoes that."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.shapes import pick_vector, rotate_transpose


def _are_constants(*tensors: Any) -> bool:
    return all(tf.constant_value(tensor) is not None for tensor in tensors)


class DistributionShape:
    """Tensors with axes [samples..., batch..., event...]; the numbers of the last two are given, as numbers or tensors."""

    def __init__(self, batch_ndims: Any, event_ndims: Any, validate_args: bool = False, name: str = "DistributionShape") -> None:
        self._validate_args = validate_args
        self.name = name
        with tf.name_scope(name), tf.name_scope("init"):
            self.batch_ndims = self._count(tf.convert_to_tensor(batch_ndims, name="batch_ndims"))
            self._no_batch = _is_zero(self.batch_ndims)
            self.event_ndims = self._count(tf.convert_to_tensor(event_ndims, name="event_ndims"))
            self._no_event = _is_zero(self.event_ndims)

    def _count(self, x: tf.Tensor) -> tf.Tensor:
        """``x``, checked to be a number of axes."""
        if x.dtype.base_dtype != tf.int32:
            raise TypeError(f"{x.name}.dtype={x.dtype} is not {tf.int32}")
        static = tf.constant_value(x)
        if static is not None and x.shape.ndims is not None:
            if x.shape.ndims != 0:
                raise ValueError(f"{x.name}.ndims={x.shape.ndims} is not 0 (scalar)")
            if static < 0:
                raise ValueError(f"{x.name}.value={static} cannot be negative")
            return x
        return checked(x, tf.assert_rank(x, 0), tf.assert_non_negative(x)) if self._validate_args else x

    def get_ndims(self, x: Any, name: str = "get_ndims") -> tf.Tensor:
        """The rank of ``x``."""
        with self._name_scope(name, [x]):
            x = tf.convert_to_tensor(x, name="x")
            return tf.rank(x, name="ndims") if x.shape.ndims is None else tf.convert_to_tensor(x.shape.ndims, dtype=tf.int32, name="ndims")

    def get_sample_ndims(self, x: Any, name: str = "get_sample_ndims") -> tf.Tensor:
        """How many axes of ``x`` are samples."""
        with self._name_scope("get_sample_ndims", [x]):
            ndims = self.get_ndims(x, name)
            if _are_constants(ndims, self.batch_ndims, self.event_ndims):
                known = [int(tf.constant_value(each)) for each in (ndims, self.batch_ndims, self.event_ndims)]
                if known[0] < known[1] + known[2]:
                    raise ValueError(f"expected batch_ndims({known[1]}) + event_ndims({known[2]}) <= ndims({known[0]})")
                return tf.convert_to_tensor(known[0] - known[1] - known[2], name="sample_ndims")
            with tf.name_scope("sample_ndims"):
                rest = ndims - self.batch_ndims - self.event_ndims
                return checked(rest, tf.assert_non_negative(rest)) if self._validate_args else rest

    def get_dims(self, x: Any, name: str = "get_dims") -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The axes of samples, batch and event."""
        with self._name_scope(name, [x]):
            samples = self.get_sample_ndims(x, name)
            axes = tf.range(self.get_ndims(x, name))
            return axes[:samples], axes[samples:samples + self.batch_ndims], axes[samples + self.batch_ndims:]

    def get_shape(self, x: Any, name: str = "get_shape") -> tuple[Any, Any, Any]:
        """The shapes of samples, batch and event."""
        with self._name_scope(name, [x]):
            x = tf.convert_to_tensor(x, name="x")

            def part(before: list[Any], count: Any, name: str) -> tf.Tensor:
                before = before or [tf.zeros([], dtype=tf.int32, name="zero")]
                if x.shape.ndims is not None and _are_constants(count, *before):
                    start = sum(int(tf.constant_value(each)) for each in before)
                    extents = x.shape[start:start + int(tf.constant_value(count))]
                    if extents.is_fully_defined():
                        return tf.convert_to_tensor(extents.as_list(), dtype=tf.int32, name=name)
                return tf.slice_(tf.shape(x), [sum(before)], [count])

            samples = self.get_sample_ndims(x, name)
            return (part([], samples, "sample_shape"), part([samples], self.batch_ndims, "batch_shape"),
                    part([samples, self.batch_ndims], self.event_ndims, "event_shape"))

    def make_batch_of_event_sample_matrices(self, x: Any, expand_batch_dim: bool = True,
                                            name: str = "make_batch_of_event_sample_matrices") -> tuple[tf.Tensor, tf.Tensor]:
        """``x`` with the axes [batch..., event..., all samples in one], and the shape of the samples."""
        with self._name_scope(name, [x]):
            x = tf.convert_to_tensor(x, name="x")
            sample_shape, batch_shape, event_shape = self.get_shape(x)
            event_shape = pick_vector(self._no_event, [1], event_shape)
            if expand_batch_dim:
                batch_shape = pick_vector(self._no_batch, [1], batch_shape)
            x = tf.reshape(x, shape=tf.concat([[-1], batch_shape, event_shape], 0))
            return rotate_transpose(x, shift=-1), sample_shape

    def undo_make_batch_of_event_sample_matrices(self, x: Any, sample_shape: Any, expand_batch_dim: bool = True,
                                                 name: str = "undo_make_batch_of_event_sample_matrices") -> tf.Tensor:
        """What ``make_batch_of_event_sample_matrices`` was given."""
        with self._name_scope(name, [x, sample_shape]):
            x = rotate_transpose(tf.convert_to_tensor(x, name="x"), shift=1)
            if _are_constants(self.batch_ndims, self.event_ndims):
                extra = [-1] * bool(self._no_event) + [1] * bool(self._no_batch and expand_batch_dim)
                x = tf.squeeze(x, axis=extra) if extra else x
                _, batch_shape, event_shape = self.get_shape(x)
            else:
                shape = x.shape.as_list() if x.shape.is_fully_defined() else tf.shape(x)
                batch_shape = shape[1:1 + self.batch_ndims]
                start = tf.where_v2(tf.logical_and(expand_batch_dim, self._no_batch), 2, 1 + self.batch_ndims)
                event_shape = shape[start:start + self.event_ndims]
            return tf.reshape(x, shape=tf.concat([sample_shape, batch_shape, event_shape], 0))

    @contextmanager
    def _name_scope(self, name: str, values: list[Any]) -> Iterator[str]:
        with tf.name_scope(self.name), tf.name_scope(name, values=[*values, self.batch_ndims, self.event_ndims]) as scope:
            yield scope


def _is_zero(ndims: tf.Tensor) -> Any:
    static = tf.constant_value(ndims)
    return tf.equal(ndims, 0) if static is None else static == 0
