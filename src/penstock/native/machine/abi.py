"""What kernels, the driver and tables of calls agree on.

Every compiled function is ``void kernel(int64 *words)``. Its first words are its operands: words[k] is an address such that the 8 bytes at
words[k] + ARRAY_DATA are the address of operand k's first element. (An array object of NumPy is such an address; so is a cell of a table, less
ARRAY_DATA.) After the operands come whatever numbers the function wants: extents, strides, ranges.
"""
from __future__ import annotations

ARRAY_DATA = object.__basicsize__  # where an array object holds the address of its elements
OUT_OF_MEMORY = 2  # a status: a kernel got no memory. (1: it refuses its inputs)
