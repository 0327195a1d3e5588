"""What a feature column is, and the features of a batch with what columns make of them.

A column is a description: comparable, hashable, without a graph. What it computes, it computes of a ``FeatureCache``, once per batch, however many
columns are built upon it. A *dense* column gives a tensor [batch, ...]; a *categorical* one gives ids, as a sparse tensor, perhaps with weights.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.columns.configs import Configured
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor, convert_to_tensor_or_sparse_tensor
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather_nd
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import expand_dims, rank, shape
from penstock.ops.flow.control_flow import cond
from penstock.ops.math.compare import equal, not_equal
from penstock.ops.sparse.sparse_functions import sparse_reshape
from penstock.ragged.conversion import to_sparse
from penstock.ragged.tensor import RaggedTensor


class FeatureCache:
    """The features of a batch, and what columns have made of them so far; what stands behind a column among the features is such a thing."""

    def __init__(self, features: dict[Any, Any]) -> None:
        self._features = dict(features)
        self._made: dict[Any, Any] = {key: value for key, value in features.items() if isinstance(key, FeatureColumn)}
        self._asking: list[str] = []  # the columns that are being transformed, each asked for by the one before
        self.tables: dict[Any, Any] = {}  # of embeddings, by their columns, where they were made before anything else

    def get(self, key: Any) -> Any:
        """A feature by its name, or what a column transforms its features into. TensorFlow's rule: a vector is a column of a matrix."""
        if key in self._made:
            return self._made[key]
        if isinstance(key, str):
            result = self._raw(key)
        elif isinstance(key, FeatureColumn):
            self._asking.append(key.name)
            result = key.transform_feature(self)
            self._asking.pop()
            if result is None:
                raise ValueError(f"Column {key.name} is not supported.")
        else:
            raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}')
        self._made[key] = result
        return result

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` returns; it is called once for a key."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def missing_feature(self, key: str) -> Exception:
        """The error for a feature that is not there."""
        needed = f" The column {self._asking[0]!r} needs it;" if self._asking else ""
        return ValueError(f"Feature {key} is not in features dictionary.{needed} features are {sorted(map(str, self._features))}.")

    def _raw(self, key: str) -> Any:
        if key not in self._features:
            raise self.missing_feature(key)
        given = self._features[key]
        tensor = to_sparse(given) if isinstance(given, RaggedTensor) else convert_to_tensor_or_sparse_tensor(given)
        ndims = tensor.shape.ndims if not isinstance(tensor, SparseTensor) else (tensor.dense_shape.shape.extents or (None,))[0]
        if ndims is None:
            if isinstance(tensor, SparseTensor):
                return tensor
            return cond(equal(1, rank(tensor)), lambda: expand_dims(tensor, -1), lambda: tensor)
        if ndims == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor}")
        if ndims > 1:
            return tensor
        return sparse_reshape(tensor, [shape(tensor)[0], 1]) if isinstance(tensor, SparseTensor) else expand_dims(tensor, -1)


# The members of columns that began with an underscore up to TensorFlow 1.12, each with its name of today.
_OLD_SPELLINGS = {"_parse_example_spec": "parse_example_spec", "_transform_feature": "transform_feature", "_var_scope_name": "var_scope_name",
                  "_variable_shape": "variable_shape", "_get_dense_tensor": "get_dense_tensor", "_num_buckets": "num_buckets",
                  "_get_sequence_dense_tensor": "get_sequence_dense_tensor"}


class FeatureColumn(Configured):
    """A description of how to use features. The interface of all columns.

    Programs define columns of their own, and call those of the library, by the names of today (``transform_feature``) or by those of before
    TensorFlow 1.13 (``_transform_feature``). A class that has one of the two gets the other.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members = dict(vars(cls))
        for old, new in _OLD_SPELLINGS.items():
            for given, other in ((old, new), (new, old)):
                if given in members and other not in members:
                    setattr(cls, other, members[given])

    @property
    def name(self) -> str:
        """The name of its variables and operations; columns are ordered by it."""
        raise NotImplementedError(f"{type(self).__name__}.name")

    @property
    def var_scope_name(self) -> str:
        """The scope of its variables."""
        return self.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What it needs of a ``tf.train.Example``."""
        raise NotImplementedError(f"{type(self).__name__}.parse_example_spec")

    def transform_feature(self, cache: FeatureCache) -> Any:
        """What it makes of the features before it is used."""
        raise NotImplementedError(f"{type(self).__name__}.transform_feature")


    _parse_example_spec, _transform_feature, _var_scope_name = parse_example_spec, transform_feature, var_scope_name


class DenseColumn(FeatureColumn):
    """A column that gives numbers."""

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of its numbers for one example."""
        raise NotImplementedError(f"{type(self).__name__}.variable_shape")

    def get_dense_tensor(self, cache: FeatureCache, weight_collections: Any = None, trainable: bool = True) -> Any:
        """Its numbers for a batch: [batch, ...]."""
        raise NotImplementedError(f"{type(self).__name__}.get_dense_tensor")


class IdsAndWeights(NamedTuple):
    """What a categorical column gives: ids as a sparse tensor, and their weights, if they have any."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None = None


class CategoricalColumn(FeatureColumn):
    """A column that gives ids below ``num_buckets``; -1 stands for none."""

    IdWeightPair = IdsAndWeights

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        given = vars(cls).get("_get_sparse_tensors")  # it took the collections of variables, too, of which it has none
        if given is not None and "get_sparse_tensors" not in vars(cls):
            cls.get_sparse_tensors = given  # type: ignore[method-assign]

    @property
    def num_buckets(self) -> int:
        """The number of possible ids."""
        raise NotImplementedError(f"{type(self).__name__}.num_buckets")

    def get_sparse_tensors(self, cache: FeatureCache) -> IdsAndWeights:
        """Its ids for a batch."""
        return IdsAndWeights(cache.get(self))

    def _get_sparse_tensors(self, inputs: FeatureCache, weight_collections: Any = None, trainable: Any = None) -> IdsAndWeights:
        return self.get_sparse_tensors(inputs)


def sparse_input(tensor: Any, ignore_value: Any = None) -> SparseTensor:
    """A feature as a sparse tensor. Of a dense one, empty strings and -1 (or ``ignore_value``) are left out."""
    if isinstance(tensor, SparseTensor):
        return tensor
    with name_scope(None, "to_sparse_input", [tensor]):
        tensor = to_tensor(tensor)
        if ignore_value is None:
            ignore_value = "" if tensor.dtype == dtypes.string else -1
        indices = where(not_equal(tensor, cast(ignore_value, tensor.dtype, name="ignore_value")), name="indices")
        return SparseTensor(indices, gather_nd(tensor, indices, name="values"), shape(tensor, out_type=dtypes.int64, name="dense_shape"))


def check_key(key: Any) -> None:
    """ValueError unless the key is text."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")
