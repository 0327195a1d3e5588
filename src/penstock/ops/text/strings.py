"""Operations on strings. A string tensor is an object array of bytes."""
from __future__ import annotations

import base64
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.codec.hashes import buckets_of
from penstock.errors import KernelError, ResourceExhaustedError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.attrs import INTS, Attr, count, one_of, types
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import broadcast_all, scalar, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import rank, reshape
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.common import INDEX, Ragged, at_most, itemwise, like, sparse_rows, strings
from penstock.ops.constant import constant
from penstock.ops.public import function
from penstock.ops.text.decoding import type_name
from penstock.ops.text.files import text
from penstock.platform import hashing
from penstock.platform.deprecation import older_argument

UNIT = one_of("BYTE", "UTF8_CHAR", default="BYTE")


def flat(values: Any) -> list[bytes]:
    """The elements of a string tensor, whatever its rank."""
    return [text(item) for item in np.asarray(values, object).reshape(-1)]


def mapped(function: Callable[[bytes], bytes], values: Any) -> np.ndarray:
    """A function applied to each string."""
    return strings((function(item) for item in flat(values)), np.shape(values))


def _numbers(function: Callable[[bytes], Any], values: Any, dtype: Any) -> np.ndarray:
    return np.array([function(item) for item in flat(values)], dtype).reshape(np.shape(values))


@op("StringJoin", "inputs: N * string -> output: string", N=count(1), separator="")
class StringJoin:
    """Strings at the same place, joined; scalars go with everything."""

    gradient = None

    def shape(inputs):
        known = scalar()
        for tensor in inputs:
            if tensor.shape.ndims is None:
                return unknown_shape()
            if tensor.shape.ndims:
                known = known.merge_with(tensor.shape) if known.ndims else tensor.shape
        return known

    def kernel(inputs, separator):
        arrays = [np.asarray(item, object) for item in inputs]
        shapes = {array.shape for array in arrays if array.ndim}
        if len(shapes) > 1:
            raise invalid_argument(f"Input shapes do not match: {sorted(shapes)}")
        shape = next(iter(shapes), ())
        glue = separator.encode() if isinstance(separator, str) else separator
        parts = [flat(np.broadcast_to(array, shape)) for array in arrays]
        return strings((glue.join(group) for group in zip(*parts)), shape)


@op("ReduceJoin", "inputs: string, reduction_indices: int32 -> output: string", keep_dims=False, separator="")
class ReduceJoin:
    """Strings along the given axes, joined; the last of the axes varies slowest."""

    ranks = {"reduction_indices": at_most(1)}
    gradient = None

    def shape(inputs, reduction_indices, keep_dims):
        axes, ndims = constant_value(reduction_indices), inputs.shape.ndims
        if axes is None or ndims is None:
            return unknown_shape(ndims if keep_dims else None)
        for axis in np.ravel(axes).tolist():
            if not -ndims <= axis < ndims:
                raise ValueError(f"Invalid reduction dimension {axis} for input with {ndims} dimensions.")
        dropped = {int(axis) % ndims for axis in np.ravel(axes)}
        known = inputs.shape.as_list()
        return [1 if axis in dropped else extent for axis, extent in enumerate(known) if keep_dims or axis not in dropped]

    def kernel(inputs, reduction_indices, keep_dims, separator):
        array = np.asarray(inputs, object)
        axes = []
        for axis in np.ravel(reduction_indices).tolist():
            if not -array.ndim <= axis < array.ndim:
                raise invalid_argument(f"Invalid reduction dimension {axis} for input with {array.ndim} dimension(s)")
            axes.append(axis % array.ndim)
        if len(set(axes)) != len(axes):
            raise invalid_argument(f"Duplicate reduction dimension in {axes}")
        kept = [axis for axis in range(array.ndim) if axis not in axes]
        glue = separator.encode() if isinstance(separator, str) else separator
        outer = [array.shape[axis] for axis in kept]
        rows = array.transpose(kept + axes[::-1]).reshape(int(np.prod(outer)), int(np.prod([array.shape[axis] for axis in axes])))
        shape = [1 if axis in axes else extent for axis, extent in enumerate(array.shape)] if keep_dims else outer
        return strings((glue.join(flat(row)) for row in rows), shape)


# --- splitting -------------------------------------------------------------------------------------------------------

def _sparse_shapes(input):
    input.shape.with_rank(1)
    return [[None, 2], [None], [2]]


