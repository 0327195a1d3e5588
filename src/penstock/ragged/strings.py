"""``tf.strings`` with ragged results or arguments: parts and characters of strings, and strings of them."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.sequences import range as sequence
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.text import strings as dense
from penstock.ops.text.string_functions import string_split as sparse_string_split
from penstock.ops.text.string_functions import string_split_v2 as sparse_strings_split
from penstock.ops.text.unicode import StringNGrams, UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, unsorted_segment_join
from penstock.ragged.conversion import from_tensor, to_sparse
from penstock.ragged.tensor import RaggedTensor, as_values


def _of_rank_one(value: Any, function: Any) -> Any:
    """``function`` of a vector of strings makes a row of each; here for a tensor of any rank, ragged or not."""
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(_of_rank_one(value.flat_values, function))
    ndims = value.shape.ndims
    if ndims is None:
        raise ValueError("The rank of the strings must be known when the graph is built.")
    if ndims == 0:
        return function(reshape(value, [1]))[0]
    if ndims == 1:
        return function(value)
    outer = from_tensor(value, ragged_rank=ndims - 1)
    return outer.with_flat_values(function(outer.flat_values))


def _rows(sparse: SparseTensor) -> RaggedTensor:
    return RaggedTensor.from_value_rowids(sparse.values, sparse.indices[:, 0], sparse.dense_shape[0], validate=False)


def split_v2(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> RaggedTensor:
    """``tf.strings.split`` of TensorFlow 2: the parts of each string between separators, as a RaggedTensor."""
    with name_scope(name, "StringSplit", [input]):
        return _of_rank_one(_text(input), lambda vector: _rows(sparse_strings_split(vector, sep, maxsplit)))


def strings_split(input: Any = None, sep: Any = None, maxsplit: int = -1, result_type: str = "SparseTensor", source: Any = None,
                  name: str | None = None) -> Any:
    """``tf.strings.split``: the parts of each string between separators (white space, if none is given)."""
    input = source if input is None else input
    ragged = None if result_type == "SparseTensor" and not isinstance(input, RaggedTensor) else split_v2(input, sep, maxsplit, name)
    if result_type == "SparseTensor":
        return sparse_strings_split(input, sep, maxsplit, name=name) if ragged is None else to_sparse(ragged)
    if result_type != "RaggedTensor":
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    return ragged


def string_split(source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None, result_type: str = "SparseTensor",
                 name: str | None = None) -> Any:
    """``tf.string_split``: the parts of each string between any of the bytes of ``delimiter`` (a space)."""
    sparse = sparse_string_split(source, sep, skip_empty, delimiter, name=name)
    if result_type == "SparseTensor":
        return sparse
    if result_type != "RaggedTensor":
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    return _rows(sparse)


def string_bytes_split(input: Any, name: str | None = None) -> RaggedTensor:
    """``tf.strings.bytes_split``: the bytes of each string."""
    with name_scope(name, "StringsByteSplit", [input]):
        return _of_rank_one(_text(input), lambda vector: _rows(sparse_string_split(vector, delimiter="")))


def _text(input: Any) -> Any:
    value = as_values(input)
    if value.dtype.base_dtype != dt.string:
        raise TypeError(f"strings are wanted, not {value.dtype.base_dtype.name}: {input!r}")
    return value


def _check_errors(errors: str, replacement_char: int) -> None:
    if errors not in ("replace", "strict", "ignore"):
        raise ValueError(f"Invalid errors: {errors!r}: 'replace', 'strict' or 'ignore'.")
    if not isinstance(replacement_char, int) or not 0 <= replacement_char <= 0x10FFFF:
        raise ValueError(f"Invalid replacement_char: {replacement_char!r} is not a code point.")


def unicode_decode(input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD, replace_control_characters: bool = False,
                   name: str | None = None) -> RaggedTensor:
    """``tf.strings.unicode_decode``: the code points of each string."""
    _check_errors(errors, replacement_char)

    def decode(vector: Tensor) -> RaggedTensor:
        splits, codes = UnicodeDecode(vector, input_encoding=input_encoding, errors=errors, replacement_char=replacement_char,
                                      replace_control_characters=replace_control_characters)
        return RaggedTensor.from_row_splits(codes, splits, validate=False)

    with name_scope(name, "UnicodeDecode", [input]):
        return _of_rank_one(_text(input), decode)


def unicode_decode_with_offsets(input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD,
                                replace_control_characters: bool = False, name: str | None = None) -> tuple[Any, Any]:
    """``tf.strings.unicode_decode_with_offsets``: code points, and the bytes at which they begin."""
    _check_errors(errors, replacement_char)

    def parts(which: int) -> Any:
        def decode(vector: Tensor) -> RaggedTensor:
            outputs = UnicodeDecodeWithOffsets(vector, input_encoding=input_encoding, errors=errors, replacement_char=replacement_char,
                                               replace_control_characters=replace_control_characters)
            return RaggedTensor.from_row_splits(outputs[which], outputs[0], validate=False)
        return decode

    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        value = _text(input)
        return _of_rank_one(value, parts(1)), _of_rank_one(value, parts(2))


def _as_characters(codes: Any) -> Any:
    """A string of one character for each code point."""
    if isinstance(codes, RaggedTensor):
        return codes.with_flat_values(_as_characters(codes.flat_values))
    return UnicodeEncode(codes, sequence(cast(shape(codes)[0], dt.int64) + 1), output_encoding="UTF-8")


def unicode_split(input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD, name: str | None = None) -> Any:
    """``tf.strings.unicode_split``: the characters of each string, in UTF-8."""
    with name_scope(name, "UnicodeSplit", [input]):
        return _as_characters(unicode_decode(input, input_encoding, errors, replacement_char))


def unicode_split_with_offsets(input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD,
                               name: str | None = None) -> tuple[Any, Any]:
    """``tf.strings.unicode_split_with_offsets``: characters, and the bytes at which they begin."""
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        codes, offsets = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char)
        return _as_characters(codes), offsets


def unicode_encode(input: Any, output_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD, name: str | None = None) -> Any:
    """``tf.strings.unicode_encode``: a string for each row of code points."""
    _check_errors(errors, replacement_char)
    with name_scope(name, "UnicodeEncode", [input]):
        value = as_values(input)
        if isinstance(value, RaggedTensor):
            if isinstance(value.values, RaggedTensor):
                return value.with_values(unicode_encode(value.values, output_encoding, errors, replacement_char))
            if value.values.shape.ndims != 1:
                return value.with_values(unicode_encode(value.values, output_encoding, errors, replacement_char))
            return UnicodeEncode(value.values, value.row_splits, output_encoding=output_encoding, errors=errors, replacement_char=replacement_char)
        ndims = value.shape.ndims
        if not ndims:
            raise ValueError("input_tensor's rank must be at least 1, and known when the graph is built.")
        if ndims == 1:
            row = RaggedTensor.from_row_lengths(value, shape(value)[:1], validate=False)
            return unicode_encode(row, output_encoding, errors, replacement_char)[0]
        rows = from_tensor(reshape(value, [-1, shape(value)[-1]]))
        return reshape(unicode_encode(rows, output_encoding, errors, replacement_char), shape(value)[:-1])


def reduce_join(inputs: Any, axis: Any = None, keepdims: Any = None, separator: str = "", name: str | None = None, keep_dims: Any = None,
                reduction_indices: Any = None) -> Any:
    """``tf.strings.reduce_join`` of a ragged tensor: along its rows (axis -1 of two), or those below."""
    value = as_values(inputs)
    axis = reduction_indices if axis is None else axis
    if not isinstance(value, RaggedTensor):
        return dense.reduce_join(value, axis, keepdims, separator, name)
    ndims = value.shape.ndims
    if axis is None:
        return dense.reduce_join(value.flat_values, None, separator=separator)
    axis = int(axis) + ndims if int(axis) < 0 else int(axis)  # type: ignore[operator]
    with name_scope(name, "RaggedReduceJoin"):
        if axis == 1:
            result = unsorted_segment_join(value.values, value.value_rowids(), value.nrows(), separator) if isinstance(value.values, Tensor) else None
            if result is None:
                raise ValueError("reduce_join along a ragged dimension with ragged rows is not supported: join the innermost rows first.")
            return result[:, None] if keepdims or keep_dims else result
        if axis < 1:
            raise ValueError("reduce_join of a RaggedTensor joins the values of its rows: axis is at least 1.")
        return value.with_values(reduce_join(value.values, axis - 1, keepdims or keep_dims, separator))


def ngrams(data: Any, ngram_width: Any, separator: str = " ", pad_values: Any = None, padding_width: int | None = None,
           preserve_short_sequences: bool = False, name: str | None = None) -> Any:
    """``tf.strings.ngrams``: neighbouring strings of each row, joined."""
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if any(width <= 0 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    pads = ("", "") if pad_values is None else (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else tuple(pad_values)
    if len(pads) != 2:
        raise ValueError("pad_values must be a string, a tuple of two strings, or None.")
    if padding_width is not None and padding_width < 1:
        raise ValueError(f"padding_width must be greater than 0. Got {padding_width}")
    pad_width = 0 if pad_values is None else -1 if padding_width is None else padding_width
    with name_scope(name, "StringNGrams", [data]):
        value = _text(data)
        dense_rank = None if isinstance(value, RaggedTensor) else value.shape.ndims
        if dense_rank == 0:
            raise ValueError("Data must have rank>0")
        ragged = value if isinstance(value, RaggedTensor) else RaggedTensor.from_row_lengths(value, shape(value)[:1], validate=False) \
            if dense_rank == 1 else from_tensor(value, ragged_rank=dense_rank - 1)  # type: ignore[operator]
        grams, splits = StringNGrams(ragged.flat_values, ragged.nested_row_splits[-1], separator=separator, ngram_widths=widths,
                                     left_pad=pads[0], right_pad=pads[1], pad_width=pad_width, preserve_short_sequences=preserve_short_sequences)
        result: Any = RaggedTensor.from_row_splits(grams, splits, validate=False)
        for outer in reversed(ragged.nested_row_splits[:-1]):
            result = RaggedTensor.from_row_splits(result, outer, validate=False)
        if dense_rank == 1:
            return result[0]
        return result if dense_rank is None or preserve_short_sequences else result.to_tensor()


def unsorted_join(inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None) -> Tensor:
    """``tf.strings.unsorted_segment_join``."""
    return unsorted_segment_join(to_tensor(inputs), segment_ids, num_segments, separator=separator, name=name)
