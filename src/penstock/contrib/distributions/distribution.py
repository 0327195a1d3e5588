"""``Distribution``: what all distributions can do; a subclass says how, in hooks named ``_sample_n``, ``_log_prob``, ``_mean``, ..."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions import kullback_leibler
from penstock.contrib.distributions.shapes import pick_vector


class ReparameterizationType:
    """``tf.distributions.ReparameterizationType``: whether gradients flow through samples to the parameters. There are two instances of it."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameteriation Type: {self._rep_type}>"  # TensorFlow's spelling


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


def _hook(name: str) -> Any:
    """A method that subclasses may define."""
    def missing(self: Any, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")
    return missing


def _first_implemented(*candidates: Callable[[], Any]) -> Any:
    """What the first candidate gives that is implemented; if none is, the first one's complaint."""
    complaint: NotImplementedError | None = None
    for candidate in candidates:
        try:
            return candidate()
        except NotImplementedError as error:
            complaint = complaint or error
    raise complaint or NotImplementedError


def _remembers_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that keeps its arguments as the object's ``parameters``; of several, the one that the user called."""
    signature = inspect.signature(init)
    renamed: Callable[[dict[str, Any]], dict[str, Any]] = getattr(init, "renamed", lambda kwargs: kwargs)  # see ``renamed_args``

    @functools.wraps(init)
    def constructor(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs = renamed(kwargs)
        if not hasattr(self, "_parameters"):
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            self._parameters = dict(bound.arguments)
        init(self, *args, **kwargs)
    return constructor


class Distribution:
    """``tf.distributions.Distribution``: a batch of distributions of one family.

    Shapes of samples are sample shape + batch shape + event shape. A subclass defines the hooks (an underscore before the public name; ``_sample_n``
    draws n samples along a new first axis) and hands its tensors to ``__init__``. What has no hook is derived from others where it can be.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
        if "__init__" in cls.__dict__ and (own or super(cls, cls).__init__ is Distribution.__init__):  # a program's normal distribution is a Normal
            cls.__init__ = _remembers_arguments(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, dtype: Any, reparameterization_type: ReparameterizationType, validate_args: bool, allow_nan_stats: bool,
                 parameters: dict[str, Any] | None = None, graph_parents: list[Any] | None = None, name: str | None = None) -> None:
        for index, parent in enumerate(graph_parents or ()):
            if not hasattr(parent, "graph"):
                raise ValueError(f"Graph parent item {index} is not a Tensor; {parent}.")
        if not name or not name.endswith("/"):  # not a scope yet
            with tf.name_scope(name or type(self).__name__) as name:
                pass
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        if parameters or not hasattr(self, "_parameters"):
            self._parameters = parameters or {}
        self._graph_parents = list(graph_parents or ())
        self._name = name

    @property
    def name(self) -> str:
        """The scope of this object's nodes; it ends in a slash."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The type of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the object was made with."""
        return {key: value for key, value in self._parameters.items() if key != "self" and not key.startswith("__")}

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """``FULLY_REPARAMETERIZED`` or ``NOT_REPARAMETERIZED``."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether a statistic that is not defined is NaN; if not, asking for it is an error."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether arguments are checked when the graph runs."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Another object of this class, with some parameters changed."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict[str, Any]:
        """{parameter: the shape it must have, so that ``sample()`` has ``sample_shape``}."""
        with tf.name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        """``param_shapes`` as TensorShapes."""
        if isinstance(sample_shape, tf.TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        static = {name: tf.constant_value(shape) for name, shape in cls.param_shapes(sample_shape).items()}
        if any(shape is None for shape in static.values()):
            raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
        return {name: tf.TensorShape(shape) for name, shape in static.items()}

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        raise NotImplementedError("_param_shapes not implemented")

    # Shapes ----------------------------------------------------------------------------------------------------------

    _batch_shape_tensor = _hook("batch_shape_tensor")
    _event_shape_tensor = _hook("event_shape_tensor")

    def _batch_shape(self) -> Any:
        return tf.TensorShape(None)

    def _event_shape(self) -> Any:
        return tf.TensorShape(None)

    @property
    def batch_shape(self) -> tf.TensorShape:
        """The static shape of one sample of the batch, without the event's."""
        return tf.TensorShape(self._batch_shape())

    @property
    def event_shape(self) -> tf.TensorShape:
        """The static shape of one sample of one distribution."""
        return tf.TensorShape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> tf.Tensor:
        """The batch shape as a vector."""
        with self._name_scope(name):
            return self._shape_tensor(self.batch_shape, "batch_shape", self._batch_shape_tensor)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> tf.Tensor:
        """The event shape as a vector."""
        with self._name_scope(name):
            return self._shape_tensor(self.event_shape, "event_shape", self._event_shape_tensor)

    @staticmethod
    def _shape_tensor(static: tf.TensorShape, name: str, dynamic: Callable[[], Any]) -> Any:
        if static.is_fully_defined():
            return tf.convert_to_tensor(static.as_list(), dtype=tf.int32, name=name)
        return dynamic()

    def is_scalar_event(self, name: str = "is_scalar_event") -> tf.Tensor:
        """Whether the event shape is []."""
        with self._name_scope(name):
            return tf.convert_to_tensor(self._is_scalar(self.event_shape, self.event_shape_tensor), name="is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> tf.Tensor:
        """Whether the batch shape is []."""
        with self._name_scope(name):
            return tf.convert_to_tensor(self._is_scalar(self.batch_shape, self.batch_shape_tensor), name="is_scalar_batch")

    @staticmethod
    def _is_scalar(static: tf.TensorShape, dynamic: Callable[[], Any]) -> Any:
        if static.ndims is not None:
            return static.ndims == 0
        vector = dynamic()
        if vector.shape.is_fully_defined():
            return vector.shape.as_list() == [0]
        return tf.equal(tf.shape(vector)[0], 0)

    _is_scalar_helper = _is_scalar  # TensorFlow's name

    # Samples ---------------------------------------------------------------------------------------------------------

    _sample_n = _hook("sample_n")

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> tf.Tensor:
        """Samples; their shape is ``sample_shape`` + batch shape + event shape."""
        return self._call_sample_n(sample_shape, seed, name)

    def _call_sample_n(self, sample_shape: Any, seed: int | None, name: str, **kwargs: Any) -> tf.Tensor:
        with self._name_scope(name, [sample_shape]):
            sample_shape = tf.convert_to_tensor(sample_shape, dtype=tf.int32, name="sample_shape")
            sample_shape, count = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            samples = self._in_sample_shape(self._sample_n(count, seed, **kwargs), sample_shape)
            return self._set_sample_static_shape(samples, sample_shape)

    @staticmethod
    def _in_sample_shape(samples: Any, sample_shape: tf.Tensor) -> tf.Tensor:
        """n samples along the first axis, as the shape that the user asked for."""
        batch_event_shape = tf.shape(samples)[1:]
        return tf.reshape(samples, tf.concat([sample_shape, batch_event_shape], 0))

    @staticmethod
    def _expand_sample_shape_to_vector(x: tf.Tensor, name: str) -> tuple[tf.Tensor, Any]:
        """A sample shape, which may be one number, as a vector; and how many samples that is."""
        static = tf.constant_value(x)
        count = tf.reduce_prod(x) if static is None else np.prod(static, dtype=x.dtype.as_numpy_dtype)
        if x.shape.ndims is None:
            return tf.reshape(x, pick_vector(tf.equal(tf.rank(x), 0), np.array([1], np.int32), tf.shape(x))), count
        if x.shape.ndims > 1:
            raise ValueError("Input is neither scalar nor vector.")
        if x.shape.ndims == 1:
            return x, count
        if static is None:
            return tf.reshape(x, [1]), count
        return tf.convert_to_tensor(np.array([static], x.dtype.as_numpy_dtype), name=name), count

    def _set_sample_static_shape(self, x: tf.Tensor, sample_shape: tf.Tensor) -> tf.Tensor:
        """Tells ``x`` what is known of sample, batch and event shape; where one rank is not known, the others give it."""
        parts = [tf.TensorShape(tf.constant_value(sample_shape)), self.batch_shape, self.event_shape]
        ranks = [part.ndims for part in parts]
        unknown = [index for index, rank in enumerate(ranks) if rank is None]
        if x.shape.ndims is not None and len(unknown) == 1:
            ranks[unknown[0]] = x.shape.ndims - sum(rank for rank in ranks if rank is not None)
            parts[unknown[0]] = tf.TensorShape([None] * ranks[unknown[0]])
            unknown = []
        if not unknown:
            x.set_shape(parts[0].concatenate(parts[1]).concatenate(parts[2]))
        elif x.shape.ndims is not None:
            rest = [None] * x.shape.ndims
            if ranks[0] is not None:
                x.set_shape(parts[0].concatenate(rest[ranks[0]:]))
            if ranks[2] is not None:
                x.set_shape(tf.TensorShape(rest[ranks[2]:]).concatenate(parts[2]))
        return x

    # Functions of a value --------------------------------------------------------------------------------------------

    _log_prob, _prob = _hook("log_prob"), _hook("prob")
    _log_cdf, _cdf = _hook("log_cdf"), _hook("cdf")
    _log_survival_function, _survival_function = _hook("log_survival_function"), _hook("survival_function")
    _quantile = _hook("quantile")

    def _of_value(self, value: Any, name: str, *candidates: Callable[[tf.Tensor], Any]) -> Any:
        """The first of ``candidates`` that is implemented, of ``value``."""
        with self._name_scope(name, [value]):
            x = tf.convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return _first_implemented(*(functools.partial(candidate, x) for candidate in candidates))

    def log_prob(self, value: Any, name: str = "log_prob") -> tf.Tensor:
        """The logarithm of the density, or of the probability, of ``value``."""
        return self._call_log_prob(value, name)

    def _call_log_prob(self, value: Any, name: str, **given: Any) -> tf.Tensor:
        return self._of_value(value, name, lambda x: self._log_prob(x, **given), lambda x: tf.log(self._prob(x, **given)))

    def prob(self, value: Any, name: str = "prob") -> tf.Tensor:
        """The density, or the probability, of ``value``."""
        return self._call_prob(value, name)

    def _call_prob(self, value: Any, name: str, **given: Any) -> tf.Tensor:
        return self._of_value(value, name, lambda x: self._prob(x, **given), lambda x: tf.exp(self._log_prob(x, **given)))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> tf.Tensor:
        """The logarithm of P[X <= value]."""
        return self._call_log_cdf(value, name)

    def _call_log_cdf(self, value: Any, name: str, **given: Any) -> tf.Tensor:
        return self._of_value(value, name, lambda x: self._log_cdf(x, **given), lambda x: tf.log(self._cdf(x, **given)))

    def cdf(self, value: Any, name: str = "cdf") -> tf.Tensor:
        """P[X <= value]."""
        return self._call_cdf(value, name)

    def _call_cdf(self, value: Any, name: str, **given: Any) -> tf.Tensor:
        return self._of_value(value, name, lambda x: self._cdf(x, **given), lambda x: tf.exp(self._log_cdf(x, **given)))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> tf.Tensor:
        """The logarithm of P[X > value]."""
        return self._call_log_survival_function(value, name)

    def _call_log_survival_function(self, value: Any, name: str, **given: Any) -> tf.Tensor:
        return self._of_value(value, name, lambda x: self._log_survival_function(x, **given), lambda x: tf.log1p(-self.cdf(x, **given)))

    def survival_function(self, value: Any, name: str = "survival_function") -> tf.Tensor:
        """P[X > value]."""
        return self._call_survival_function(value, name)

    def _call_survival_function(self, value: Any, name: str, **given: Any) -> tf.Tensor:
        return self._of_value(value, name, lambda x: self._survival_function(x, **given), lambda x: 1.0 - self.cdf(x, **given))

    def quantile(self, value: Any, name: str = "quantile") -> tf.Tensor:
        """The x for which P[X <= x] is ``value``."""
        return self._call_quantile(value, name)

    def _call_quantile(self, value: Any, name: str, **given: Any) -> tf.Tensor:
        return self._of_value(value, name, lambda x: self._quantile(x, **given))

    # Statistics ------------------------------------------------------------------------------------------------------

    _entropy, _mean, _mode = _hook("entropy"), _hook("mean"), _hook("mode")
    _variance, _stddev, _covariance = _hook("variance"), _hook("stddev"), _hook("covariance")

    def entropy(self, name: str = "entropy") -> tf.Tensor:
        """Shannon's entropy, in nats."""
        with self._name_scope(name):
            return self._entropy()

    def mean(self, name: str = "mean") -> tf.Tensor:
        """The mean."""
        with self._name_scope(name):
            return self._mean()

    def mode(self, name: str = "mode") -> tf.Tensor:
        """The most likely value."""
        with self._name_scope(name):
            return self._mode()

    def variance(self, name: str = "variance") -> tf.Tensor:
        """The variance."""
        with self._name_scope(name):
            return _first_implemented(self._variance, lambda: tf.square(self._stddev()))

    def stddev(self, name: str = "stddev") -> tf.Tensor:
        """The standard deviation."""
        with self._name_scope(name):
            return _first_implemented(self._stddev, lambda: tf.sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> tf.Tensor:
        """The matrix of covariances of an event's elements."""
        with self._name_scope(name):
            return self._covariance()

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> tf.Tensor:
        """The mean of -log q(X), where q is the density of ``other``."""
        with self._name_scope(name):
            return self._cross_entropy(other)

    def _cross_entropy(self, other: Any) -> tf.Tensor:
        return kullback_leibler.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> tf.Tensor:
        """KL(self || other), for pairs of classes that are registered (``RegisterKL``)."""
        with self._name_scope(name):
            return self._kl_divergence(other)

    def _kl_divergence(self, other: Any) -> tf.Tensor:
        return kullback_leibler.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def __str__(self) -> str:
        shapes = (f", {key}={shape}" for key, shape in (("batch_shape", self.batch_shape), ("event_shape", self.event_shape))
                  if shape.ndims is not None)
        return f"tfp.distributions.{type(self).__name__}(\"{self.name}\"{''.join(shapes)}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return (f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
                f"event_shape={self.event_shape} dtype={self.dtype.name}>")

    @contextmanager
    def _name_scope(self, name: str | None = None, values: list[Any] | None = None) -> Iterator[str]:
        """The scope of one of this object's functions, in the graph of the parameters."""
        with tf.name_scope(self.name), tf.name_scope(name, values=[*(values or ()), *self._graph_parents]) as scope:
            yield scope
