"""``tf.keras.wrappers.scikit_learn``: a model with the methods that scikit-learn expects of its estimators."""
from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.keras.models import Sequential
from penstock.keras.utils.arrays import to_categorical


def _takes(function: Callable[..., Any]) -> set[str]:
    return {name for name in inspect.signature(function).parameters if name != "self"}


class BaseWrapper:
    """``build_fn`` makes a compiled model; ``sk_params`` are arguments of it, and of ``fit``, ``predict`` and ``score``."""

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)

    def _builder(self) -> Callable[..., Any]:
        return self.__call__ if self.build_fn is None else self.build_fn  # type: ignore[operator]

    def check_params(self, params: dict[str, Any]) -> None:
        """ValueError if nothing takes one of the arguments."""
        methods = [getattr(Sequential, name) for name in ("fit", "predict", "predict_classes", "evaluate")]
        legal = set().union(*map(_takes, [*methods, self._builder()]))
        for name in params:
            if name not in legal and name != "nb_epoch":
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """The arguments, and ``build_fn``."""
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> BaseWrapper:
        """Sets arguments."""
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn from 1.6 on asks its estimators for. As TensorFlow's wrappers do, these tell no type: folds are not stratified."""
        from sklearn.utils import Tags, TargetTags  # who calls this has it
        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a trained model."""
        return hasattr(self, "model")

    def filter_sk_params(self, fn: Callable[..., Any], override: dict[str, Any] | None = None) -> dict[str, Any]:
        """Those arguments that a function takes."""
        return {**{name: value for name, value in self.sk_params.items() if name in _takes(fn)}, **(override or {})}

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Makes a model and trains it; returns its History."""
        self.model = self._builder()(**self.filter_sk_params(self._builder()))
        loss = self.model.loss
        name = loss if isinstance(loss, str) else getattr(loss, "__name__", getattr(loss, "name", ""))
        if name == "categorical_crossentropy" and np.ndim(y) != 2:
            y = to_categorical(y)
        return self.model.fit(x, y, **{**copy.deepcopy(self.filter_sk_params(Sequential.fit)), **kwargs})


class KerasClassifier(BaseWrapper):
    """``tf.keras.wrappers.scikit_learn.KerasClassifier``."""

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Makes a model and trains it on classes of any kind; returns its History."""
        y = np.array(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"Invalid shape for y: {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The classes of samples."""
        probabilities = self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs))
        classes = probabilities.argmax(axis=-1) if probabilities.shape[-1] > 1 else (probabilities > 0.5).astype("int32")
        return self.classes_[classes]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """The probabilities of the classes."""
        probabilities = self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs))
        return np.hstack([1 - probabilities, probabilities]) if probabilities.shape[1] == 1 else probabilities

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The accuracy."""
        y = np.searchsorted(self.classes_, y)
        loss = self.model.loss
        if (loss if isinstance(loss, str) else getattr(loss, "__name__", "")) == "categorical_crossentropy" and np.ndim(y) != 2:
            y = to_categorical(y)
        results = self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs))
        for name, value in zip(self.model.metrics_names, results if isinstance(results, list) else [results]):
            if name in ("accuracy", "acc"):
                return value
        raise ValueError("The model is not configured to compute accuracy. You should pass `metrics=[\"accuracy\"]` to the `model.compile()` method.")


class KerasRegressor(BaseWrapper):
    """``tf.keras.wrappers.scikit_learn.KerasRegressor``."""

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The predictions."""
        return np.squeeze(self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs)))

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The loss, negative: larger is better."""
        results = self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs))
        return -(results[0] if isinstance(results, list) else results)
