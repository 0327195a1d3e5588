"""Linked code: its parts find each other wherever the system has room for them."""
from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Links code that fits into one page, with constants that do not, where single pages are free above 6 GiB that are taken.
FRAGMENTED = """
import ctypes
from penstock.native.machine import target

system = ctypes.CDLL(None)
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def reserve(size):
    return system.mmap(None, size, 0, 0x4022, -1, 0)  # no access, private, anonymous, not counted as memory

numbers = ", ".join(f"i32 {7 * index + 3}" for index in range(20_000))
code = target._generate(f'''
@numbers = internal constant [20000 x i32] [{numbers}]
define i32 @number(i64 %index) {{
  %at = getelementptr i32, ptr @numbers, i64 %index
  %number = load i32, ptr %at
  ret i32 %number
}}''')
target._linker()
pages = [(reserve(4096), reserve(4096))[0] for _ in range(4000)]
taken = reserve(6 << 30)
for size in (4096 << power for power in range(18, 0, -1)):  # all larger room above it
    while reserve(size) > taken:
        pass
for page in pages:
    system.munmap(page, 4096)
for _ in range(5):
    library = target.LinkedCode(code, "number")
    number = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(library.address)
    print(number(0), number(19_999))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it arranges memory by Linux's rules")
def test_code_and_constants_meet_where_memory_is_fragmented():
    """LLVM's older linker ended the process here: it put the two too far apart."""
    done = subprocess.run([sys.executable, "-c", FRAGMENTED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 139996\n" * 5


# A long program on a machine that allows no new executable memory.
REFUSED = """
import numpy as np
import penstock as tf
from penstock.native.machine import target
from penstock.native.unsupported import Unsupported

def refuse(self, code, *symbols):
    raise Unsupported("the machine code does not link")

target.LinkedCode.__init__ = refuse
x = y = tf.placeholder(tf.float32, [8, 8])
expected = given = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
for _ in range(150):
    y = tf.tanh(tf.matmul(y, tf.constant(np.eye(8, dtype=np.float32)))) + 1.0
    expected = np.tanh(expected) + 1
with tf.Session() as session:
    np.testing.assert_allclose(session.run(y, {x: given}), expected, rtol=1e-5)
print("computed")
"""


def test_a_long_program_runs_where_no_code_links():
    """Regions are cut where code is missing, and may not lie in each other as deep as the program is long."""
    env = {**os.environ, "PENSTOCK_COMPILE": "eager"}
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, timeout=200, env=env)
    assert done.stdout == "computed\n", done.stderr[-2000:]
