"""Code points of strings: decoding, encoding and transcoding; n-grams of strings, and strings joined by segments.

Encodings are Python's. Where bytes are not text, the rules are TensorFlow's: each maximal wrong part is one replacement character, is left
out, or is an error.
"""
from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import STRING, Attr, one_of, types
from penstock.graph.opdef import op
from penstock.graph.shape import unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.common import INDEX, strings
from penstock.ops.public import function
from penstock.ops.text.files import text
from penstock.ops.text.strings import flat, mapped

_ERRORS = ("strict", "replace", "ignore")
_OUTPUT = one_of("UTF-8", "UTF-16-BE", "UTF-32-BE")
_SPLITS = types(dt.int32, dt.int64, default=dt.int64)
_REPLACEMENT = 0xFFFD


def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise invalid_argument(f"Could not create converter for input encoding: {encoding}") from None


def _characters(item: bytes, codec: str, errors: str, replacement: int, control: bool) -> Iterator[tuple[int, int]]:
    """(code point, the byte at which it begins) of each character. What is wrong is replaced, left out or an error."""
    start = 0
    while start < len(item):
        try:
            piece, wrong, stop = item[start:].decode(codec), len(item), len(item)
        except UnicodeDecodeError as error:
            wrong, stop = start + error.start, start + error.end
            piece = item[start:wrong].decode(codec)
        for character in piece:
            code = ord(character)
            if control and errors == "replace" and ((code <= 0x1F and code != 0x0A and code != 0x09 and code != 0x0D) or 0x7F <= code <= 0x9F):
                code = replacement
            yield code, start
            start += len(character.encode(codec))
        if wrong < len(item):
            if errors == "strict":
                raise invalid_argument("Invalid formatting on input string")
            if errors == "replace":
                yield replacement, wrong
        start = max(stop, start)


def _decode(input: Any, encoding: str, errors: str, replacement: int, control: bool, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codec, codes, starts, splits = _codec(encoding), [], [], [0]
    for item in flat(input):
        for code, start in _characters(item, codec, errors, replacement, control):
            codes.append(code)
            starts.append(start)
        splits.append(len(codes))
    return np.array(splits, dtype.np), np.array(codes, np.int32), np.array(starts, np.int64)


def _splits_shape(input):
    count = input.shape.num_elements() if input.shape.is_fully_defined() else None
    return [None if count is None else count + 1]


@op("UnicodeDecode", "input: string -> row_splits: Tsplits, char_values: int32", input_encoding=STRING, errors=one_of(*_ERRORS, default="replace"),
    replacement_char=_REPLACEMENT, replace_control_characters=False, Tsplits=_SPLITS)
class UnicodeDecode:
    """The code points of each string, one after the other, and where each string's begin."""

    gradient = None

    def shape(input):
        return [_splits_shape(input), [None]]

    def kernel(input, input_encoding, errors, replacement_char, replace_control_characters, Tsplits):
        return _decode(input, input_encoding, errors, replacement_char, replace_control_characters, Tsplits)[:2]


@op("UnicodeDecodeWithOffsets", "input: string -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64", input_encoding=STRING,
    errors=one_of(*_ERRORS, default="replace"), replacement_char=_REPLACEMENT, replace_control_characters=False, Tsplits=_SPLITS)
class UnicodeDecodeWithOffsets:
    """UnicodeDecode, and the byte at which each character begins."""

    gradient = None

    def shape(input):
        return [_splits_shape(input), [None], [None]]

    def kernel(input, input_encoding, errors, replacement_char, replace_control_characters, Tsplits):
        return _decode(input, input_encoding, errors, replacement_char, replace_control_characters, Tsplits)


def _is_character(code: int) -> bool:
    return 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


def _encode(codes: Any, codec: str, errors: str, replacement: int) -> bytes:
    good = []
    for code in codes:
        if _is_character(code):
            good.append(chr(code))
        elif errors == "strict":
            raise invalid_argument("Code point is out of range for Unicode, or a noncharacter.")
        elif errors == "replace":
            good.append(chr(replacement))
    return "".join(good).encode(codec)


@op("UnicodeEncode", "input_values: int32, input_splits: Tsplits -> output: string", errors=one_of("ignore", "replace", "strict", default="replace"),
    output_encoding=_OUTPUT, replacement_char=_REPLACEMENT, Tsplits=_SPLITS)
class UnicodeEncode:
    """A string for each row of code points."""

    ranks = {"input_values": 1, "input_splits": 1}
    gradient = None

    def shape(input_splits):
        count = input_splits.shape.dims[0].value if input_splits.shape.ndims else None
        return [None if count is None else count - 1]

    def kernel(input_values, input_splits, errors, output_encoding, replacement_char):
        codes, codec = input_values.tolist(), _codec(output_encoding)
        bounds = zip(input_splits[:-1].tolist(), input_splits[1:].tolist())
        return strings([_encode(codes[start:stop], codec, errors, replacement_char) for start, stop in bounds])


@op("UnicodeTranscode", "input: string -> output: string", input_encoding=STRING, output_encoding=_OUTPUT, errors=one_of(*_ERRORS, default="replace"),
    replacement_char=_REPLACEMENT, replace_control_characters=False)
class UnicodeTranscode:
    """Strings in another encoding."""

    gradient = None

    def shape(input):
        return input.shape

    def kernel(input, input_encoding, output_encoding, errors, replacement_char, replace_control_characters):
        codec, target = _codec(input_encoding), _codec(output_encoding)

        def transcode(item: bytes) -> bytes:
            codes = [code for code, _ in _characters(item, codec, errors, replacement_char, replace_control_characters)]
            return _encode(codes, target, errors, replacement_char)

        return mapped(transcode, input)


@op("UnsortedSegmentJoin", "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> output: string", separator="", Tindices=INDEX,
    Tnumsegments=types(dt.int32, dt.int64, default=dt.int32))
class UnsortedSegmentJoin:
    """The strings of each segment, joined."""

    ranks = {"num_segments": 0}
    gradient = None

    def shape(inputs, segment_ids, num_segments):
        if inputs.shape.ndims is None or segment_ids.shape.ndims is None:
            return unknown_shape()
        count = constant_value(num_segments)
        return [None if count is None else int(count), *inputs.shape.as_list()[segment_ids.shape.ndims:]]

    def kernel(inputs, segment_ids, num_segments, separator):
        if inputs.shape[:segment_ids.ndim] != segment_ids.shape:
            raise invalid_argument(f"segment_ids have shape {segment_ids.shape}, which inputs of shape {inputs.shape} do not begin with")
        inner = inputs.shape[segment_ids.ndim:]
        rows = np.asarray(inputs, object).reshape(segment_ids.size, -1)
        parts: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1] if rows.size else int(np.prod(inner)))] for _ in range(int(num_segments))]
        for segment, row in zip(segment_ids.reshape(-1).tolist(), rows):
            if segment >= int(num_segments):
                raise invalid_argument(f"segment_ids has {segment}, which is not below the number of segments, {int(num_segments)}")
            for place, item in enumerate(row if segment >= 0 else ()):
                parts[segment][place].append(text(item))
        glue = separator.encode() if isinstance(separator, str) else separator
        return strings([glue.join(items) for segment in parts for items in segment], (int(num_segments), *inner))


