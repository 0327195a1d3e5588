"""``tf.contrib.factorization.WALSModel``: a sparse matrix as a product of two thin ones, by weighted alternating least squares.

A sweep over the rows solves for the factors of each row, with those of the columns fixed; the next sweep the other way round. Entries that are not
in the matrix count as zeros of a small weight; what they contribute is a Gramian of all factors, which is computed once per sweep.
"""
from __future__ import annotations

import builtins
import numbers
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.ops.linalg.diag import trace
from penstock.ops.nn.factorization import WALSComputePartialLhsAndRhs
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.ops.sparse.sparse_functions import sparse_tensor_dense_matmul
from penstock.variables.initialization import variables_initializer
from penstock.variables.variable import Variable


class _Side(NamedTuple):
    """What belongs to the rows, or to the columns."""

    size: int
    factors: list[Any]
    weights: list[Any] | None
    gramian: Any
    factors_cache: Any
    weights_cache: Any
    gramian_cache: Any


class _Cache(NamedTuple):
    value: Any
    fill: Any
    reset: Any


class WALSModel:
    """``tf.contrib.factorization.WALSModel``: factors and weights in shards, and the operations of the sweeps."""

    def __init__(self, input_rows: int, input_cols: int, n_components: int, unobserved_weight: Any = 0.1, regularization: Any = None,
                 row_init: Any = "random", col_init: Any = "random", num_row_shards: int = 1, num_col_shards: int = 1, row_weights: Any = 1,
                 col_weights: Any = 1, use_factors_weights_cache: bool = True, use_gramian_cache: bool = True,
                 use_scoped_vars: bool = False) -> None:
        if (row_weights is None) != (col_weights is None):
            raise AssertionError("row_weights and col_weights: either both are None, or neither is")
        self._input_rows, self._input_cols = input_rows, input_cols
        self._n_components, self._unobserved_weight, self._regularization = n_components, unobserved_weight, regularization

        def scoped(name: str, make: Callable[[str], Any]) -> Any:
            if not use_scoped_vars:
                return make(name)
            with tf.name_scope(name):
                return make(name)

        self._row_weights = scoped("row_weights", lambda name: _weights(row_weights, input_rows, num_row_shards, name))
        self._col_weights = scoped("col_weights", lambda name: _weights(col_weights, input_cols, num_col_shards, name))
        self._row_factors = scoped("row_factors", lambda name: _factors(input_rows, n_components, num_row_shards, row_init, name))
        self._col_factors = scoped("col_factors", lambda name: _factors(input_cols, n_components, num_col_shards, col_init, name))
        self._row_gramian, self._col_gramian = (Variable(tf.zeros([n_components, n_components]), dtype=tf.float32, name=name)
                                                for name in ("row_gramian", "col_gramian"))
        with tf.name_scope("row_prepare_gramian"):
            self._row_update_prep_gramian = _prepare_gramian(self._col_factors, self._col_gramian)
        with tf.name_scope("col_prepare_gramian"):
            self._col_update_prep_gramian = _prepare_gramian(self._row_factors, self._row_gramian)
        with tf.name_scope("transient_vars"):
            self._make_caches(input_rows, input_cols, use_factors_weights_cache, use_gramian_cache)

    def _make_caches(self, rows: int, cols: int, factors_cached: bool, gramian_cached: bool) -> None:
        row_factors, col_factors = (_cache(each, name, factors_cached) for each, name in (
            (self._row_factors, "row_factors_cache"), (self._col_factors, "col_factors_cache")))
        row_wt, col_wt = (_cache(each, name, factors_cached) for each, name in (
            (self._row_weights, "row_wt_cache"), (self._col_weights, "col_wt_cache")))
        row_gram, col_gram = (_cache(each, name, gramian_cached) for each, name in (
            (self._row_gramian, "row_gramian_cache"), (self._col_gramian, "col_gramian_cache")))
        self._rows = _Side(rows, self._row_factors, self._row_weights, self._row_gramian, row_factors.value, row_wt.value, row_gram.value)
        self._cols = _Side(cols, self._col_factors, self._col_weights, self._col_gramian, col_factors.value, col_wt.value, col_gram.value)
        self._row_updates_init = tf.group(col_factors.fill, row_factors.reset, col_gram.fill, row_gram.reset)
        self._col_updates_init = tf.group(row_factors.fill, col_factors.reset, row_gram.fill, col_gram.reset)
        self._worker_init = tf.group(row_wt.fill, col_wt.fill, name="worker_init")

    row_factors = property(lambda self: self._row_factors, doc="The shards of the rows' factors.")
    col_factors = property(lambda self: self._col_factors, doc="The shards of the columns' factors.")
    row_weights = property(lambda self: self._row_weights, doc="The shards of the rows' weights, or None.")
    col_weights = property(lambda self: self._col_weights, doc="The shards of the columns' weights, or None.")
    worker_init = property(lambda self: self._worker_init, doc="Fills a worker's copies of the weights; run once.")
    row_update_prep_gramian_op = property(lambda self: self._row_update_prep_gramian, doc="The Gramian for a sweep over rows; run first.")
    col_update_prep_gramian_op = property(lambda self: self._col_update_prep_gramian, doc="The Gramian for a sweep over columns.")
    initialize_row_update_op = property(lambda self: self._row_updates_init, doc="Fills a worker's copies for a sweep over rows.")
    initialize_col_update_op = property(lambda self: self._col_updates_init, doc="Fills a worker's copies for a sweep over columns.")

    @property
    def initialize_op(self) -> Any:
        """Initialises the variables of the model, but not a worker's copies of them."""
        weights = [] if self._row_weights is None else [*self._row_weights, *self._col_weights]
        return variables_initializer([*self._row_factors, *self._col_factors, self._row_gramian, self._col_gramian, *weights])

    def update_row_factors(self, sp_input: Any = None, transpose_input: bool = False) -> tuple[Any, Any, Any, Any, Any]:
        """Solves for the rows of a part of the matrix: (new factors, update op, unregularized loss, regularization, sum of weights)."""
        return self._solve(self._rows, self._cols, sp_input, transpose_input, None, "row_update")

    def update_col_factors(self, sp_input: Any = None, transpose_input: bool = False) -> tuple[Any, Any, Any, Any, Any]:
        """As ``update_row_factors``, for columns."""
        return self._solve(self._cols, self._rows, sp_input, not transpose_input, None, "col_update")

    def project_row_factors(self, sp_input: Any = None, transpose_input: bool = False, projection_weights: Any = None) -> tf.Tensor:
        """The factors that rows would get; nothing is changed."""
        return self._solve(self._rows, self._cols, sp_input, transpose_input, 1 if projection_weights is None else projection_weights,
                           "row_update")[0]

    def project_col_factors(self, sp_input: Any = None, transpose_input: bool = False, projection_weights: Any = None) -> tf.Tensor:
        """As ``project_row_factors``, for columns."""
        return self._solve(self._cols, self._rows, sp_input, not transpose_input, 1 if projection_weights is None else projection_weights,
                           "col_update")[0]

    def _solve(self, left: _Side, right: _Side, sp_input: Any, transpose: bool, projection_weights: Any, name: str) -> tuple[Any, ...]:
        if not isinstance(sp_input, tf.SparseTensor):
            raise AssertionError(f"sp_input must be a SparseTensor, not {type(sp_input).__name__}")
        rows, columns = sp_input.indices[:, 0], sp_input.indices[:, 1]
        ids, row = tf.unique(columns if transpose else rows)  # of the rows to be solved for, and where each entry's is among them
        other_ids, column = tf.unique(rows if transpose else columns)
        count = tf.shape(ids)[0]
        entries = tf.stack([tf.cast(row, tf.int64), tf.cast(column, tf.int64)], 1)
        factors = embedding_lookup(right.factors_cache, other_ids, partition_strategy="div")
        lhs = self._unobserved_weight * right.gramian_cache
        if self._regularization is not None:
            lhs += self._regularization * tf.eye(self._n_components)
        if left.weights is None:
            shape = tf.stack([tf.cast(count, tf.int64), tf.cast(tf.shape(other_ids)[0], tf.int64)])
            rhs = self._unobserved_weight * sparse_tensor_dense_matmul(tf.SparseTensor(entries, sp_input.values, shape), factors)
            solved = tf.transpose(tf.matrix_solve(lhs, tf.transpose(rhs)))
            weight = tf.zeros_like(sp_input.values)
        else:
            row_weights = _row_weights(left, ids, count, projection_weights)
            col_weights = embedding_lookup(right.weights_cache, other_ids, partition_strategy="div")
            partial, rhs = WALSComputePartialLhsAndRhs(factors, col_weights, self._unobserved_weight, row_weights, entries, sp_input.values, [],
                                                       tf.cast(count, tf.int64), False, name="wals_compute_partial_lhs_rhs")
            solved = tf.squeeze(tf.matrix_solve(tf.expand_dims(lhs, 0) + partial, tf.expand_dims(rhs, -1)), [2])
            weight = tf.gather(row_weights, row) * tf.gather(col_weights, column)
        update = _scatter_update(left, ids, solved, name)
        approximation = tf.reduce_sum(tf.gather(solved, row) * tf.gather(factors, column), 1)
        return (solved, update, *self._loss(left.size, right, count, solved, sp_input.values, approximation, weight))

    def _loss(self, rows: int, right: _Side, count: Any, solved: Any, values: Any, approximation: Any, weight: Any) -> tuple[Any, Any, Any]:
        """(loss, regularization, sum of weights) of all rows, as estimated from those of this step."""
        gramian, scale = tf.matmul(solved, solved, transpose_a=True), rows / tf.cast(count, tf.float32)
        residuals = tf.square(values - approximation)
        unobserved = tf.reduce_sum(residuals) - tf.reduce_sum(tf.square(approximation)) + trace(tf.matmul(gramian, right.gramian_cache))
        loss = (self._unobserved_weight * unobserved + tf.reduce_sum(weight * residuals)) * scale
        if self._regularization is None:
            regularization = tf.constant(0.0)
        else:
            regularization = self._regularization * (trace(gramian) * scale + trace(right.gramian_cache))
        weights = self._unobserved_weight * tf.cast(rows * right.size, tf.float32)
        return loss, regularization, weights if right.weights is None else weights + tf.reduce_sum(weight) * scale


