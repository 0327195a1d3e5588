"""What users pass as data, as lists of arrays in the order of a model's placeholders; with Keras's messages where it does not fit."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.graph.node import Tensor
from penstock.keras import losses
from penstock.keras.engine.endpoints import Endpoint, computes


def _values(data: Any) -> Any:
    """The array of a pandas DataFrame or Series; anything else itself."""
    return data.values if type(data).__name__ in ("DataFrame", "Series") else data


def _array(data: Any, shape: Any) -> Any:
    """An array; a vector gets an axis of extent 1, unless vectors are expected."""
    if data is None or isinstance(data, Tensor) or hasattr(data, "dense_shape") or hasattr(data, "tocoo"):
        return data
    data = data if hasattr(data, "shape") and hasattr(data, "dtype") else np.asarray(data)
    return np.expand_dims(data, 1) if data.ndim == 1 and (shape is None or len(shape) != 1) else data


def arrays(data: Any, names: Sequence[str], shapes: Sequence[Any], what: str, check_batch_axis: bool = False) -> list[Any]:
    """The arrays for these names. ``what`` (input or target) is for messages. As in TensorFlow, arrays beyond the last of ``shapes`` are left out."""
    if not names:
        if data is not None and not isinstance(data, Mapping) and len(data):
            raise ValueError(f"Error when checking model {what}: expected no data, but got:", data)
        return []
    if data is None:
        return [None] * len(names)
    given = _arrays_in_order(data, names, what)
    arrays = [_array(each, shape) for each, shape in (zip(given, shapes) if shapes else zip(given, [None] * len(given)))]
    if len(arrays) != len(names):
        raise ValueError(f"Error when checking model {what}: the list of Numpy arrays that you are passing to your model is not the size the model "
                         f"expected. Expected to see {len(names)} array(s), but instead got the following list of {len(arrays)} arrays: "
                         f"{str(arrays)[:200]}...")
    for array, name, shape in zip(arrays, names, shapes):
        if shape is not None and array is not None:
            _check_shape(tuple(array.shape.as_list() if hasattr(array.shape, "as_list") else array.shape), name, tuple(shape), what, check_batch_axis)
    return arrays


def _arrays_in_order(data: Any, names: Sequence[str], what: str) -> list[Any]:
    if isinstance(data, Mapping):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {list(names)}')
        return [_values(data[name]) for name in names]
    if not isinstance(data, (list, tuple)):
        return [_values(data)]
    if data and len(names) == 1 and isinstance(data[0], (float, int)):
        return [np.asarray(data)]
    if data and isinstance(data[0], (list, tuple)):
        return [np.asarray(data)] if len(names) == 1 and len(data) != 1 else [np.asarray(each) for each in data]
    return [_values(each) for each in data]


def _check_shape(shape: tuple[Any, ...], name: str, wanted: tuple[Any, ...], what: str, check_batch_axis: bool) -> None:
    if len(shape) != len(wanted):
        raise ValueError(f"Error when checking {what}: expected {name} to have {len(wanted)} dimensions, but got array with shape {shape}")
    if not check_batch_axis:
        shape, wanted = shape[1:], wanted[1:]
    if any(extent not in (full, None) and full is not None for extent, full in zip(shape, wanted)):
        raise ValueError(f"Error when checking {what}: expected {name} to have shape {wanted} but got array with shape {shape}")


# --- weights ---------------------------------------------------------------------------------------------------------


def weights_per_output(given: Any, names: Sequence[str], what: str) -> list[Any]:
    """``sample_weight`` or ``class_weight`` for each output."""
    if given is None or (isinstance(given, list) and not given):
        return [None] * len(names)
    if len(names) == 1:
        if isinstance(given, list) and len(given) == 1:
            return given
        return [given[names[0]]] if isinstance(given, Mapping) and names[0] in given else [given]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(f"Provided `{what}` was a list of {len(given)} elements, but the model has {len(names)} outputs. You should provide "
                             f"one `{what}`array per model output.")
        return list(given)
    if isinstance(given, Mapping):
        unknown = sorted(str(key) for key in given if key not in names)
        if unknown:
            raise ValueError(f"Unknown entries in {what} dictionary: {unknown}. Only expected following keys: {list(names)}")
        return [given.get(name) for name in names]
    raise TypeError(f"The model has multiple outputs, so `{what}` should be either a list or a dict. Provided `{what}` type not understood: {given}")


def sample_weights(y: Any, sample_weight: Any, class_weight: Any, mode: str | None) -> Any:
    """The weight of each sample (or, in the mode "temporal", of each step); None if all are equal."""
    sample_weight = sample_weight[0] if isinstance(sample_weight, tuple) else sample_weight
    if sample_weight is not None:
        sample_weight = np.asarray(_values(sample_weight))
        if y is None:  # a target that is not fed: there is nothing to compare with
            return sample_weight
        _check_weights(y, sample_weight, mode)
    _check_has_steps(y, mode)
    if not isinstance(class_weight, Mapping):
        return sample_weight
    by_class = _class_weights(y, class_weight)
    return by_class if sample_weight is None else by_class * sample_weight


def _check_weights(y: Any, weights: np.ndarray, mode: str | None) -> None:
    if mode not in (None, "samplewise", "temporal"):
        raise ValueError(f'"sample_weight_mode should be None or "temporal". Found: {mode}')
    _check_has_steps(y, mode)
    if mode == "temporal" and weights.ndim != 2:
        raise ValueError(f"Found a sample_weight array with shape {weights.shape}. In order to use timestep-wise sample weighting, you should pass "
                         "a 2D sample_weight array.")
    if mode != "temporal" and weights.ndim != 1:
        raise ValueError(f"Found a sample_weight array with shape {weights.shape}. In order to use timestep-wise sample weights, you should specify "
                         'sample_weight_mode="temporal" in compile(). If you just mean to use sample-wise weights, make sure your sample_weight '
                         "array is 1D.")
    if tuple(y.shape[:weights.ndim]) != weights.shape:
        raise ValueError(f"Found a sample_weight array with shape {weights.shape} for an input with shape {y.shape}. sample_weight cannot be "
                         "broadcast.")


def _check_has_steps(y: Any, mode: str | None) -> None:
    """ValueError for weights of steps where there are none, also if no weights were given."""
    if mode == "temporal" and y is not None and len(y.shape) < 3:
        raise ValueError(f"Found a sample_weight array for an input with shape {y.shape}. Timestep-wise sample weighting (use of "
                         'sample_weight_mode="temporal") is restricted to outputs that are at least 3D, i.e. that have a time dimension.')


def _class_weights(y: Any, class_weight: Mapping[Any, float]) -> np.ndarray:
    if len(y.shape) > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    classes = np.argmax(y, axis=1) if y.ndim == 2 and y.shape[1] > 1 else np.reshape(y, y.shape[0])
    missing = set(classes.tolist()) - set(class_weight)
    if missing:
        raise ValueError(f"`class_weight` must contain all classes in the data. The classes {missing} exist in the data but not in `class_weight`.")
    return np.asarray([class_weight[each] for each in classes.tolist()])


# --- checks ----------------------------------------------------------------------------------------------------------


def check_lengths(inputs: Sequence[Any], targets: Sequence[Any], weights: Sequence[Any] | None = None) -> None:
    """ValueError unless all arrays have the same number of samples."""
    def lengths(data: Sequence[Any] | None) -> set[int]:
        return {array.shape[0] for array in (() if data is None else data) if isinstance(array, np.ndarray)}

    for data, what in ((inputs, "input arrays (x)"), (targets, "target arrays (y)"), (weights, "sample_weight arrays")):
        if len(lengths(data)) > 1:
            raise ValueError(f"All {what} should have the same number of samples. Got array shapes: {[array.shape for array in data or ()]}")
    x, y, w = lengths(inputs), lengths(targets), lengths(weights)
    if x and y and x != y:
        raise ValueError(f"Input arrays should have the same number of samples as target arrays. Found {x.pop()} input samples and {y.pop()} target "
                         "samples.")
    if y and w and y != w:
        raise ValueError(f"Sample_weight arrays should have the same number of samples as target arrays. Got {y.pop()} input samples and {w.pop()} "
                         "target samples.")


def check_losses(targets: Sequence[Any], endpoints: Sequence[Endpoint]) -> None:
    """ValueError where targets cannot be right for a loss."""
    strict = (losses.mean_squared_error, losses.binary_crossentropy, losses.categorical_crossentropy)
    for y, endpoint in zip(targets, endpoints):
        if y is None or isinstance(y, Tensor) or endpoint.shape is None:
            continue
        name = getattr(getattr(endpoint.loss, "fn", endpoint.loss), "__name__", "")
        if computes(endpoint.loss, losses.categorical_crossentropy) and y.shape[-1] == 1:
            raise ValueError(f"You are passing a target array of shape {y.shape} while using as loss `categorical_crossentropy`. "
                             "`categorical_crossentropy` expects targets to be binary matrices (1s and 0s) of shape (samples, classes). If your "
                             "targets are integer classes, you can convert them to the expected format via:\n```\nfrom keras.utils import "
                             "to_categorical\ny_binary = to_categorical(y_int)\n```\n\nAlternatively, you can use the loss function "
                             "`sparse_categorical_crossentropy` instead, which does expect integer targets.")
        if any(computes(endpoint.loss, function) for function in strict):
            for extent, full in zip(y.shape[1:], endpoint.shape[1:]):
                if full is not None and extent != full:
                    raise ValueError(f"A target array with shape {y.shape} was passed for an output of shape {endpoint.shape} while using as loss "
                                     f"`{name}`. This loss expects targets to have the same shape as the output.")
