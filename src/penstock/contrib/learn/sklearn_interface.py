"""What scikit-learn asks of an estimator: its parameters, a fresh copy, its tags. scikit-learn itself is not needed."""
from __future__ import annotations

import inspect
from typing import Any

import numpy as np


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before it was trained."""


class SklearnInterface:
    """An estimator that scikit-learn can copy. Its parameters are the arguments that it was made with."""

    _arguments: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Keeps the arguments."""
        self = super().__new__(cls)
        bound = inspect.signature(cls.__init__).bind(self, *args, **kwargs)
        bound.apply_defaults()
        self._arguments = dict(list(bound.arguments.items())[1:])
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments that it was made with; with ``deep``, also those of arguments that have parameters: ``name__parameter``."""
        params = dict(self._arguments)
        for name, value in list(params.items()) if deep else ():
            if hasattr(value, "get_params") and not inspect.isclass(value):
                params.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Any:
        """Makes it anew with other arguments: it is not trained any more."""
        changed = dict(self._arguments)
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in changed:
                raise ValueError(f"Invalid parameter {outer} for estimator {type(self).__name__}. Check the list of available parameters with "
                                 "`estimator.get_params().keys()`.")
            if inner:
                changed[outer].set_params(**{inner: value})
            else:
                changed[outer] = value
        self._arguments = changed
        self.__init__(**changed)  # type: ignore[misc]
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in sorted(self._arguments.items()))})"

    def __sklearn_clone__(self) -> Any:
        """An estimator with the same arguments that has not been trained: it has a folder of its own."""
        changed = {name: value.__sklearn_clone__() if isinstance(value, SklearnInterface) else value for name, value in self._arguments.items()}
        if "model_dir" in changed:
            changed["model_dir"] = None
            if changed.get("config") is not None:
                changed["config"] = changed["config"].replace(model_dir=None)
        return type(self)(**changed)

    def __sklearn_tags__(self) -> Any:
        """The tags of scikit-learn: nothing special."""
        from sklearn.utils import Tags, TargetTags  # only scikit-learn asks for them, so it is there
        return Tags(estimator_type=None, target_tags=TargetTags(required=True))


# --- what TensorFlow had for programs without scikit-learn -----------------------------------------------------------

def accuracy_score(y_true: Any, y_pred: Any) -> float:
    """The share of predictions that are right."""
    return float(np.mean(np.equal(y_true, y_pred)))


def mean_squared_error(y_true: Any, y_pred: Any) -> float:
    """The mean of the squares of the errors."""
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    if y_true.shape != y_pred.shape:
        y_true, y_pred = np.squeeze(y_true), np.squeeze(y_pred)
    return float(np.mean(np.square(y_true - y_pred)))


def train_test_split(*args: Any, test_size: float = 0.25, train_size: float | None = None, random_state: int = 42) -> list[Any]:
    """Each of the arrays in two parts: rows chosen at random for training, the others for tests."""
    train = 1 - test_size if train_size is None else train_size
    order = np.random.RandomState(random_state).permutation(args[0].shape[0])
    cut = int(train * len(order))
    return [part for array in args for part in (array[order[:cut]], array[order[cut:]])]
