"""Functions of ``tf.compat.v2`` that are those of ``tf`` with other arguments: another order, other names, other defaults.

A line of `SIGNATURES` reads ``places = function: parameters``. The places are paths in ``tf.compat.v2``, the function is a path in ``tf`` (that of
the first place, if none is given). A parameter ``new>old=default`` is called ``old`` by the function of ``tf``; ``!old=value`` is passed always.
"""
from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.api._table import resolve
from penstock.graph import dtypes as dt

_COMPARED = "x, y, message=None, summarize=None, name=None"
_CHECKED = "x, message=None, summarize=None, name=None"
_REDUCED = "input_tensor, axis=None, keepdims=False, name=None"
_BLOCKS = "input, block_shape, {0}, name=None"
_CLASSES = "weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None, remove_accidental_hits={0}, "
_WINDOW = "input, filters, strides, padding, data_format={0}, dilations=None, name=None"
_BACK = "input, filters, output_shape, strides, padding='SAME', data_format={0}, name=None"
_FRACTIONS = "value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None"

SIGNATURES = {
    "argmax math.argmax": "input, axis=None, output_type=int64, name=None",
    "argmin math.argmin": "input, axis=None, output_type=int64, name=None",
    **{f"debugging.{name}" + (f" {name}" if name in ("assert_equal", "assert_greater", "assert_less") else ""): _COMPARED for name in (
        "assert_equal", "assert_greater", "assert_greater_equal", "assert_less", "assert_less_equal")},
    "debugging.assert_none_equal": "x, y, summarize=None, message=None, name=None",
    **{f"debugging.{name}": _CHECKED for name in ("assert_negative", "assert_non_negative", "assert_non_positive", "assert_positive")},
    "debugging.assert_near": "x, y, rtol=None, atol=None, message=None, summarize=None, name=None",
    "assert_rank debugging.assert_rank": "x, rank, message=None, name=None",
    "debugging.assert_rank_at_least": "x, rank, message=None, name=None",
    "debugging.assert_rank_in": "x, ranks, message=None, name=None",
    "debugging.assert_integer": "x, message=None, name=None",
    "debugging.assert_scalar": "tensor, message=None, name=None",
    "debugging.assert_type": "tensor, tf_type, message=None, name=None",
    "debugging.assert_all_finite": "x, message>msg, name=None",
    "batch_to_space = batch_to_space_nd": _BLOCKS.format("crops"),
    "space_to_batch nn.space_to_batch = space_to_batch_nd": _BLOCKS.format("paddings"),
    "boolean_mask": "tensor, mask, axis=None, name='boolean_mask'",
    "case": "pred_fn_pairs, default=None, exclusive=False, strict=False, name='case'",
    "cond": "pred, true_fn=None, false_fn=None, name=None",
    "constant": "value, dtype=None, shape=None, name='Const'",
    "convert_to_tensor": "value, dtype=None, dtype_hint=None, name=None",
    "device": "device_name>device_name_or_function",
    "expand_dims": "input, axis, name=None",
    "gather": "params, indices, validate_indices=None, axis=None, batch_dims=0, name=None",
    "gather_nd": "params, indices, batch_dims=0, name=None",
    "gradients": "ys, xs, grad_ys=None, name='gradients', gate_gradients>colocate_gradients_with_ops=False, aggregation_method=None, "
                 "stop_gradients=None, unconnected_gradients=None",
    "hessians": "ys, xs, gate_gradients=False, aggregation_method=None, name='hessians'",
    "image.crop_and_resize": "image, boxes, box_indices>box_ind, crop_size, method='bilinear', extrapolation_value=0, name=None",
    "image.draw_bounding_boxes": "images, boxes, colors=None, name=None",
    "io.decode_csv": "records, record_defaults, field_delim=',', use_quote_delim=True, na_value='', select_cols=None, name=None",
    "io.decode_raw": "input_bytes, out_type, little_endian=True, name=None",
    "io.parse_example": "serialized, features, example_names=None, name=None",
    "io.parse_single_example": "serialized, features, example_names=None, name=None",
    "linalg.l2_normalize math.l2_normalize nn.l2_normalize": "x, axis=None, epsilon=1e-12, name=None",
    "norm linalg.norm": "tensor, ord='euclidean', axis=None, keepdims=None, name=None",
    "math.bincount": "arr, weights=None, minlength=None, maxlength=None, dtype=int32, name=None",
    "math.confusion_matrix": "labels, predictions, num_classes=None, weights=None, dtype=int32, name=None",
    "math.count_nonzero": "input>input_tensor, axis=None, keepdims=None, dtype=int64, name=None",
    "math.in_top_k nn.in_top_k": "targets, predictions, k, name=None",
    "math.log_softmax nn.log_softmax": "logits, axis=None, name=None",
    "math.softmax nn.softmax": "logits, axis=None, name=None",
    **{f"{name} math.{name}": _REDUCED for name in ("reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min",
                                                    "reduce_prod", "reduce_sum")},
    "scalar_mul math.scalar_mul": "scalar, x, name=None",
    "name_scope": "name",
    "nn.avg_pool2d": "input>value, ksize, strides, padding, data_format='NHWC', name=None",
    "nn.batch_norm_with_global_normalization": "input>t, mean>m, variance>v, beta, gamma, variance_epsilon, scale_after_normalization, name=None",
    "nn.conv1d": "input>value, filters, stride, padding, data_format='NWC', dilations=None, name=None",
    "nn.conv2d": _WINDOW.format("'NHWC'").replace("filters", "filters>filter"),
    "nn.conv3d": _WINDOW.format("'NDHWC'").replace("filters", "filters>filter"),
    "nn.convolution": "input, filters>filter, strides=None, padding='VALID', data_format=None, dilations>dilation_rate=None, name=None",
    "nn.conv2d_transpose": _BACK.format("'NHWC'").replace("input", "input>value").replace("filters", "filters>filter"),
    "nn.conv3d_transpose": _BACK.format("'NDHWC'").replace("input", "input>value").replace("filters", "filters>filter"),
    "nn.crelu": "features, axis=-1, name=None",
    "nn.depth_to_space": "input, block_size, data_format='NHWC', name=None",
    "nn.space_to_depth": "input, block_size, data_format='NHWC', name=None",
    "nn.depthwise_conv2d": "input, filter, strides, padding, data_format=None, dilations>rate=None, name=None",
    "nn.separable_conv2d": "input, depthwise_filter, pointwise_filter, strides, padding, data_format=None, dilations>rate=None, name=None",
    "nn.dropout": "x, rate, noise_shape=None, seed=None, name=None",
    "nn.embedding_lookup": "params, ids, max_norm=None, name=None, !partition_strategy='div'",
    "nn.embedding_lookup_sparse": "params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None, !partition_strategy='div'",
    "nn.safe_embedding_lookup_sparse": "embedding_weights, sparse_ids, sparse_weights=None, combiner='mean', default_id=None, max_norm=None, "
                                       "name=None, !partition_strategy='div'",
    "nn.fractional_avg_pool": _FRACTIONS,
    "nn.fractional_max_pool": _FRACTIONS,
    "nn.max_pool_with_argmax": "input, ksize, strides, padding, data_format='NHWC', output_dtype>Targmax=int64, include_batch_in_index=False, "
                               "name=None",
    "nn.moments": "x, axes, shift=None, keepdims>keep_dims=False, name=None",
    "nn.sufficient_statistics": "x, axes, shift=None, keepdims>keep_dims=False, name=None",
    "nn.weighted_moments": "x, axes, frequency_weights, keepdims>keep_dims=False, name=None",
    "nn.nce_loss": _CLASSES.format(False) + "name='nce_loss', !partition_strategy='div'",
    "nn.sampled_softmax_loss": _CLASSES.format(True) + "seed=None, name='sampled_softmax_loss', !partition_strategy='div'",
    "nn.pool": "input, window_shape, pooling_type, strides=None, padding='VALID', data_format=None, dilations>dilation_rate=None, name=None",
    "nn.sigmoid_cross_entropy_with_logits": "labels=None, logits=None, name=None",
    "nn.softmax_cross_entropy_with_logits = nn.softmax_cross_entropy_with_logits_v2": "labels, logits, axis=-1, name=None",
    "nn.sparse_softmax_cross_entropy_with_logits": "labels, logits, name=None",
    "nn.weighted_cross_entropy_with_logits": "labels, logits, pos_weight, name=None",
    "ones_like": "input>tensor, dtype=None, name=None",
    "zeros_like": "input>tensor, dtype=None, name=None",
    "pad": "tensor, paddings, mode='CONSTANT', constant_values=0, name=None",
    "random.poisson = random_poisson": "shape, lam, dtype=float32, seed=None, name=None",
    "random.set_seed = set_random_seed": "seed",
    "reverse_sequence": "input, seq_lengths, seq_axis=None, batch_axis=None, name=None",
    "shape": "input, out_type=int32, name=None",
    "size": "input, out_type=int32, name=None",
    "sparse.add": "a, b, threshold>thresh=0",
    "sparse.concat": "axis, sp_inputs, expand_nonconcat_dims>expand_nonconcat_dim=False, name=None",
    **{f"sparse.segment_{kind}": "data, indices, segment_ids, num_segments=None, name=None" for kind in ("mean", "sqrt_n", "sum")},
    "sparse.split": "sp_input=None, num_split=None, axis=None, name=None",
    "squeeze": "input, axis=None, name=None",
    "strings.length": "input, unit='BYTE', name=None",
    "strings.reduce_join": "inputs, axis=None, keepdims=False, separator='', name=None",
    "strings.substr": "input, pos, len, unit='BYTE', name=None",
    "strings.to_hash_bucket": "input>string_tensor, num_buckets, name=None",
    "strings.to_number": "input>string_tensor, out_type=float32, name=None",
    "transpose": "a, perm=None, conjugate=False, name='transpose'",
    "tuple": "tensors, control_inputs=None, name=None",
    "variable_creator_scope": "variable_creator",
    "while_loop": "cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False, "
                  "maximum_iterations=None, name=None, !return_same_structure=True",
}