def _row_weights(left: _Side, ids: tf.Tensor, count: tf.Tensor, given: Any) -> tf.Tensor:
    if given is None:
        return embedding_lookup(left.weights_cache, ids, partition_strategy="div")
    given = tf.cast(given, tf.float32)
    with tf.control_dependencies([tf.assert_less_equal(tf.rank(given), 1)]):
        return tf.reshape(given * tf.ones([count]), [-1])


def _shard_sizes(total: int, shards: int) -> list[int]:
    size, rest = divmod(total, shards)
    return [size + (index < rest) for index in builtins.range(shards)]


def _factors(rows: int, columns: int, shards: int, init: Any, name: str) -> list[Any]:
    if callable(init):
        init = init()
    is_random = isinstance(init, str) and init == "random"
    if not is_random and not isinstance(init, list):
        if shards != 1:
            raise AssertionError(f"{name}: {shards} shards need a list of as many initial values")
        init = [init]
    if isinstance(init, list) and len(init) != shards:
        raise AssertionError(f"{name}: {shards} shards, but {len(init)} initial values")
    return [Variable(lambda i=i, size=size: tf.random_normal([size, columns]) if is_random else init[i], dtype=tf.float32, name=f"{name}_shard_{i}")
            for i, size in enumerate(_shard_sizes(rows, shards))]


