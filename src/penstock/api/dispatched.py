"""Which functions of ``tf`` take ragged tensors, and what they do with them.

The API wraps these functions (`dispatching`): a call with a CompositeTensor among its arguments goes to the handler here, every other one straight
to the function. Handlers are named, not imported, so that programs without ragged tensors load nothing.
"""
from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from penstock.graph.composite import CompositeTensor
from penstock.graph.graph import default_graph

# {module: functions}, applied to the flat values of their first argument
UNARY = {
    "penstock.ops.array.passing": "check_numerics",
    "penstock.ops.constant": "identity",
    "penstock.ops.array.fill": "ones_like zeros_like",
    "penstock.ops.math.clip": "clip_by_value saturate_cast",
    "penstock.ops.math.elementwise": "abs negative sign square",
    "penstock.ops.math.trigonometry": "acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh sigmoid",
    "penstock.ops.math.complex": "angle conj imag real",
    "penstock.ops.array.cast": "cast",
    "penstock.ops.math.rounding": "ceil floor rint round",
    "penstock.ops.math.special": "digamma erf erfc lgamma",
    "penstock.ops.math.powers": "exp expm1 log log1p reciprocal rsqrt sqrt",
    "penstock.ops.math.compare": "is_finite is_inf is_nan logical_not",
    "penstock.ops.math.math": "log_sigmoid reciprocal_no_nan",
    "penstock.ops.text.strings": "string_to_number string_to_hash_bucket as_string decode_base64 encode_base64 string_strip "
                                 "string_to_hash_bucket_fast string_to_hash_bucket_strong substr string_length string_lower string_upper",
    "penstock.ops.text.string_functions": "regex_full_match regex_replace",
    "penstock.ops.math.bitwise": "invert",
}
# of two operands, which may have to be broadcast
BINARY = {
    "penstock.ops.math.bitwise": "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
    "penstock.ops.math.elementwise": "add div_no_nan maximum minimum multiply realdiv squared_difference subtract",
    "penstock.ops.math.trigonometry": "atan2",
    "penstock.ops.math.complex": "complex",
    "penstock.ops.math.division": "divide div floordiv floormod mod truediv truncatediv truncatemod",
    "penstock.ops.math.compare": "equal greater greater_equal less less_equal logical_and logical_or logical_xor not_equal",
    "penstock.ops.math.powers": "pow",
}
# of a list of tensors with the same rows
LISTS = {"penstock.ops.math.add_n": "add_n", "penstock.ops.text.strings": "string_join"}
# functions with a ragged form of their own: {module: {module of ragged forms: "function" or "function=form"}}
FORMS = {
    "penstock.ops.array.gather": {"gathering": "batch_gather gather gather_nd"},
    "penstock.ops.array.pack": {"combining": "concat stack"},
    "penstock.ops.array.shape_ops": {"combining": "expand_dims rank size squeeze"},
    "penstock.ops.array.fill": {"combining": "one_hot"},
    "penstock.ops.array.permute": {"combining": "tile"},
    "penstock.ops.array.select": {"combining": "where"},
    "penstock.ops.array.partition": {"combining": "dynamic_partition"},
    "penstock.ops.math.segment": {"reduction": "unsorted_segment_sum=segment_sum unsorted_segment_prod=segment_prod "
                                               "unsorted_segment_min=segment_min unsorted_segment_max=segment_max"},
    "penstock.ops.math.segment_sparse": {"reduction": "unsorted_segment_mean=segment_mean unsorted_segment_sqrt_n=segment_sqrt_n"},
    "penstock.ops.math.reduce": {"reduction": "reduce_sum reduce_prod reduce_min reduce_max reduce_mean reduce_any reduce_all"},
    "penstock.ops.text.strings": {"strings": "reduce_join"},
    "penstock.ops.flow.functional_loops": {"mapping": "map_fn"},
}
_OLD_NAMES = {"reduction_indices": "axis", "keep_dims": "keepdims", "dim": "axis"}


def _handlers() -> dict[str, tuple[str, str]]:
    """{origin of a function: (kind of handling, ragged form)}."""
    handlers = {f"{module}:{name}": (kind, "") for kind, table in (("unary", UNARY), ("binary", BINARY), ("list", LISTS))
             for module, names in table.items() for name in names.split()}
    for module, forms in FORMS.items():
        for place, entries in forms.items():
            for entry in entries.split():
                name, _, form = entry.partition("=")
                handlers[f"{module}:{name}"] = ("form", f"penstock.ragged.{place}:{form or name}")
    return handlers


HANDLERS = _handlers()


class _Kinds(dict[type, str]):
    """Per type of an argument: "composite", "list" (it may have some inside), or "" for what goes straight to the function."""

    def __missing__(self, cls: type) -> str:
        is_composite = issubclass(cls, CompositeTensor) or cls.__name__ == "RaggedTensorValue"
        kind = self[cls] = "composite" if is_composite else "list" if issubclass(cls, (list, tuple)) else ""
        return kind


_KINDS = _Kinds()


def _among(values: Any) -> bool:
    for value in values:  # at every call of these functions: a generator takes twice as long
        kind = _KINDS[type(value)]
        if kind and (kind == "composite" or any(_KINDS[type(item)] == "composite" for item in value)):
            return True
    return False


@functools.cache
def dispatching(origin: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The public form of a function of ``HANDLERS``; every other function as it is."""
    if origin not in HANDLERS:
        return function
    kind, form = HANDLERS[origin]
    definition, node_name = getattr(function, "made_of", (None, None))  # of a function that only calls an op
    count = len(definition.inputs) if definition is not None else -1

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in args:  # most calls have plain tensors and numbers: they are told apart without a further call
            if _KINDS[type(value)]:
                break
        else:
            if not kwargs:
                if len(args) == count and (graph := default_graph()).imperative:  # two calls less: this is what each operation of a loop costs
                    return graph.call(definition, args, {}, node_name)
                return function(*args)
        if _among(args) or _among(kwargs.values()):
            return _handle(kind, form, function, args, kwargs)
        return function(*args, **kwargs)

    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # inspect.getfullargspec does not follow wrappers
    return call


def _handle(kind: str, form: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    elementwise = importlib.import_module("penstock.ragged.elementwise")
    if kind == "form":
        module, _, name = form.partition(":")
        ragged_form = getattr(importlib.import_module(module), name)
        given = {key: value for key, value in inspect.signature(function).bind(*args, **kwargs).arguments.items() if value is not None}
        known = inspect.signature(ragged_form).parameters
        return ragged_form(**{key if key in known else _OLD_NAMES.get(key, key): value for key, value in given.items()})
    if kind == "binary":
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
        (_, x), (_, y), *rest = bound.items()
        return elementwise.binary(function, x, y, **dict(rest))
    return elementwise.map_flat_values(function, *args, **kwargs)
