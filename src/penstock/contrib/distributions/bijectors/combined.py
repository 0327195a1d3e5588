"""Bijectors made of others, or of functions that the user gives: Chain, Invert, Inline, TransformDiagonal, ScaleTriL."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.bijectors.bijector import Bijector, static_event_ndims
from penstock.contrib.distributions.bijectors.elementwise import AffineScalar, Softplus
from penstock.contrib.distributions.bijectors.matrices import FillTriangular


class Invert(Bijector):
    """``bijectors.Invert``: another one, the other way round."""

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        if not bijector._is_injective:
            raise NotImplementedError("Invert is not implemented for non-injective bijectors.")
        self._bijector = bijector
        super().__init__(graph_parents=bijector.graph_parents, forward_min_event_ndims=bijector.inverse_min_event_ndims,
                         inverse_min_event_ndims=bijector.forward_min_event_ndims, is_constant_jacobian=bijector.is_constant_jacobian,
                         validate_args=validate_args, dtype=bijector.dtype, name=name or f"invert_{bijector.name}", event_ndims=bijector._event_ndims)
        self._forward_event_shape = bijector._inverse_event_shape
        self._inverse_event_shape = bijector._forward_event_shape
        self._forward_event_shape_tensor = bijector._inverse_event_shape_tensor
        self._inverse_event_shape_tensor = bijector._forward_event_shape_tensor
        self._forward, self._inverse = bijector._inverse, bijector._forward
        self._inverse_log_det_jacobian = bijector._forward_log_det_jacobian
        self._forward_log_det_jacobian = bijector._inverse_log_det_jacobian

    @property
    def bijector(self) -> Bijector:
        """The one that is inverted."""
        return self._bijector


class Chain(Bijector):
    """``bijectors.Chain``: one after the other; the last of the list comes first, as in f(g(x))."""

    def __init__(self, bijectors: Sequence[Bijector] | None = None, validate_args: bool = False, name: str | None = None) -> None:
        self._bijectors = () if bijectors is None else bijectors
        for bijector in self._bijectors:
            if not bijector._is_injective:
                raise NotImplementedError(f"Invert is not implemented for non-injective bijector ({bijector.name})")
        dtypes = {bijector.dtype for bijector in self._bijectors} - {None}
        if len(dtypes) > 1:
            raise ValueError(f"incompatible dtypes: {list(dtypes)}")
        super().__init__(graph_parents=[parent for bijector in self._bijectors for parent in bijector.graph_parents],
                         forward_min_event_ndims=_min_event_ndims([(b.forward_min_event_ndims, b.inverse_min_event_ndims)
                                                                   for b in reversed(self._bijectors)]),
                         inverse_min_event_ndims=_min_event_ndims([(b.inverse_min_event_ndims, b.forward_min_event_ndims)
                                                                   for b in self._bijectors]),
                         is_constant_jacobian=all(bijector.is_constant_jacobian for bijector in self._bijectors),
                         validate_args=validate_args, dtype=next(iter(dtypes), None),
                         name=name or ("_of_".join(["chain", *(b.name for b in self._bijectors)]) if self._bijectors else "identity"),
                         event_ndims=max((b._event_ndims for b in self._bijectors if b._event_ndims is not None), default=None))

    @property
    def bijectors(self) -> Sequence[Bijector]:
        """The ones that it is made of."""
        return self._bijectors

    def _forward_event_shape(self, input_shape: Any) -> Any:
        for bijector in reversed(self.bijectors):
            input_shape = bijector.forward_event_shape(input_shape)
        return input_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        for bijector in reversed(self.bijectors):
            input_shape = bijector.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        for bijector in self.bijectors:
            output_shape = bijector.inverse_event_shape(output_shape)
        return output_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        for bijector in self.bijectors:
            output_shape = bijector.inverse_event_shape_tensor(output_shape)
        return output_shape

    def _forward(self, x: tf.Tensor, **given: Any) -> tf.Tensor:
        for bijector in reversed(self.bijectors):
            x = bijector.forward(x, **given.get(bijector.name, {}))
        return x

    def _inverse(self, y: tf.Tensor, **given: Any) -> tf.Tensor:
        for bijector in self.bijectors:
            y = bijector.inverse(y, **given.get(bijector.name, {}))
        return y

    def _inverse_log_det_jacobian(self, y: tf.Tensor, **given: Any) -> tf.Tensor:
        return self._total("inverse", tf.convert_to_tensor(y, name="y"), self.bijectors, given)

    def _forward_log_det_jacobian(self, x: tf.Tensor, **given: Any) -> tf.Tensor:
        return self._total("forward", tf.convert_to_tensor(x, name="x"), list(reversed(self.bijectors)), given)

    def _total(self, direction: str, x: tf.Tensor, bijectors: Sequence[Bijector], given: dict[str, Any]) -> tf.Tensor:
        """The sum of the log-determinants, each at the point and with the event that those before it lead to."""
        total = tf.cast(0.0, dtype=x.dtype.base_dtype)
        if not bijectors:
            return total
        event_ndims: Any = getattr(self, f"{direction}_min_event_ndims")
        if _is_static(x, event_ndims):
            event_shape = x.shape[x.shape.ndims - event_ndims:]
        else:
            event_shape = tf.shape(x)[tf.rank(x) - event_ndims:]
        for bijector in bijectors:
            arguments = given.get(bijector.name, {})
            total += getattr(bijector, f"{direction}_log_det_jacobian")(x, event_ndims=event_ndims, **arguments)
            if _is_static(x, event_ndims):
                event_shape = getattr(bijector, f"{direction}_event_shape")(event_shape)
                event_ndims = static_event_ndims(event_shape.ndims)
            else:
                event_shape = getattr(bijector, f"{direction}_event_shape_tensor")(event_shape)
                event_ndims = tf.size(event_shape)
                static = static_event_ndims(event_ndims)
                event_ndims = event_ndims if static is None else static
            x = getattr(bijector, direction)(x, **arguments)
        return total


def _is_static(x: tf.Tensor, ndims: Any) -> bool:
    return x.shape.is_fully_defined() and isinstance(ndims, int)


def _min_event_ndims(steps: list[tuple[int, int]]) -> int:
    """How many axes a chain works on, from (axes that go in, axes that come out) of each part, in the order in which they are applied."""
    wanted, available = 0, 0
    for before, after in steps:
        if available < before:
            wanted += before - available
        available = max(before, available) - (before - after)
    return wanted


class Inline(Bijector):
    """``bijectors.Inline``: a bijector made of functions. Without a number of axes (as up to TensorFlow 1.6) they are told none."""

    def __init__(self, forward_fn: Callable[..., Any] | None = None, inverse_fn: Callable[..., Any] | None = None,
                 inverse_log_det_jacobian_fn: Callable[..., Any] | None = None, forward_log_det_jacobian_fn: Callable[..., Any] | None = None,
                 forward_event_shape_fn: Callable[..., Any] | None = None, forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
                 inverse_event_shape_fn: Callable[..., Any] | None = None, inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
                 is_constant_jacobian: bool = False, validate_args: bool = False, forward_min_event_ndims: int | None = None,
                 inverse_min_event_ndims: int | None = None, name: str = "inline") -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            forward_min_event_ndims = 0
        super().__init__(forward_min_event_ndims=forward_min_event_ndims, inverse_min_event_ndims=inverse_min_event_ndims,
                         is_constant_jacobian=is_constant_jacobian, validate_args=validate_args, name=name)
        shapes = {"forward_event_shape": forward_event_shape_fn, "forward_event_shape_tensor": forward_event_shape_tensor_fn,
                  "inverse_event_shape": inverse_event_shape_fn, "inverse_event_shape_tensor": inverse_event_shape_tensor_fn}
        for hook, function in shapes.items():
            if function is not None:
                setattr(self, f"_{hook}", function)
        functions = {"forward": forward_fn, "inverse": inverse_fn, "inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
                     "forward_log_det_jacobian": forward_log_det_jacobian_fn}
        for hook, function in functions.items():
            setattr(self, f"_{hook}", function if callable(function) else _missing(hook))


def _missing(hook: str) -> Callable[..., Any]:
    def complain(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{hook}_fn is not a callable function.")
    return complain


class TransformDiagonal(Bijector):
    """``bijectors.TransformDiagonal``: another one, of the diagonals of matrices."""

    def __init__(self, diag_bijector: Bijector, validate_args: bool = False, name: str = "transform_diagonal") -> None:
        self._diag_bijector = diag_bijector
        super().__init__(forward_min_event_ndims=2, inverse_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.matrix_set_diag(x, self._diag_bijector.forward(tf.matrix_diag_part(x)))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.matrix_set_diag(y, self._diag_bijector.inverse(tf.matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return self._diag_bijector.forward_log_det_jacobian(tf.matrix_diag_part(x), event_ndims=1)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return self._diag_bijector.inverse_log_det_jacobian(tf.matrix_diag_part(y), event_ndims=1)


class ScaleTriL(Chain):
    """``bijectors.ScaleTriL``: vectors to lower triangular matrices with a positive diagonal."""

    def __init__(self, diag_bijector: Bijector | None = None, diag_shift: Any = 1e-5, validate_args: bool = False, name: str = "scale_tril") -> None:
        if diag_bijector is None:
            diag_bijector = Softplus(validate_args=validate_args)
        if diag_shift is not None:
            diag_bijector = Chain([AffineScalar(shift=diag_shift), diag_bijector])
        super().__init__([TransformDiagonal(diag_bijector), FillTriangular()], validate_args=validate_args, name=name)
