"""What functions of the language of native code may call: memory, conversions, and a few instructions."""
from __future__ import annotations

from penstock.codec.language import Primitive

load8 = Primitive("load8")  # the byte at an address
load32 = Primitive("load32")  # 4 bytes, as an integer from 0 on
load64 = Primitive("load64")  # 8 bytes
load_float64 = Primitive("load_float64")  # a float64
load_float32 = Primitive("load_float32")  # a float32, as a float64
store8 = Primitive("store8")  # the lowest byte
store32 = Primitive("store32")  # the lowest 4 bytes
store64 = Primitive("store64")  # 8 bytes
store_float32 = Primitive("store_float32")  # rounded to float32
store_float64 = Primitive("store_float64")
load_single = Primitive("load_single")  # a float32, to compute with
store_single = Primitive("store_single")
to_single = Primitive("to_single")  # an integer as float32
to_float = Primitive("to_float")  # an integer as float64
remainder = Primitive("remainder")  # of a division without signs
cell = Primitive("cell")  # the address of 8 bytes of the function's own, for what another one gives back beside its result
copy = Primitive("copy")  # memcpy
find = Primitive("find")  # the address of the first such byte among ``count``; 0 if there is none
call2 = Primitive("call2")  # calls a C function of two integers, or addresses, by its address
crc64 = Primitive("crc64")  # CRC-32C of 8 bytes more
crc8 = Primitive("crc8")  # of one byte more
load_big64 = Primitive("load_big64")  # 8 bytes, the highest first
load_lanes = Primitive("load_lanes")  # lanes
load_bytes = Primitive("load_bytes")  # 16 bytes as lanes
store_lanes = Primitive("store_lanes")
clamp_bytes = Primitive("clamp_bytes")  # lanes that are at least 0 and at most 255
store_pairs = Primitive("store_pairs")  # the lowest bytes of two lanes in turn: 32 bytes
store_triples = Primitive("store_triples")  # those of three: 48 bytes
store_rows = Primitive("store_rows")  # those of eight: 128 bytes
