"""Bytes as tensors: raw numbers, serialized tensors, lines of comma-separated values."""
from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from penstock.codec.csv import fields_of
from penstock.errors import KernelError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, ints, type_list
from penstock.graph.example_proto import Example
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import brackets
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops.common import at_most, fixed, like, strings, unknown
from penstock.ops.public import function
from penstock.ops.text.files import text

_RAW = frozenset([dt.float16, dt.float32, dt.float64, dt.int32, dt.uint16, dt.uint8, dt.int16, dt.int8, dt.int64, dt.complex64,
                  dt.complex128, dt.bool_])
_MAX_REPEATED = 2**28  # elements that a few values in a TensorProto may stand for
_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def type_name(dtype: dt.DType) -> str:
    """The name that TensorFlow's messages give a type."""
    return _NAMES.get(dtype.name, dtype.name)


@op("DecodeRaw", "bytes: string -> output: out_type", out_type=_RAW, little_endian=True)
class DecodeRaw:
    """The bytes of each string as numbers, along a new last axis."""

    gradient = None

    def shape(bytes):
        return bytes.shape.concatenate([None])

    def kernel(bytes, out_type, little_endian):
        rows = np.asarray(bytes, object)
        flat = [text(item) for item in rows.reshape(-1)]
        length = len(flat[0]) if flat else 0
        for index, item in enumerate(flat):
            if len(item) != length:
                raise invalid_argument("DecodeRaw requires input strings to all be the same size, but element "
                                       f"{index} has size {length} != {len(item)}")
        if length % out_type.size:
            raise invalid_argument(f"Input to DecodeRaw has length {length} that is not a multiple of {out_type.size}, the size of "
                                   f"{type_name(out_type)}")
        stored = out_type.np.newbyteorder("<" if little_endian else ">")
        return np.frombuffer(b"".join(flat), stored).astype(out_type.np).reshape(*rows.shape, length // out_type.size)


@op("DecodeJSONExample", "json_examples: string -> binary_examples: string")
class DecodeJSONExample:
    """Examples that are written as JSON, serialized."""

    gradient = None
    shape = like("json_examples")

    def kernel(json_examples):
        rows = np.asarray(json_examples, object)
        return strings(_serialized_example(item) for item in rows.reshape(-1)).reshape(rows.shape)


def _serialized_example(item: Any) -> bytes:
    try:
        return json_format.Parse(text(item), Example()).SerializeToString(deterministic=True)
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise invalid_argument(f"Error while parsing JSON: {error}", hint="JSON is what google.protobuf.json_format makes of a tf.train.Example: "
                               '{"features": {"feature": {"x": {"int64List": {"value": [1]}}}}}') from None


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """``tf.decode_json_example``: examples that are written as JSON, serialized as ``tf.parse_example`` takes them."""
    return DecodeJSONExample(json_examples, name=name)


def decode_raw(input_bytes: Any = None, out_type: Any = None, little_endian: bool = True, name: str | None = None, bytes: Any = None) -> Tensor:
    """``tf.decode_raw``: the bytes of each string as numbers of ``out_type``, along a new last axis."""
    return DecodeRaw(input_bytes if bytes is None else bytes, out_type=out_type, little_endian=little_endian, name=name)


@op("SerializeTensor", "tensor: T -> serialized: string", T=TYPE)
class SerializeTensor:
    """A tensor as the bytes of a TensorProto."""

    shape = fixed()
    gradient = None

    def kernel(tensor, T):
        array = np.asarray(tensor, T.np)
        proto = array_to_proto(array)
        if T is not dt.string and not proto.tensor_content:
            proto = TensorProto(dtype=T.as_datatype_enum, tensor_shape=proto.tensor_shape, tensor_content=array.tobytes())
        return np.asarray(proto.SerializeToString(), object)


@op("ParseTensor", "serialized: string -> output: out_type", out_type=TYPE)
class ParseTensor:
    """The tensor in the bytes of a TensorProto."""

    ranks = {"serialized": 0}
    shape = unknown()
    gradient = None

    def kernel(serialized, out_type):
        if np.ndim(serialized):
            raise invalid_argument(f"Expected `serialized` to be a scalar, got shape: {brackets(np.shape(serialized))}")
        content = text(serialized)
        try:
            proto = TensorProto.FromString(content)
        except DecodeError:
            raise invalid_argument(f"Could not parse `serialized` as TensorProto: '{content[:80].decode('latin-1')}'") from None
        if proto.dtype != out_type.as_datatype_enum:
            given = type_name(dt.as_dtype(proto.dtype)) if proto.dtype else "invalid"
            raise invalid_argument(f"Type mismatch between parsed tensor ({given}) and dtype ({type_name(out_type)})")
        extents = [dim.size for dim in proto.tensor_shape.dim]
        if min(extents, default=0) < 0 or (not proto.tensor_content and math.prod(extents) > _MAX_REPEATED):
            raise invalid_argument(f"`serialized` is a TensorProto with the shape {extents}, but without the values for it")
        try:
            return proto_to_array(proto)
        except (TypeError, ValueError) as error:
            raise invalid_argument(f"Could not parse `serialized` as TensorProto: {error}") from None


serialize_tensor = function(SerializeTensor, "serialize_tensor")
parse_tensor = function(ParseTensor, "parse_tensor")

# --- comma-separated values ------------------------------------------------------------------------------------------


@op("DecodeCSV", "records: string, record_defaults: OUT_TYPE -> output: OUT_TYPE",
    OUT_TYPE=type_list(1, [dt.float32, dt.float64, dt.int32, dt.int64, dt.string]), field_delim=",", use_quote_delim=True, na_value="",
    select_cols=ints())
class DecodeCSV:
    """The fields of each record, one output per column; an empty field takes the default of its column, if there is one."""

    ranks = {"record_defaults": at_most(1)}
    gradient = None

    def shape(records, record_defaults, OUT_TYPE, field_delim, select_cols):
        if len(text(field_delim)) != 1:
            raise ValueError("field_delim should be only 1 char")
        if select_cols and len(select_cols) != len(OUT_TYPE):
            raise ValueError("select_cols should match output size")
        if min(select_cols, default=0) < 0 or any(a >= b for a, b in itertools.pairwise(select_cols)):
            raise ValueError("select_cols should be strictly increasing indices that are not negative")
        if any((default.shape.num_elements() or 0) > 1 for default in record_defaults):
            raise ValueError("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
        return [records.shape for _ in OUT_TYPE]

    def kernel(records, record_defaults, OUT_TYPE, field_delim, use_quote_delim, na_value, select_cols):
        rows = np.asarray(records, object)
        delimiter, missing = text(field_delim), text(na_value)
        quick = _columns_natively(rows.reshape(-1), record_defaults, OUT_TYPE, delimiter, use_quote_delim, missing, select_cols)
        if quick is not None:
            return tuple(column.reshape(rows.shape) for column in quick)
        columns: list[list[Any]] = [[] for _ in OUT_TYPE]
        for index, record in enumerate(rows.reshape(-1)):
            fields = _fields_of(text(record), delimiter, use_quote_delim)
            fields = _select_fields(fields, select_cols, len(OUT_TYPE), index)
            for place, (field, default, dtype) in enumerate(zip(fields, record_defaults, OUT_TYPE)):
                columns[place].append(_field(field, default, dtype, place, index, missing))
        return tuple(strings(column, rows.shape) if dtype is dt.string else np.array(column, dtype.np).reshape(rows.shape)
                     for column, dtype in zip(columns, OUT_TYPE))


def _columns_natively(lines: np.ndarray, defaults: Any, types: Any, delimiter: bytes, quotes: bool, missing: bytes,
                      chosen: Any) -> list[np.ndarray] | None:
    """The columns, as native code finds them; None where a line has to be looked at closely, perhaps to say what is wrong with it."""
    places = list(chosen) or list(range(len(types)))
    fields = fields_of(lines, delimiter, quotes, missing, max(places) + 1, not chosen) if len(places) == len(types) and min(places) >= 0 else None
    if fields is None:
        return None
    columns = []
    for number, (place, default, dtype) in enumerate(zip(places, defaults, types)):
        column, left = fields.column(place, dtype.np)
        try:
            for row in left:
                column[row] = _field(fields.text(row, place), default, dtype, number, row, missing)
        except KernelError:  # of all that is wrong, the first in the order of the lines is to be told
            return None
        columns.append(column)
    return columns


def _batched_csv(op: Any, inputs: list[Any], stacked: set[int]) -> list[Any] | None:
    return DecodeCSV(inputs[0], inputs[1:], **op.attrs) if stacked == {0} else None


DecodeCSV.batched = _batched_csv


def _select_fields(fields: list[bytes], select_cols: tuple[int, ...], count: int, record: int) -> list[bytes]:
    if select_cols:
        fields = [fields[column] for column in select_cols if column < len(fields)]
    if len(fields) != count:
        raise invalid_argument(f"Expect {count} fields but have {len(fields)} in record {record}")
    return fields


def _field(field: bytes, default: np.ndarray, dtype: dt.DType, place: int, record: int, missing: bytes) -> Any:
    if field in (b"", missing):
        default = np.asarray(default, dtype.np).reshape(-1)
        if not default.size:
            raise invalid_argument(f"Field {place} is required but missing in record {record}!")
        return default[0]
    if dtype is dt.string:
        return field
    try:
        value = int(field) if dtype.is_integer else float(field)
        if b"_" in field or (dtype.is_integer and not dtype.min <= value <= dtype.max):  # Python takes more than a number may be
            raise ValueError(field)
        return value
    except ValueError:
        raise invalid_argument(f"Field {place} in record {record} is not a valid {type_name(dtype)}: {field.decode('utf-8', 'replace')}") from None


def _fields_of(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """The fields of one record. A quoted field may hold delimiters and line ends, and quotes that are written twice."""
    record = record.rstrip(b"\r\n")
    if not quotes or b'"' not in record:
        if quotes and (b"\n" in record or b"\r" in record):
            raise invalid_argument("Unquoted fields cannot have quotes/CRLFs inside")
        return record.split(delimiter)
    fields, position = [], 0
    while True:
        quoted = record[position:position + 1] == b'"'
        field, position = (_read_quoted if quoted else _read_unquoted)(record, position, delimiter)
        fields.append(field)
        if position >= len(record):
            return fields
        position += len(delimiter)
        if position == len(record):
            return [*fields, b""]


def _read_unquoted(record: bytes, start: int, delimiter: bytes) -> tuple[bytes, int]:
    end = record.find(delimiter, start)
    end = len(record) if end < 0 else end
    if any(mark in record[start:end] for mark in (b'"', b"\n", b"\r")):
        raise invalid_argument("Unquoted fields cannot have quotes/CRLFs inside")
    return record[start:end], end


def _read_quoted(record: bytes, start: int, delimiter: bytes) -> tuple[bytes, int]:
    end = start + 1
    while True:
        end = record.find(b'"', end)
        if end < 0:
            break
        if record[end + 1:end + 2] == b'"':
            end += 2
            continue
        if end + 1 == len(record) or record.startswith(delimiter, end + 1):
            return record[start + 1:end].replace(b'""', b'"'), end + 1
        break
    raise invalid_argument("Quoted field has to end with quote followed by delim or end")


def decode_csv(records: Any, record_defaults: Any, field_delim: str = ",", use_quote_delim: bool = True, name: str | None = None,
               na_value: str = "", select_cols: Any = None) -> list[Tensor]:
    """``tf.decode_csv``: one tensor per column. ``record_defaults`` gives each column its type and, unless it is empty, its default."""
    return DecodeCSV(records, list(record_defaults), field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value,
                     select_cols=select_cols, name=name)

