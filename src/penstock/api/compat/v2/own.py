"""What ``tf.compat.v2`` has instead of a name of ``tf``, and what it names otherwise: {path in v2: ``module:name``}."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import raw_ops
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float32
from penstock.graph.scopes import name_scope
from penstock.keras.layers import recurrent
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import squeeze
from penstock.ops.image.image import resize_images
from penstock.ops.sparse.sparse_functions import sparse_reduce_max, sparse_reduce_max_sparse, sparse_reduce_sum, sparse_reduce_sum_sparse
from penstock.variables import initializers as plain

_RESIZES = {"bilinear": "ResizeBilinear", "nearest": "ResizeNearestNeighbor", "bicubic": "ResizeBicubic"}


def resize(images: Any, size: Any, method: str = "bilinear", preserve_aspect_ratio: bool = False, antialias: bool = False,
           name: str | None = None) -> Any:
    """``tf.image.resize`` of TensorFlow 2, which takes pixels to be at the middle of their squares."""
    if antialias or preserve_aspect_ratio or method not in (*_RESIZES, "area"):
        raise NotImplementedError(f"tf.compat.v2.image.resize: method={method!r}, antialias={antialias}, "
                                  f"preserve_aspect_ratio={preserve_aspect_ratio} is not supported; use 'bilinear', 'nearest', 'bicubic' or 'area', "
                                  "without antialias and preserve_aspect_ratio")
    with name_scope(name, "resize", [images, size]):
        images = to_tensor(images, None, "images")
        batch = images if images.shape.ndims != 3 else images[None]
        if method == "area":
            result = resize_images(batch, size, 3)
        else:
            result = getattr(raw_ops, _RESIZES[method])(batch, to_tensor(size), half_pixel_centers=True)
        result = cast(result, float32) if method != "nearest" else result
        return squeeze(result, [0]) if images.shape.ndims == 3 else result


def _sparse_reduction(name: str, dense: Callable[..., Any], sparse: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(sp_input: SparseTensor, axis: Any = None, keepdims: Any = None, output_is_sparse: bool = False, name: str | None = None) -> Any:
        return (sparse if output_is_sparse else dense)(sp_input, axis=axis, keepdims=keepdims)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"``tf.compat.v2.sparse.{name}``."
    return reduce


reduce_max = _sparse_reduction("reduce_max", sparse_reduce_max, sparse_reduce_max_sparse)
reduce_sum = _sparse_reduction("reduce_sum", sparse_reduce_sum, sparse_reduce_sum_sparse)


# --- initializers: no type of their own, and other defaults ------------------------------------------------------------

class RandomNormal(plain.RandomNormal):
    """``tf.random_normal_initializer`` of TensorFlow 2."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


class RandomUniform(plain.RandomUniform):
    """``tf.random_uniform_initializer`` of TensorFlow 2."""

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        super().__init__(minval, maxval, seed)