def _weights(init: Any, count: int, shards: int, name: str) -> list[Any] | None:
    if init is None:
        return None
    if isinstance(init, Iterable):
        parts = list(init)
        parts = [parts] if shards == 1 and len(parts) == count else parts
        if len(parts) != shards:
            raise AssertionError(f"{name}: {shards} shards, but weights for {len(parts)}")
    elif isinstance(init, numbers.Real) and float(init) >= 0:
        parts = [float(init) * tf.ones([size]) for size in _shard_sizes(count, shards)]
    else:
        raise ValueError("Invalid weight initialization argument: it must be None, a non-negative number, or a list of lists of such numbers, "
                         "one per shard")
    return [Variable(lambda i=i: parts[i], dtype=tf.float32, name=f"{name}_shard_{i}") for i in builtins.range(shards)]


def _prepare_gramian(factors: list[Any], gramian: Any) -> Any:
    parts = []
    for each in factors:
        with tf.colocate_with(each.op):
            parts.append(tf.matmul(each, each, transpose_a=True))
    with tf.colocate_with(gramian.op):
        return tf.assign(gramian, tf.add_n(parts)).op


def _cache(value: Any, name: str, cached: bool) -> _Cache:
    """A worker's copy of a variable or of a list of them; without caching, the variables themselves."""
    if value is None:
        return _Cache(None, tf.no_op(), tf.no_op())
    if not cached:
        return _Cache(value, tf.no_op(), tf.no_op())
    parts = value if isinstance(value, list) else [value]
    copies = [Variable(1.0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES], validate_shape=False,
                       name=f"{name}_shard_{i}" if isinstance(value, list) else name) for i in builtins.range(len(parts))]
    fill = tf.group(*(tf.assign(copy, part, validate_shape=False) for copy, part in zip(copies, parts)))
    reset = tf.group(*(tf.assign(copy, 1.0, validate_shape=False) for copy in copies))
    return _Cache(copies if isinstance(value, list) else copies[0], fill, reset)


def _scatter_update(left: _Side, ids: Any, values: tf.Tensor, name: str) -> Any:
    shards = len(left.factors)
    if shards == 1:
        with tf.colocate_with(left.factors[0].op):
            return tf.scatter_update(left.factors[0], ids, values, name=name).op
    size, longer = divmod(left.size, shards)
    shard = tf.maximum(ids // (size + 1), (ids - longer) // size)
    place = tf.where_v2(shard < longer, tf.mod(ids, size + 1), tf.mod(ids - longer, size))
    shard = tf.cast(shard, tf.int32)
    updates = [tf.scatter_update(factors, *part) for factors, *part in
               zip(left.factors, tf.dynamic_partition(place, shard, shards), tf.dynamic_partition(values, shard, shards))]
    return tf.group(*updates, name=name)
