"""``tf.python_io``: TFRecord files, written and read outside of a graph."""
from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import IO, Any

from penstock.errors import FailedPreconditionError
from penstock.platform.compat import as_bytes
from penstock.platform.gfile import open_file
from penstock.platform.records import RecordReader, frame


class TFRecordCompressionType:
    """``tf.python_io.TFRecordCompressionType``: how a file is compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """``tf.python_io.TFRecordOptions``: how a file is compressed, and the settings of zlib for writing it."""

    compression_type_map = {TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP", TFRecordCompressionType.NONE: ""}

    def __init__(self, compression_type: Any = None, flush_mode: int | None = None, input_buffer_size: int | None = None,
                 output_buffer_size: int | None = None, window_bits: int | None = None, compression_level: int | None = None,
                 compression_method: int | None = None, mem_level: int | None = None, compression_strategy: int | None = None) -> None:
        self.get_compression_type_string(compression_type)  # complains
        self.compression_type = compression_type
        self.flush_mode, self.input_buffer_size, self.output_buffer_size = flush_mode, input_buffer_size, output_buffer_size
        self.window_bits, self.compression_level, self.compression_method = window_bits, compression_level, compression_method
        self.mem_level, self.compression_strategy = mem_level, compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """``""``, ``"ZLIB"`` or ``"GZIP"`` for options, a compression type, or None.

        >>> TFRecordOptions.get_compression_type_string(TFRecordOptions(TFRecordCompressionType.GZIP))
        'GZIP'
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def _compressor(self) -> Any:
        """What compresses a file, with these settings; None if it is not compressed."""
        kind = self.get_compression_type_string(self)
        if not kind:
            return None
        bits = self.window_bits or zlib.MAX_WBITS
        return zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if self.compression_level is None else self.compression_level,
                                self.compression_method or zlib.DEFLATED, bits | 16 if kind == "GZIP" and 0 < bits < 16 else bits,
                                self.mem_level or zlib.DEF_MEM_LEVEL, self.compression_strategy or zlib.Z_DEFAULT_STRATEGY)


class TFRecordWriter:
    """``tf.python_io.TFRecordWriter(path, options=None)``: writes records; also a context manager."""

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._compressor = options._compressor()
        self._file: IO[bytes] | None = open_file(path, "wb")

    def write(self, record: Any) -> None:
        """Adds a record: bytes."""
        data = frame(as_bytes(record))
        self._open().write(data if self._compressor is None else self._compressor.compress(data))

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        file = self._open()
        if self._compressor is not None:
            file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        file.flush()

    def close(self) -> None:
        """Ends the file. Closing twice does no harm."""
        if self._file is None:
            return
        if self._compressor is not None:
            self._file.write(self._compressor.flush())
        self._file.close()
        self._file = None

    def _open(self) -> IO[bytes]:
        if self._file is None:
            raise FailedPreconditionError(None, None, "Writer not initialized or previously closed")
        return self._file

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """``tf.python_io.tf_record_iterator``: the records of a file, in order."""
    compression = TFRecordOptions.get_compression_type_string(options)
    with open_file(path, "rb") as file:
        yield from RecordReader(file, compression)