class TruncatedNormal(plain.TruncatedNormal):
    """``tf.initializers.TruncatedNormal`` of TensorFlow 2."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


# --- recurrent layers with the gates of cuDNN ---------------------------------------------------------------------------

class LSTM(recurrent.LSTM):
    """``tf.keras.layers.LSTM`` of TensorFlow 2: its gates are sigmoids."""

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", **kwargs: Any) -> None:
        super().__init__(units, activation=activation, recurrent_activation=recurrent_activation, **kwargs)


class LSTMCell(recurrent.LSTMCell):
    """``tf.keras.layers.LSTMCell`` of TensorFlow 2."""

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", **kwargs: Any) -> None:
        super().__init__(units, activation=activation, recurrent_activation=recurrent_activation, **kwargs)


class GRUCell(recurrent.GRUCell):
    """``tf.keras.layers.GRUCell`` of TensorFlow 2."""

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", reset_after: bool = True, **kwargs: Any) -> None:
        super().__init__(units, activation=activation, recurrent_activation=recurrent_activation, reset_after=reset_after, **kwargs)


class GRU(recurrent.GRU):
    """``tf.keras.layers.GRU`` of TensorFlow 2: its gates are sigmoids, and the reset gate comes behind the product."""

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", reset_after: bool = True, **kwargs: Any) -> None:
        super().__init__(units, activation=activation, recurrent_activation=recurrent_activation, reset_after=reset_after, **kwargs)


_HERE, _PLAIN = "penstock.api.compat.v2.own", "penstock.variables.initializers"
_INITIALIZERS = {
    "Constant": f"{_PLAIN}:Constant", "GlorotNormal": f"{_PLAIN}:GlorotNormal", "GlorotUniform": f"{_PLAIN}:GlorotUniform",
    "Identity": f"{_PLAIN}:Identity", "Initializer": f"{_PLAIN}:Initializer", "Ones": f"{_PLAIN}:Ones", "Orthogonal": f"{_PLAIN}:Orthogonal",
    "RandomNormal": f"{_HERE}:RandomNormal", "RandomUniform": f"{_HERE}:RandomUniform", "TruncatedNormal": f"{_HERE}:TruncatedNormal",
    "VarianceScaling": f"{_PLAIN}:VarianceScaling", "Zeros": f"{_PLAIN}:Zeros", "constant": f"{_PLAIN}:Constant",
    "glorot_normal": f"{_PLAIN}:GlorotNormal", "glorot_uniform": f"{_PLAIN}:GlorotUniform", "identity": f"{_PLAIN}:Identity",
    "ones": f"{_PLAIN}:Ones", "orthogonal": f"{_PLAIN}:Orthogonal", "zeros": f"{_PLAIN}:Zeros",
    **{name: f"penstock.api.initializers:{name}" for name in ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform")}}
# Classes that TensorFlow 2 has in forms of its own, and Penstock once: without sessions, collections and the like they are the same.
_ONE_CLASS = (
    "DeviceSpec Variable VariableAggregation autograph.to_code autograph.to_graph data.Dataset data.FixedLengthRecordDataset data.TFRecordDataset "
    "data.TextLineDataset data.experimental.Counter data.experimental.CsvDataset data.experimental.RandomDataset data.experimental.SqlDataset "
    "data.experimental.choose_from_datasets data.experimental.make_batched_features_dataset data.experimental.make_csv_dataset "
    "data.experimental.sample_from_datasets distribute.MirroredStrategy distribute.OneDeviceStrategy distribute.Strategy "
    "distribute.StrategyExtended distribute.experimental.CentralStorageStrategy distribute.experimental.MultiWorkerMirroredStrategy "
    "distribute.experimental.ParameterServerStrategy estimator.BaselineClassifier estimator.BaselineEstimator estimator.BaselineRegressor "
    "estimator.DNNClassifier estimator.DNNEstimator estimator.DNNLinearCombinedClassifier estimator.DNNLinearCombinedEstimator "
    "estimator.DNNLinearCombinedRegressor estimator.DNNRegressor estimator.Estimator estimator.LinearClassifier estimator.LinearEstimator "
    "estimator.LinearRegressor estimator.classifier_parse_example_spec estimator.regressor_parse_example_spec "
    "feature_column.categorical_column_with_vocabulary_file feature_column.make_parse_example_spec image.ResizeMethod "
    "keras.callbacks.TensorBoard keras.estimator.model_to_estimator keras.layers.BatchNormalization keras.layers.DenseFeatures "
    "lookup.StaticHashTable lookup.StaticVocabularyTable saved_model.contains_saved_model test.assert_equal_graph_def train.Checkpoint")


def _same(path: str) -> str:
    return f"penstock.api.root:{path}"


OWN: dict[str, str] = {
    **{path: _same(path) for path in _ONE_CLASS.split()},
    **{f"{space}.{name}": origin for space in ("initializers", "keras.initializers") for name, origin in _INITIALIZERS.items()},
    "constant_initializer": f"{_PLAIN}:Constant", "ones_initializer": f"{_PLAIN}:Ones", "zeros_initializer": f"{_PLAIN}:Zeros",
    "random_normal_initializer": f"{_HERE}:RandomNormal", "random_uniform_initializer": f"{_HERE}:RandomUniform",
    "image.resize": f"{_HERE}:resize", "sparse.reduce_max": f"{_HERE}:reduce_max", "sparse.reduce_sum": f"{_HERE}:reduce_sum",
    "strings.split": "penstock.ragged.strings:split_v2", "keras.layers.LSTM": f"{_HERE}:LSTM", "keras.layers.GRU": f"{_HERE}:GRU",
    "keras.layers.LSTMCell": f"{_HERE}:LSTMCell", "keras.layers.GRUCell": f"{_HERE}:GRUCell",
    "losses.Reduction": "penstock.keras.reduction:Reduction", "keras.losses.Reduction": "penstock.keras.reduction:Reduction",
}
