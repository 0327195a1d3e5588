"""``Bijector``: a function, its inverse, and the logarithm of the determinant of its Jacobian."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf


@dataclass
class _Pair:
    """An x and its y, as far as they are known, with log-determinants of the inverse by ``event_ndims``."""

    x: Any = None
    y: Any = None
    ildj: dict[Any, Any] = field(default_factory=dict)


class _Pairs:
    """What a bijector has computed: asking again for the same tensor gives the same tensor, so that inverse(forward(x)) is x itself."""

    def __init__(self) -> None:
        self._by_x: dict[Any, _Pair] = {}
        self._by_y: dict[Any, _Pair] = {}

    def of_x(self, x: Any, given: dict[str, Any]) -> _Pair:
        """The pair with this x."""
        return self._by_x.setdefault((x, _key(given)), _Pair(x=x))

    def of_y(self, y: Any, given: dict[str, Any]) -> _Pair:
        """The pair with this y."""
        return self._by_y.setdefault((y, _key(given)), _Pair(y=y))

    def complete(self, pair: _Pair, given: dict[str, Any]) -> None:
        """Makes a pair known from both sides."""
        self._by_x[pair.x, _key(given)] = self._by_y[pair.y, _key(given)] = pair


def _key(given: dict[str, Any]) -> Any:
    def hashable(value: Any) -> Any:
        return tuple(map(hashable, value)) if isinstance(value, (list, tuple)) else value
    return hashable(sorted(given.items()))


class Bijector:
    """``tf.contrib.distributions.bijectors.Bijector``. A subclass defines ``_forward``, ``_inverse`` and one of ``_inverse_log_det_jacobian`` and
    ``_forward_log_det_jacobian``; if it changes shapes, also ``_forward_event_shape`` and the like.

    ``forward_min_event_ndims`` is the number of axes that the function works on; log-determinants are summed over further axes of an event.
    A function that is not injective (``_is_injective``) gives tuples for its inverse: one element per branch.

    ``event_ndims`` is how bijectors were told the axes of an event up to TensorFlow 1.6. Log-determinants that are not told it use that one, or else
    the least that is possible. A subclass that gives nothing but it works on all these axes.
    """

    def __init__(self, graph_parents: Any = None, is_constant_jacobian: bool = False, validate_args: bool = False, dtype: Any = None,
                 forward_min_event_ndims: int | None = None, inverse_min_event_ndims: int | None = None, name: str | None = None,
                 event_ndims: int | None = None) -> None:
        self._event_ndims = event_ndims
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            forward_min_event_ndims = event_ndims
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError("Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`.")
        self._graph_parents = graph_parents or []
        self._forward_min_event_ndims = inverse_min_event_ndims if forward_min_event_ndims is None else forward_min_event_ndims
        self._inverse_min_event_ndims = forward_min_event_ndims if inverse_min_event_ndims is None else inverse_min_event_ndims
        for what in ("forward", "inverse"):
            ndims = getattr(self, f"_{what}_min_event_ndims")
            if not isinstance(ndims, int):
                raise TypeError(f"Expected {what}_min_event_ndims to be of type int, got {type(ndims).__name__}")
            if ndims < 0:
                raise ValueError(f"{what}_min_event_ndims must be a non-negative integer.")
        for index, parent in enumerate(self._graph_parents):
            if not hasattr(parent, "graph"):
                raise ValueError(f"Graph parent item {index} is not a Tensor; {parent}.")
        self._is_constant_jacobian = is_constant_jacobian
        self._constant_ildj: dict[Any, Any] = {}
        self._validate_args = validate_args
        self._dtype = dtype
        self._pairs = _Pairs()
        self._name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", type(self).__name__.lstrip("_")).lower()

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the function depends on."""
        return self._graph_parents

    @property
    def event_ndims(self) -> Any:
        """The axes of an event, as they were told up to TensorFlow 1.6: a tensor, or None."""
        return None if self._event_ndims is None else tf.convert_to_tensor(self._event_ndims, dtype=tf.int32, name="event_ndims")

    @property
    def forward_min_event_ndims(self) -> int:
        """The number of axes that ``forward`` works on."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        """The number of axes that ``inverse`` works on."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the Jacobian is the same everywhere; its determinant is computed once then."""
        return self._is_constant_jacobian

    @property
    def _is_injective(self) -> bool:
        return True

    @property
    def validate_args(self) -> bool:
        """Whether arguments are checked when the graph runs."""
        return self._validate_args

    @property
    def dtype(self) -> Any:
        """The type of the tensors that the function takes; None if it takes all."""
        return self._dtype

    @property
    def name(self) -> str:
        """The scope of its nodes."""
        return self._name

    # Shapes ----------------------------------------------------------------------------------------------------------

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return input_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return output_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return output_shape

    def forward_event_shape(self, input_shape: Any) -> Any:
        """The shape that events have behind the function, as far as it is known."""
        return self._forward_event_shape(tf.TensorShape(input_shape))

    def inverse_event_shape(self, output_shape: Any) -> Any:
        """The shape that events have before the function, as far as it is known."""
        return self._inverse_event_shape(tf.TensorShape(output_shape))

    def forward_event_shape_tensor(self, input_shape: Any, name: str = "forward_event_shape_tensor") -> tf.Tensor:
        """The shape that events have behind the function, as a vector."""
        with self._name_scope(name, [input_shape]):
            return self._forward_event_shape_tensor(tf.convert_to_tensor(input_shape, dtype=tf.int32, name="input_shape"))

    def inverse_event_shape_tensor(self, output_shape: Any, name: str = "inverse_event_shape_tensor") -> tf.Tensor:
        """The shape that events have before the function, as a vector."""
        with self._name_scope(name, [output_shape]):
            return self._inverse_event_shape_tensor(tf.convert_to_tensor(output_shape, dtype=tf.int32, name="output_shape"))

    # The function and its inverse ------------------------------------------------------------------------------------

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("inverse not implemented")

    def forward(self, x: Any, name: str = "forward") -> tf.Tensor:
        """The function of ``x``."""
        return self._call_forward(x, name)

    def _call_forward(self, x: Any, name: str, **given: Any) -> Any:
        with self._name_scope(name, [x]):
            x = self._input(x, "x")
            if not self._is_injective:
                return self._forward(x, **given)
            pair = self._pairs.of_x(x, given)
            if pair.y is None:
                pair.y = self._forward(x, **given)
                self._pairs.complete(pair, given)
            return pair.y

    def inverse(self, y: Any, name: str = "inverse") -> tf.Tensor:
        """The x whose function is ``y``."""
        return self._call_inverse(y, name)

    def _call_inverse(self, y: Any, name: str, **given: Any) -> Any:
        with self._name_scope(name, [y]):
            y = self._input(y, "y")
            if not self._is_injective:
                return self._inverse(y, **given)
            pair = self._pairs.of_y(y, given)
            if pair.x is None:
                pair.x = self._inverse(y, **given)
                self._pairs.complete(pair, given)
            return pair.x

    def _input(self, value: Any, name: str) -> tf.Tensor:
        value = tf.convert_to_tensor(value, name=name)
        if self.dtype is not None and self.dtype.base_dtype != value.dtype.base_dtype:
            raise TypeError(f"Input had dtype {self.dtype} but expected {value.dtype}.")
        return value

    # Log-determinants ------------------------------------------------------------------------------------------------

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def inverse_log_det_jacobian(self, y: Any, event_ndims: Any = None, name: str = "inverse_log_det_jacobian") -> tf.Tensor:
        """log(abs(det(dx/dy))), where the last ``event_ndims`` axes belong to one event."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    def _call_inverse_log_det_jacobian(self, y: Any, event_ndims: Any, name: str, **given: Any) -> Any:
        event_ndims = self._chosen_event_ndims(event_ndims, self.inverse_min_event_ndims)
        with self._name_scope(name, [y]):
            if event_ndims in self._constant_ildj:
                return self._constant_ildj[event_ndims]
            y = self._input(y, "y")
            with tf.control_dependencies(self._event_checks(self.inverse_min_event_ndims, event_ndims)):
                if not self._is_injective:
                    return self._ildj_of_branches(y, event_ndims, given)
                pair = self._pairs.of_y(y, given)
                if event_ndims not in pair.ildj:
                    self._remember(pair, event_ndims, given, self._ildj_by_inverse, self._ildj_by_forward)
                return pair.ildj[event_ndims]

    def forward_log_det_jacobian(self, x: Any, event_ndims: Any = None, name: str = "forward_log_det_jacobian") -> tf.Tensor:
        """log(abs(det(dy/dx))), where the last ``event_ndims`` axes belong to one event."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def _call_forward_log_det_jacobian(self, x: Any, event_ndims: Any, name: str, **given: Any) -> Any:
        if not self._is_injective:
            raise NotImplementedError("forward_log_det_jacobian cannot be implemented for non-injective transforms.")
        event_ndims = self._chosen_event_ndims(event_ndims, self.forward_min_event_ndims)
        with self._name_scope(name, [x]):
            with tf.control_dependencies(self._event_checks(self.forward_min_event_ndims, event_ndims)):
                if event_ndims in self._constant_ildj:
                    return -1.0 * self._constant_ildj[event_ndims]
                pair = self._pairs.of_x(self._input(x, "x"), given)
                if event_ndims not in pair.ildj:
                    self._remember(pair, event_ndims, given, self._ildj_by_forward, self._ildj_by_inverse)
                return -pair.ildj[event_ndims]

    def _chosen_event_ndims(self, event_ndims: Any, min_event_ndims: int) -> Any:
        if event_ndims is not None:
            return event_ndims
        return min_event_ndims if self._event_ndims is None else self._event_ndims

    def _remember(self, pair: _Pair, event_ndims: Any, given: dict[str, Any], *ways: Callable[..., Any]) -> None:
        """Computes a log-determinant, by the first way that the subclass knows, and keeps it."""
        first, second = ways
        try:
            ildj = first(pair, event_ndims, given)
        except NotImplementedError as complaint:
            try:
                ildj = second(pair, event_ndims, given)
            except NotImplementedError:
                raise complaint from None
        pair.ildj[event_ndims] = ildj
        known = [value for value in (pair.x, pair.y) if value is not None]
        if self.is_constant_jacobian and all(value.shape.is_fully_defined() for value in known):  # else it has to do with the shape of this input
            self._constant_ildj[event_ndims] = ildj

    def _ildj_by_inverse(self, pair: _Pair, event_ndims: Any, given: dict[str, Any]) -> tf.Tensor:
        y = self._forward(pair.x, **given) if pair.y is None else pair.y
        ildj = self._reduce_jacobian_det_over_event(y, self._inverse_log_det_jacobian(y, **given), self.inverse_min_event_ndims, event_ndims)
        if pair.y is None:
            pair.y = y
            self._pairs.complete(pair, given)
        return ildj

    def _ildj_by_forward(self, pair: _Pair, event_ndims: Any, given: dict[str, Any]) -> tf.Tensor:
        x = self._inverse(pair.y, **given) if pair.x is None else pair.x
        ildj = self._reduce_jacobian_det_over_event(x, -self._forward_log_det_jacobian(x, **given), self.forward_min_event_ndims, event_ndims)
        if pair.x is None:
            pair.x = x
            self._pairs.complete(pair, given)
        return ildj

    def _ildj_of_branches(self, y: tf.Tensor, event_ndims: Any, given: dict[str, Any]) -> tuple[tf.Tensor, ...]:
        """Of a function that is not injective: one per branch."""
        try:
            at, branches, ndims = y, self._inverse_log_det_jacobian(y, **given), self.inverse_min_event_ndims
        except NotImplementedError as complaint:
            try:
                at = self._inverse(y, **given)
                branches, ndims = [-fldj for fldj in self._forward_log_det_jacobian(at, **given)], self.forward_min_event_ndims
            except NotImplementedError:
                raise complaint from None
        return tuple(self._reduce_jacobian_det_over_event(at, ildj, ndims, event_ndims) for ildj in branches)

    def _reduce_jacobian_det_over_event(self, y: tf.Tensor, ildj: tf.Tensor, min_event_ndims: int, event_ndims: Any) -> tf.Tensor:
        """The sum over the axes of an event that the function does not work on; ``ildj`` may have to be broadcast over them."""
        y_rank = tf.rank(y)
        extents = tf.shape(y)[y_rank - event_ndims:y_rank - min_event_ndims]
        ones = tf.ones(extents, ildj.dtype)
        static = static_event_ndims(event_ndims)
        if static is None:
            axes = tf.range(-(event_ndims - min_event_ndims), 0)
        else:
            axes = [-index for index in range(1, static - min_event_ndims + 1)]
        reduced = tf.reduce_sum(ones * ildj, axis=axes)
        if static is not None and y.shape.ndims is not None and ildj.shape.ndims is not None:
            event = y.shape[y.shape.ndims - static:y.shape.ndims - min_event_ndims]
            whole = tf.broadcast_static_shape(ildj.shape, event)
            reduced.set_shape(whole[:whole.ndims - (static - min_event_ndims)])
        return reduced

    def _event_checks(self, min_event_ndims: int, event_ndims: Any) -> list[Any]:
        """Checks ``event_ndims``; what cannot be checked yet becomes assertions."""
        event_ndims = tf.convert_to_tensor(event_ndims, name="event_ndims")
        if not event_ndims.dtype.is_integer:
            raise ValueError(f"Expected integer dtype, got dtype {event_ndims.dtype}")
        static = tf.constant_value(event_ndims)
        if event_ndims.shape.is_fully_defined() and event_ndims.shape.ndims != 0:
            raise ValueError(f"Expected scalar event_ndims, got shape {event_ndims.shape}")
        if static is not None and min_event_ndims > static:
            raise ValueError(f"event_ndims ({static}) must be larger than min_event_ndims ({min_event_ndims})")
        assertions = []
        if static is None and self.validate_args:
            assertions.append(tf.assert_greater_equal(event_ndims, min_event_ndims))
        if not event_ndims.shape.is_fully_defined() and self.validate_args:
            assertions.append(tf.assert_rank(event_ndims, 0, message="Expected scalar."))
        return assertions

    @contextmanager
    def _name_scope(self, name: str | None = None, values: list[Any] | None = None) -> Iterator[str]:
        with tf.name_scope(self.name), tf.name_scope(name, values=[*(values or ()), *self.graph_parents]) as scope:
            yield scope

    @contextmanager
    def _init_scope(self, name: str, *values: Any) -> Iterator[str]:
        """The scope of the nodes that a constructor makes."""
        self._name, self._graph_parents = name, []
        with self._name_scope("init", list(values)) as scope:
            yield scope