class _Parameter(NamedTuple):
    new: str
    old: str
    default: Any
    always: bool


def _parameters(text: str) -> list[_Parameter]:
    parameters = []
    for part in text.split(", "):
        names, equal, default = part.partition("=")
        always = names.startswith("!")
        new, _, old = names.removeprefix("!").partition(">")
        value = inspect.Parameter.empty if not equal else getattr(dt, default, None) if default in ("int32", "int64", "float32") \
            else ast.literal_eval(default)
        parameters.append(_Parameter(new, old or new, value, always))
    return parameters


def _places() -> dict[str, tuple[str, str]]:
    """{path in v2: (path in tf, its parameters)}."""
    signatures = {}
    for line, parameters in SIGNATURES.items():
        places, _, target = line.partition(" = ")
        for place in places.split():
            signatures[place] = (target or places.split()[0], parameters)
    return signatures


PLACES = _places()


@functools.cache
def function(place: str) -> Callable[..., Any]:
    """The function of ``tf.compat.v2`` at a path of `PLACES`."""
    target, text = PLACES[place]
    original = resolve(f"penstock.api.root:{target}")
    parameters = _parameters(text)
    signature = inspect.Signature([inspect.Parameter(parameter.new, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=parameter.default)
                                   for parameter in parameters if not parameter.always])
    old_names = {parameter.new: parameter.old for parameter in parameters}
    fixed = {parameter.old: parameter.default for parameter in parameters if parameter.always}

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given = {name: value for name, value in bound.arguments.items() if value is not None or signature.parameters[name].default is not None}
        defaults = {parameter.new: parameter.default for parameter in parameters
                    if parameter.default is not None and parameter.default is not inspect.Parameter.empty and not parameter.always}
        return original(**{old_names[name]: value for name, value in {**defaults, **given}.items()}, **fixed)

    call.__name__ = call.__qualname__ = place.rpartition(".")[2]
    call.__doc__ = f"``tf.compat.v2.{place}``: ``tf.{target}`` with the arguments of TensorFlow 2."
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call
