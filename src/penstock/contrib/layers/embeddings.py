"""Embeddings of ``tf.contrib.layers``: lookups of unique ids, lookups that tolerate bad ids, hashed lookups into one vector of parameters."""
from __future__ import annotations

from typing import Any

from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.sparse_features import dense_to_sparse_tensor, sparse_feature_cross
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import tile
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, rank, reshape, shape
from penstock.ops.array.unique import unique
from penstock.ops.constant import constant
from penstock.ops.flow.misc import Assert
from penstock.ops.math.compare import equal
from penstock.ops.math.elementwise import multiply, subtract
from penstock.ops.math.reduce import reduce_all, reduce_mean, reduce_prod
from penstock.ops.math.segment import unsorted_segment_sum
from penstock.ops.math.segment_sparse import sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum
from penstock.ops.sparse import embedding
from penstock.ops.sparse.sparse_functions import sparse_fill_empty_rows, sparse_tensor_to_dense
from penstock.platform import logging
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.scope import variable_scope

_COMBINE = {"sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n}


def _combiner(combiner: str | None) -> str:
    if combiner is None:
        logging.warning('The default value of combiner will change from "mean" to "sqrtn" after 2016/11/01.')
    return combiner or "mean"


def _parts(params: Any) -> list[Any]:
    return list(params) if isinstance(params, (list, PartitionedVariable)) else [params]


def safe_embedding_lookup_sparse(embedding_weights: Any, sparse_ids: SparseTensor, sparse_weights: Any = None, combiner: str | None = None,
                                 default_id: Any = None, name: str | None = None, partition_strategy: str = "div", max_norm: Any = None) -> Any:
    """``tf.nn.safe_embedding_lookup_sparse``: ids below 0 are left out, rows without ids get a default."""
    combiner = _combiner(combiner)
    if embedding_weights is None or (isinstance(embedding_weights, list) and not embedding_weights):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    given = {dtypes.as_dtype(part.dtype).base_dtype.name for part in _parts(embedding_weights) if hasattr(part, "dtype")}
    if len(given) > 1:
        raise ValueError(f"The parts of embedding_weights must have one type, not {sorted(given)}.")
    return embedding.safe_embedding_lookup_sparse(_parts(embedding_weights), sparse_ids, sparse_weights, combiner=combiner, default_id=default_id,
                                                  name=name, partition_strategy=partition_strategy, max_norm=max_norm)


def embedding_lookup_unique(params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None) -> Any:
    """``tf.nn.embedding_lookup`` that looks each id up once."""
    with name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = to_tensor(ids)
        extents = shape(ids)
        flat = reshape(ids, reduce_prod(extents, keepdims=True))
        distinct, places = unique(flat)
        rows = embedding.embedding_lookup(params, distinct, partition_strategy)
        result = reshape(gather(rows, places), concat([extents, shape(rows)[1:]], 0))
        result.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return result


def embedding_lookup_sparse_with_distributed_aggregation(params: Any, sp_ids: Any, sp_weights: Any, partition_strategy: str = "mod",
                                                         name: str | None = None, combiner: str | None = None, max_norm: Any = None) -> Any:
    """``tf.nn.embedding_lookup_sparse``; each part of the parameters looks up its own ids."""
    return embedding.embedding_lookup_sparse(_parts(params), sp_ids, sp_weights, partition_strategy=partition_strategy, name=name,
                                             combiner=_combiner(combiner), max_norm=max_norm)


# --- hashed lookups --------------------------------------------------------------------------------------------------

def scattered_embedding_lookup(params: Any, values: Any, dimension: int | None, name: str | None = None, hash_key: int | None = None) -> Any:
    """For each value ``dimension`` parameters, chosen by the hash of the value and of the place in the result."""
    if dimension is None:
        raise ValueError("You must specify dimension.")
    return sampled_scattered_embedding_lookup(params, values, dimension=dimension, hash_key=hash_key, name=name)


def sampled_scattered_embedding_lookup(params: Any, values: Any, dimension: int | None = None, sampled_candidates: Any = None,
                                       hash_key: int | None = None, name: str | None = None) -> Any:
    """The same, for some places of the result only, if ``sampled_candidates`` names them."""
    params = _parts(params)
    with name_scope(name, "scattered_embedding_lookup", [*params, dimension, values]):
        extents = shape(values)
        values = reshape(values, [-1, 1])
        if sampled_candidates is None:
            if dimension is None:
                raise ValueError("You must specify either dimension or sampled_candidates.")
            if dimension <= 0:
                raise ValueError(f"Dimension must be >0. Given is {dimension}")
            places = tile(expand_dims(range_op(0, dimension), 0), shape(values))
        else:
            places, dimension = _check_candidates(sampled_candidates, extents)
        number = _check_sizes(params)
        ids = sparse_feature_cross([places, values], hashed_output=True, num_buckets=number, hash_key=hash_key)
        result = embedding.embedding_lookup(params, sparse_tensor_to_dense(ids), partition_strategy="div")
        return reshape(result, concat([extents, [dimension]], 0))


def _check_candidates(candidates: Any, extents: Any) -> tuple[Any, Any]:
    extents_of_candidates = shape(candidates)
    dimension = extents_of_candidates[subtract(rank(candidates), 1)]
    expected = concat([extents, reshape(dimension, shape=[1])], 0)
    check = Assert(reduce_all(equal(extents_of_candidates, expected)),
                   ["The shape of sampled_candidates: ", extents_of_candidates, " does not match the shape of values: ", extents])
    with control_dependencies([check]):
        return reshape(candidates, [-1, dimension]), dimension


def _check_sizes(params: list[Any]) -> int:
    """How many parameters there are. Raises ValueError if they are not spread evenly."""
    sizes = []
    for part in params:
        part.shape.assert_has_rank(1)
        part.shape.assert_is_fully_defined()
        sizes.append(part.shape.as_list()[0])
    total = sum(sizes)
    for index, size in enumerate(sizes):
        expected = (total - index - 1) // len(sizes) + 1
        if size != expected:
            raise ValueError(f"Tensor {index} in params has size {size}, expected {expected}.")
    return total


def scattered_embedding_lookup_sparse(params: Any, sparse_values: Any, dimension: int, combiner: str | None = None, default_value: Any = None,
                                      name: str | None = None, hash_key: int | None = None) -> Any:
    """``scattered_embedding_lookup`` of the values of each row, combined."""
    combiner, params = _combiner(combiner), _parts(params)
    if not isinstance(sparse_values, SparseTensor):
        raise TypeError("sparse_values must be SparseTensor")
    with name_scope(name, "scattered_embedding_lookup_sparse", [*params, sparse_values.values]) as scope:
        if default_value is None:  # numbers that TensorFlow's programs are unlikely to use
            default_value = "6ZxWzWOHxZ" if sparse_values.dtype == dtypes.string else 1288896567
        sparse_values, _ = sparse_fill_empty_rows(sparse_values, default_value)
        segments = cast(sparse_values.indices[:, 0], dtypes.int32)
        values, places = unique(sparse_values.values)
        rows = scattered_embedding_lookup(params, values, dimension, hash_key=hash_key)
        if combiner not in _COMBINE:
            raise ValueError("Combiner must be one of 'mean', 'sqrtn' or 'sum'.")
        return _COMBINE[combiner](rows, places, segments, name=scope)


def sampled_scattered_embedding_lookup_sparse(params: Any, sp_values: Any, dimension: int | None = None, sampled_candidates: Any = None,
                                              hash_key: int | None = None, with_sign_hash: bool = False, name: str | None = None) -> Any:
    """``sampled_scattered_embedding_lookup`` of the values of each row, summed; hashed signs on demand."""
    if not isinstance(sp_values, SparseTensor):
        raise TypeError("sp_values must be SparseTensor")
    with name_scope(name, "sampled_scattered_embedding_lookup_sparse", [sp_values.values, params]) as scope:
        segments = sp_values.indices[:, 0]
        if sampled_candidates is not None:
            sampled_candidates = gather(sampled_candidates, segments)
        options = {"dimension": dimension, "sampled_candidates": sampled_candidates, "hash_key": hash_key}
        rows = sampled_scattered_embedding_lookup(params, sp_values.values, name="values_lookup", **options)
        if with_sign_hash:
            signs = sampled_scattered_embedding_lookup(constant([-1.0, 1.0]), sp_values.values, name="signs_lookup", **options)
            rows = multiply(signs, rows, name="signs_hash")
        return unsorted_segment_sum(rows, cast(segments, dtypes.int32), num_segments=cast(sp_values.dense_shape[0], dtypes.int32), name=scope)


# --- encoders --------------------------------------------------------------------------------------------------------

def bow_encoder(ids: Any, vocab_size: int, embed_dim: int, sparse_lookup: bool = True, initializer: Any = None, regularizer: Any = None,
                trainable: bool = True, scope: Any = None, reuse: Any = None) -> Any:
    """A bag of words: the mean of the embeddings of a row of ids."""
    if not vocab_size or not embed_dim:
        raise ValueError("Must specify vocab size and embedding dimension")
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable("embeddings", shape=[vocab_size, embed_dim], initializer=initializer, regularizer=regularizer,
                                    trainable=trainable)
        if sparse_lookup:
            sparse_ids = ids if isinstance(ids, SparseTensor) else dense_to_sparse_tensor(ids)
            return safe_embedding_lookup_sparse([embeddings], sparse_ids, combiner="mean", default_id=0)
        if isinstance(ids, SparseTensor):
            raise TypeError("ids are expected to be dense Tensor, got: %s", ids)
        return reduce_mean(embedding.embedding_lookup(embeddings, ids), axis=1)


def embed_sequence(ids: Any, vocab_size: int | None = None, embed_dim: int | None = None, unique: bool = False, initializer: Any = None,
                   regularizer: Any = None, trainable: bool = True, scope: Any = None, reuse: Any = None) -> Any:
    """The embeddings of a sequence of ids."""
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(f"Must specify vocab size and embedding dimension when not reusing. Got vocab_size={vocab_size} and embed_dim={embed_dim}")
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        extents = None if (reuse and vocab_size is None) or embed_dim is None else [vocab_size, embed_dim]
        embeddings = model_variable("embeddings", shape=extents, initializer=initializer, regularizer=regularizer, trainable=trainable)
        return embedding_lookup_unique(embeddings, ids) if unique else embedding.embedding_lookup(embeddings, ids)
