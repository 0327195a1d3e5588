"""Native code for bytes (records, protos, comma-separated values, numbers in text), and for rows whose number is known in the step only.

    language.py       Python functions over integers, floats and addresses
    primitives.py     what those functions may call
    translation.py    the same as LLVM IR
    library.py        those functions, compiled and linked when one is first used
    object_memory.py  how Python keeps strings in memory
    objects.py        strings of arrays as addresses, and back
    framing.py        the records of a TFRecord file, many at a time
    proto_wire.py     the encoding of protocol buffers
    examples.py       the features of serialized Examples
    numerals.py       numbers in text
    csv.py            lines of comma-separated values
    hashes.py         fingerprints of strings
    ids.py            ids of sparse matrices with one entry per row
    row_division.py   rows divided among arrays, and put together again
    row_runs.py       rows of numbers that follow each other, reduced to one
    resizing.py       images of any size in another one
    jpeg_header.py    what stands in a JPEG file before its data
    jpeg_tables.py    its tables
    jpeg.py           JPEG files as pixels

What must stay true: native code decides nothing about bad input. It checks every bound, and where the data is not as plain as can be it says so and
leaves it to the Python code of the operation, which knows all cases and the messages of all errors. So both give the same values, and data from
anywhere cannot do more than slow a program down. The functions release Python's lock, but for those that make Python objects.
"""