def _sparse(rows: list[list[bytes]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return sparse_rows(strings(itertools.chain.from_iterable(rows)), np.array([len(parts) for parts in rows], np.int64))


def _batched_split(op: Any, inputs: list[Tensor], stacked: set[int]) -> list[Any] | None:
    """For elements that are one string each: of the outputs, the parts alone."""
    if stacked != {0} or op.inputs[0].shape.as_list() != [1]:
        return None
    lines = reshape(inputs[0], [-1])
    indices, values, _ = op.definition.add_node(lines.op.graph, op.name, (lines, *inputs[1:]), op.attrs).outputs
    lengths = raw_ops.Bincount(cast(indices[:, 0], dt.int32), shape_of(lines)[0], constant([], dt.int64))
    return [None, Ragged(values, lengths), None]


def _split_at_any(item: bytes, marks: bytes, skip_empty: bool) -> list[bytes]:
    if not item:
        return []
    if not marks:
        return [item[index:index + 1] for index in range(len(item))]
    if len(marks) > 1:
        item = item.translate(bytes(marks[0] if code in marks else code for code in range(256)))
    parts = item.split(marks[:1])
    return [part for part in parts if part] if skip_empty else parts


@op("StringSplit", "input: string, delimiter: string -> indices: int64, values: string, shape: int64", skip_empty=True)
class StringSplit:
    """The parts of each string between any of the bytes of ``delimiter``, as a sparse matrix."""

    ranks = {"delimiter": 0}
    shape = _sparse_shapes
    gradient = None

    def kernel(input, delimiter, skip_empty):
        marks = text(delimiter)
        return _sparse([_split_at_any(item, marks, skip_empty) for item in flat(input)])

    batched = _batched_split


@op("StringSplitV2", "input: string, sep: string -> indices: int64, values: string, shape: int64", maxsplit=-1)
class StringSplitV2:
    """The parts of each string between separators (white space, if ``sep`` is empty), as a sparse matrix."""

    ranks = {"sep": 0}
    shape = _sparse_shapes
    gradient = None

    def kernel(input, sep, maxsplit):
        separator = text(sep) or None
        return _sparse([item.split(separator, maxsplit) for item in flat(input)])

    batched = _batched_split


# --- numbers ---------------------------------------------------------------------------------------------------------

@op("StringToNumber", "string_tensor: string -> output: out_type",
    out_type=types(dt.float32, dt.float64, dt.int32, dt.int64, default=dt.float32))
class StringToNumber:
    """The number that each string spells."""

    shape = like("string_tensor")
    gradient = None

    def kernel(string_tensor, out_type):
        return _numbers(lambda item: _number(item, out_type), string_tensor, out_type.np)


_HEXADECIMAL = re.compile(rb"\s*[-+]?0[xX]")


def _number(item: bytes, dtype: dt.DType) -> Any:
    try:
        if b"_" in item:  # which only Python takes
            raise ValueError(item)
        value = int(item) if dtype.is_integer else float.fromhex(item.decode()) if _HEXADECIMAL.match(item) else float(item)
        if dtype.is_integer and not dtype.min <= value <= dtype.max:
            raise ValueError(item)
        return value
    except ValueError:
        raise invalid_argument(f"StringToNumberOp could not correctly convert string: {item.decode('utf-8', 'replace')}") from None


_SHOWN = frozenset([dt.int8, dt.int16, dt.int32, dt.int64, dt.complex64, dt.complex128, dt.float32, dt.float64, dt.bool_])


@op("AsString", "input: T -> output: string", T=_SHOWN, precision=-1, scientific=False, shortest=False, width=-1, fill="")
class AsString:
    """Each element as text."""

    shape = like("input")
    gradient = None

    def kernel(input, T, precision, scientific, shortest, width, fill):
        form = _format(T, precision, scientific, shortest, width, text(fill).decode("utf-8", "replace"))
        return strings((form(value).encode() for value in np.ravel(input).tolist()), np.shape(input))


_LONGEST = 1 << 20  # characters of a number: more is a mistake, and would fill the memory


def _format(dtype: dt.DType, precision: int, scientific: bool, shortest: bool, width: int, fill: str) -> Callable[[Any], str]:
    if dtype is dt.bool_:
        return lambda value: "true" if value else "false"
    if dtype.is_integer and (scientific or shortest or precision > -1):
        option = "scientific and shortest" if precision <= -1 else "precision"
        raise invalid_argument(f"{option} not supported for datatype {type_name(dtype)}")
    if scientific and shortest:
        raise invalid_argument("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise invalid_argument(f"Fill string must be one or fewer characters, not {fill!r}")
    if fill not in ("", " ", "+", "-", "0", "#"):
        raise invalid_argument(f"Fill argument not supported: \"{fill}\"")
    if max(width, precision) > _LONGEST:
        raise KernelError(ResourceExhaustedError, f"each text would have {max(width, precision)} characters: at most {_LONGEST} are possible")
    digits = f".{precision}" if precision > -1 else ""
    spec = f"%{fill}{width if width > -1 else ''}{digits}" + ("d" if dtype.is_integer else "e" if scientific else "g" if shortest else "f")
    def number(value: Any) -> str:
        return spec % value if fill != "0" or math.isfinite(value) else spec.replace("0", "", 1) % value  # C pads "nan" with blanks

    if dtype.is_complex:
        return lambda value: f"({number(value.real)},{number(value.imag)})"
    return number


# --- hashes ----------------------------------------------------------------------------------------------------------

_BUCKETS = Attr("int", minimum=1)


@op("StringToHashBucket", "string_tensor: string -> output: int64", num_buckets=_BUCKETS)
class StringToHashBucket:
    """A bucket for each string, by a hash that is only kept for old programs."""

    shape = like("string_tensor")
    gradient = None

    def kernel(string_tensor, num_buckets):
        return _numbers(lambda item: hashing.hash64(item) % num_buckets, string_tensor, np.int64)


@op("StringToHashBucketFast", "input: string -> output: int64", num_buckets=_BUCKETS)
class StringToHashBucketFast:
    """A bucket for each string, by its fingerprint."""

    shape = like("input")
    gradient = None

    def kernel(input, num_buckets):
        quick = buckets_of(np.asarray(input, object), num_buckets)
        return _numbers(lambda item: hashing.fingerprint64(item) % num_buckets, input, np.int64) if quick is None else quick

    batched = itemwise


@op("StringToHashBucketStrong", "input: string -> output: int64", num_buckets=_BUCKETS, key=INTS)
class StringToHashBucketStrong:
    """A bucket for each string, by a hash under a secret key."""

    shape = like("input")
    gradient = None

    def kernel(input, num_buckets, key):
        if len(key) != 2:
            raise invalid_argument(f"Key must have 2 elements, not {len(key)}")
        return _numbers(lambda item: hashing.siphash(item, key) % num_buckets, input, np.int64)


# --- characters ------------------------------------------------------------------------------------------------------

@op("StringLength", "input: string -> output: int32", unit=UNIT)
class StringLength:
    """The number of bytes, or of characters, of each string."""

    shape = like("input")
    gradient = None

    def kernel(input, unit):
        return _numbers(len if unit == "BYTE" else lambda item: len(_characters(item)), input, np.int32)


def _characters(item: bytes) -> list[bytes]:
    """The UTF-8 characters of a string; a byte that continues none is counted to the one before."""
    starts = [index for index, code in enumerate(item) if code & 0xC0 != 0x80] or ([0] if item else [])
    return [item[start:end] for start, end in zip(starts, [*starts[1:], len(item)])]


@op("Substr", "input: string, pos: T, len: T -> output: string", T=INDEX, unit=UNIT)
class Substr:
    """``len`` bytes (or characters) of each string from ``pos`` on; a negative position counts from the end."""

    gradient = None

    def shape(input, pos, len):
        return broadcast_all([input.shape, pos.shape, len.shape])

    def kernel(input, pos, len, unit):
        items, starts, lengths = np.broadcast_arrays(np.asarray(input, object), pos, len)
        parts = (_part(text(item), int(start), int(length), unit, index)
                 for index, (item, start, length) in enumerate(zip(items.reshape(-1), starts.reshape(-1), lengths.reshape(-1))))
        return strings(parts, items.shape)


def _part(item: bytes, start: int, length: int, unit: str, index: int) -> bytes:
    pieces: Any = item if unit == "BYTE" else _characters(item)
    if not -len(pieces) <= start <= len(pieces):
        shown = "".join(chr(code) if 32 <= code < 127 else f"\\{code:03o}" for code in item)
        raise invalid_argument(f"pos {start} out of range for string b'{shown}' at index {index}")
    start += len(pieces) if start < 0 else 0
    part = pieces[start:start + max(length, 0)]
    return part if unit == "BYTE" else b"".join(part)


def _case(change: str) -> Callable[..., np.ndarray]:
    def kernel(input, encoding):
        if encoding not in ("", "utf-8"):
            raise invalid_argument(f"encoding must be empty or 'utf-8', not {encoding!r}")
        if encoding:
            return mapped(lambda item: getattr(item.decode("utf-8", "replace"), change)().encode(), input)
        return mapped(lambda item: getattr(item, change)(), input)

    return kernel


@op("StringLower", "input: string -> output: string", encoding="")
class StringLower:
    """Lower case: of ASCII letters, or of all with encoding "utf-8"."""

    shape = like("input")
    gradient = None
    kernel = _case("lower")


@op("StringUpper", "input: string -> output: string", encoding="")
class StringUpper:
    """Upper case: of ASCII letters, or of all with encoding "utf-8"."""

    shape = like("input")
    gradient = None
    kernel = _case("upper")


@op("StringStrip", "input: string -> output: string")
class StringStrip:
    """Without white space at both ends."""

    shape = like("input")
    gradient = None

    def kernel(input):
        return mapped(bytes.strip, input)


@op("EncodeBase64", "input: string -> output: string", pad=False)
class EncodeBase64:
    """Base64 with the alphabet for web addresses."""

    shape = like("input")
    gradient = None

    def kernel(input, pad):
        return mapped(base64.urlsafe_b64encode if pad else lambda item: base64.urlsafe_b64encode(item).rstrip(b"="), input)


@op("DecodeBase64", "input: string -> output: string")
class DecodeBase64:
    """The inverse of EncodeBase64; padding may be missing."""

    shape = like("input")
    gradient = None

    def kernel(input):
        return mapped(_decode64, input)


def _decode64(item: bytes) -> bytes:
    bare = item.rstrip(b"=")
    padding = len(item) - len(bare)
    if len(bare) % 4 == 1:
        raise invalid_argument("Base64 string length cannot be 1 modulo 4.")
    letters = bare.translate(None, b"-_")
    if (letters and not letters.isalnum()) or padding not in (0, -len(bare) % 4):
        raise invalid_argument("Invalid character found in base64.")
    return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))


# --- functions -------------------------------------------------------------------------------------------------------

string_join = function(StringJoin, "string_join")
as_string = function(AsString, "as_string")
string_to_hash_bucket_fast = function(StringToHashBucketFast, "string_to_hash_bucket_fast")
string_to_hash_bucket_strong = function(StringToHashBucketStrong, "string_to_hash_bucket_strong")
string_lower = function(StringLower, "string_lower")
string_upper = function(StringUpper, "string_upper")
string_strip = function(StringStrip, "string_strip")
encode_base64 = function(EncodeBase64, "encode_base64")
decode_base64 = function(DecodeBase64, "decode_base64")


def string_to_number(string_tensor: Any = None, out_type: Any = dt.float32, name: str | None = None, input: Any = None) -> Tensor:
    """``tf.string_to_number``: the number that each string spells."""
    return StringToNumber(string_tensor if input is None else input, out_type=out_type, name=name)


def string_to_hash_bucket(string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None) -> Tensor:
    """``tf.string_to_hash_bucket``: a bucket for each string; new programs use ``string_to_hash_bucket_fast``."""
    return StringToHashBucket(string_tensor if input is None else input, num_buckets=num_buckets, name=name)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """``tf.strings.length``: the number of bytes (or of characters, with unit "UTF8_CHAR") of each string."""
    return StringLength(input, unit=unit, name=name)


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """``tf.substr``: a part of each string."""
    return Substr(input, pos, len, unit=unit, name=name)


def reduce_join(inputs: Any, axis: Any = None, keep_dims: bool | None = None, separator: str = "", name: str | None = None,
                reduction_indices: Any = None, keepdims: bool | None = None) -> Tensor:
    """``tf.reduce_join``: strings along axes (all of them, if none is given), joined."""
    keep = bool(keep_dims if keepdims is None else keepdims)
    axis = older_argument("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(name, "ReduceJoin", [inputs]):
        inputs = to_tensor(inputs)
        if axis is None:
            axis = _all_axes(inputs)
        return ReduceJoin(inputs, axis, keep_dims=keep, separator=separator)


def _all_axes(inputs: Tensor) -> Any:
    ndims = inputs.shape.ndims
    return range_op(rank(inputs) - 1, -1, -1) if ndims is None else np.arange(ndims - 1, -1, -1, dtype=np.int32)

