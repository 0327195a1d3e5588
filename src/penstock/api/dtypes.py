"""``tf.dtypes``: the types of tensors."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.array.cast": "cast",
    "penstock.ops.text.strings": "as_string",
    "penstock.ops.math.clip": "saturate_cast",
    "penstock.ops.math.complex": "complex",
    "penstock.graph.dtypes": "float16 half float32 float64 double bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool=bool_ "
                             "complex64 complex128 string qint8 quint8 qint16 quint16 qint32 resource variant DType as_dtype QUANTIZED_DTYPES",
}
publish(__name__, TABLE)
