"""The vocabulary of ``contrib``: the operations that its functions are made of, under their public names.

``from penstock.contrib import prelude as tf`` and formulas read as a user would write them. Everything here lives elsewhere.
"""
# ruff: noqa: F401  (a module of names for others)
from penstock.custom_gradient import custom_gradient
from penstock.gradients import gradients
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.dtypes import DType, as_dtype, bool_, float16, float32, float64, int8, int16, int32, int64, string, uint8, uint16
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    control_dependencies,
    get_collection,
    get_default_graph,
    name_scope,
)
from penstock.graph.shape import Dimension, TensorShape, dimension_value
from penstock.graph.static import constant_value, constant_value_as_shape
from penstock.layers.branching import smart_cond
from penstock.layers.weighting import broadcast_weights
from penstock.ops.array.array import meshgrid, sequence_mask
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill, one_hot, ones, ones_like, zeros, zeros_like
from penstock.ops.array.gather import boolean_mask, gather, gather_nd
from penstock.ops.array.pack import concat, split, stack, unstack
from penstock.ops.array.pad import pad
from penstock.ops.array.partition import dynamic_partition, dynamic_stitch
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.permute import broadcast_to, invert_permutation, matrix_transpose, reverse, reverse_sequence, roll, tile, transpose
from penstock.ops.array.select import where, where_v2
from penstock.ops.array.sequences import lin_space, linspace, range
from penstock.ops.array.shape_ops import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    expand_dims,
    rank,
    reshape,
    shape,
    shape_internal,
    size,
    squeeze,
)
from penstock.ops.array.slicing import slice_
from penstock.ops.array.sorting import top_k
from penstock.ops.array.unique import setdiff1d, unique, unique_with_counts
from penstock.ops.constant import constant, identity, placeholder
from penstock.ops.flow.check_shapes import assert_rank, assert_rank_at_least
from penstock.ops.flow.checks import (
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_integer,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_same_float_dtype,
)
from penstock.ops.flow.control_flow import cond, while_loop
from penstock.ops.flow.functional_loops import map_fn
from penstock.ops.flow.misc import Assert, group, no_op, with_dependencies
from penstock.ops.flow.printing import Print
from penstock.ops.flow.py_func import py_func
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.linalg.diag import diag, diag_part, eye, matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from penstock.ops.linalg.linalg import (
    cholesky,
    cholesky_solve,
    log_matrix_determinant,
    matrix_determinant,
    matrix_inverse,
    matrix_solve,
    matrix_triangular_solve,
)
from penstock.ops.linalg.matmul import matmul
from penstock.ops.linalg.matrix_functions import norm
from penstock.ops.math.add_n import add_n
from penstock.ops.math.argmax import argmax, argmin
from penstock.ops.math.clip import clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
from penstock.ops.math.compare import (
    equal,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from penstock.ops.math.complex import complex, conj, imag, real
from penstock.ops.math.counting import histogram_fixed_width
from penstock.ops.math.cumulative import cumsum
from penstock.ops.math.division import div, mod, truediv
from penstock.ops.math.elementwise import abs, add, div_no_nan, maximum, minimum, multiply, negative, sign, square, squared_difference, subtract
from penstock.ops.math.math import lbeta, log_sigmoid
from penstock.ops.math.powers import exp, expm1, log, log1p, pow, reciprocal, rsqrt, sqrt, xlogy
from penstock.ops.math.reduce import reduce_all, reduce_any, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum
from penstock.ops.math.rounding import ceil, floor, round
from penstock.ops.math.segment import segment_sum
from penstock.ops.math.special import betainc, digamma, erf, erfc, igamma, igammac, lgamma
from penstock.ops.math.statistics import count_nonzero, reduce_logsumexp
from penstock.ops.math.trigonometry import asinh, atan, cos, cosh, sigmoid, sin, sinh, tan
from penstock.ops.nn.activations import relu, softplus
from penstock.ops.nn.confusion_matrix import confusion_matrix, remove_squeezable_dimensions
from penstock.ops.nn.convolution import conv2d
from penstock.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from penstock.ops.nn.nn_ops import in_top_k
from penstock.ops.nn.softmax import log_softmax, softmax
from penstock.ops.random.random import multinomial, random_normal, random_poisson, random_uniform
from penstock.ops.random.random_gamma import random_gamma
from penstock.ops.sparse.sparse_functions import sparse_minimum, sparse_reduce_sum
from penstock.variables.assign import assign, assign_add, assign_sub, scatter_add, scatter_sub, scatter_update
from penstock.variables.initialization import global_variables, trainable_variables
from penstock.variables.initializers import Zeros as zeros_initializer
from penstock.variables.scope import get_local_variable, get_variable, variable_scope
