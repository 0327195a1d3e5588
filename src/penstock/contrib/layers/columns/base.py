"""What the columns of ``tf.contrib.layers`` have in common, and what models ask of them.

They are columns of ``tf.feature_column`` too, so that its functions and estimators take both kinds. Columns are ordered and told apart by their
``key``: TensorFlow's text of the column as a tuple. Names and order of fields are therefore TensorFlow's, and so are those of the classes, but for
an underscore in front.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.contrib.layers.shaping import inner_flatten
from penstock.estimator.columns.base import FeatureCache, FeatureColumn
from penstock.graph.composite import SparseTensor
from penstock.graph.graph import default_graph
from penstock.ops.array.pack import concat
from penstock.ops.sparse.sparse_functions import sparse_reshape
from penstock.platform import logging
from penstock.train.restore_init import init_from_checkpoint
from penstock.variables.partitioned import PartitionedVariable


class LinearInput(NamedTuple):
    """What a linear model needs of a column with ids."""

    ids: SparseTensor
    weights: SparseTensor | None
    combiner: str


class LayersColumn(FeatureColumn):
    """A column of ``tf.contrib.layers``."""

    keyless: tuple[str, ...] = ()  # fields that tell no columns apart

    @property
    def key(self) -> str:
        """The text that the column is ordered by."""
        if not self.keyless:
            return repr(self)
        fields = ", ".join(f"{field}={getattr(self, field)}" for field in self._fields if field not in self.keyless)  # type: ignore[attr-defined]
        return f"_{type(self).__name__}({fields})"

    def __repr__(self) -> str:
        """TensorFlow's text of the column."""
        fields = ", ".join(f"{field}={getattr(self, field)!r}" for field in self._fields)  # type: ignore[attr-defined]
        return f"_{type(self).__name__}({fields})"

    @property
    def config(self) -> dict[str, Any]:
        """What it needs of a ``tf.train.Example``."""
        return self.parse_example_spec

    @property
    def checkpoint(self) -> tuple[str, str] | None:
        """(checkpoint, name in it) that its weights begin with."""
        path, name = getattr(self, "ckpt_to_load_from", None), getattr(self, "tensor_name_in_ckpt", None)
        return None if path is None or name is None else (path, name)

    def dnn_input(self, cache: FeatureCache, weight_collections: Any, trainable: bool, output_rank: int = 2) -> Any:
        """Its numbers as the input of a network. ValueError if it has none."""
        raise ValueError(f"{type(self).__name__} is not supported in DNN. Please use embedding_column or one_hot_column. column: {self}")

    def linear_input(self, cache: FeatureCache) -> LinearInput | None:
        """Its ids for a linear model; None if it has numbers instead."""
        return None

    def linear_numbers(self, cache: FeatureCache) -> Any:
        """Its numbers for a linear model."""
        raise NotImplementedError(f"No dense tensor representation for column {self}.")


class DenseLayersColumn(LayersColumn):
    """A column of numbers: what a network gets of it is also its dense tensor in ``tf.feature_column``."""

    def get_dense_tensor(self, cache: FeatureCache, weight_collections: Any = None, trainable: bool = True) -> Any:
        """Its numbers for a batch: [batch, numbers]."""
        return self.dnn_input(cache, weight_collections, trainable)


class NumbersColumn(DenseLayersColumn):
    """A column of a feature's own numbers. A class with the fields ``column_name`` and ``normalizer`` derives from it."""

    keyless = ("normalizer",)

    @property
    def name(self) -> str:
        """The name of its feature."""
        return self.column_name  # type: ignore[attr-defined]

    @property
    def normalizer_fn(self) -> Callable[[Any], Any] | None:
        """What is done to its numbers first."""
        return self.normalizer  # type: ignore[attr-defined]


def with_rank(tensor: Any, rank: int, column_name: str) -> Any:
    """Numbers, ids or their weights with as many axes as a model wants: the last ones become one, or one is added. What has them stays."""
    ndims = tensor.dense_shape.shape.as_list()[0] if isinstance(tensor, SparseTensor) else tensor.shape.ndims
    if ndims is not None and rank > ndims + 1:
        raise ValueError(f"Error while processing column {column_name}. Rank of input Tensor ({ndims}) should be the same as output_rank ({rank}). "
                         "For example, sequence data should typically be 3 dimensional (rank 3) while non-sequence data is typically 2 dimensional "
                         "(rank 2).")
    if ndims == rank - 1:
        logging.warning("Rank of input Tensor (%d) should be the same as output_rank (%d) for column. Will attempt to expand dims. It is highly "
                        "recommended that you resize your input, as this behavior may change.", ndims, rank)
        if isinstance(tensor, SparseTensor):
            return sparse_reshape(tensor, concat((tensor.dense_shape, [1]), 0))
        return tensor[..., None]
    if ndims != rank:
        return inner_flatten(tensor, rank)
    if isinstance(tensor, SparseTensor):
        default_graph().imply(16)  # TensorFlow reshapes it all the same
    return tensor


def parts(variable: Any) -> list[Any]:
    """The parts of a variable."""
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def restore_from_checkpoint(column: LayersColumn, variables: list[Any]) -> None:
    """Initializes the weights of a column from its checkpoint, if it has one."""
    if column.checkpoint is not None:
        path, name = column.checkpoint
        init_from_checkpoint(path, {name: variables[0] if len(variables) == 1 else variables})


def check_checkpoint(path: Any, name: Any) -> None:
    """ValueError if only one of both is given."""
    if (path is None) != (name is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