@op("StringNGrams", "data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits", separator=STRING, ngram_widths=Attr("list(int)"),
    left_pad=STRING, right_pad=STRING, pad_width=Attr("int"), preserve_short_sequences=Attr("bool"), Tsplits=_SPLITS)
class StringNGrams:
    """Neighbouring strings of each row, joined, for each of several widths."""

    ranks = {"data": 1, "data_splits": 1}
    gradient = None

    def shape(data, data_splits):
        return [[None], data_splits.shape]

    def kernel(data, data_splits, separator, ngram_widths, left_pad, right_pad, pad_width, preserve_short_sequences, Tsplits):
        glue, left, right = (item.encode() if isinstance(item, str) else item for item in (separator, left_pad, right_pad))
        items, grams, splits = flat(data), [], [0]
        if data_splits.size and (data_splits[0] != 0 or data_splits[-1] != len(items) or (np.diff(data_splits) < 0).any()):
            raise invalid_argument(f"Invalid splits {data_splits.tolist()} for {len(items)} strings")
        for start, stop in zip(data_splits[:-1].tolist(), data_splits[1:].tolist()):
            row = items[start:stop]
            made = [gram for width in ngram_widths for gram in _grams(row, width, glue, left, right, pad_width)]
            if not made and preserve_short_sequences and row:
                padding = min(pad_width if pad_width >= 0 else max(ngram_widths) - 1, max(ngram_widths) - 1)
                made = [glue.join([left] * padding + row + [right] * padding)]
            grams += made
            splits.append(len(grams))
        return strings(grams), np.array(splits if data_splits.size else [], Tsplits.np)


def _grams(row: list[bytes], width: int, glue: bytes, left: bytes, right: bytes, pad_width: int) -> list[bytes]:
    padding = min(pad_width if pad_width >= 0 else width - 1, width - 1)
    padded = [left] * padding + row + [right] * padding
    return [glue.join(padded[place:place + width]) for place in range(len(padded) - width + 1)]


unicode_transcode = function(UnicodeTranscode, "unicode_transcode")
unsorted_segment_join = function(UnsortedSegmentJoin, "unsorted_segment_join")