def static_event_ndims(event_ndims: Any) -> int | None:
    """The number of axes of an event, if it is known."""
    static = tf.constant_value(event_ndims) if isinstance(event_ndims, tf.Tensor) else event_ndims
    if isinstance(static, (np.generic, np.ndarray)):
        if static.dtype not in (np.int32, np.int64):
            raise ValueError(f"Expected integer dtype, got dtype {static.dtype}")
        if static.shape:
            raise ValueError(f"Expected a scalar integer, got {static}")
        return int(static)
    return static


class ConditionalBijector(Bijector):
    """``tf.contrib.distributions.bijectors.ConditionalBijector``: a bijector whose hooks take further arguments."""

    def forward(self, x: Any, name: str = "forward", **condition_kwargs: Any) -> tf.Tensor:
        """The function of ``x``, under conditions."""
        return self._call_forward(x, name, **condition_kwargs)

    def inverse(self, y: Any, name: str = "inverse", **condition_kwargs: Any) -> tf.Tensor:
        """The inverse, under conditions."""
        return self._call_inverse(y, name, **condition_kwargs)

    def inverse_log_det_jacobian(self, y: Any, event_ndims: Any = None, name: str = "inverse_log_det_jacobian", **condition_kwargs: Any) -> tf.Tensor:
        """The log-determinant of the inverse, under conditions."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name, **condition_kwargs)

    def forward_log_det_jacobian(self, x: Any, event_ndims: Any = None, name: str = "forward_log_det_jacobian", **condition_kwargs: Any) -> tf.Tensor:
        """The log-determinant, under conditions."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name, **condition_kwargs)
