"""Programs that replace functions inside TensorFlow, and take them back."""
from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import penstock
penstock.install_as_tensorflow(era=False)
from unittest import mock
from tensorflow.python.platform import tf_logging
from tensorflow.core.framework import types_pb2
from tensorflow.core.lib.core import error_codes_pb2
from tensorflow.python.framework import versions
from penstock.platform import logging
original, lines = logging.info, []
with mock.patch.object(tf_logging, "info", lambda text, *args: lines.append(text % args)):
    logging.info("seen %d", 1)
assert lines == ["seen 1"] and logging.info is original and tf_logging.info is original
tf_logging.info = lambda text, *args: lines.append("again")
logging.info("x")
assert lines[-1] == "again"
assert types_pb2.DataType.Name(1) == "DT_FLOAT" and max(types_pb2.DataType.values()) == 123 and types_pb2.DT_INT64 == 9
assert error_codes_pb2.Code.Value("ABORTED") == error_codes_pb2.ABORTED == 10 and versions.__version__.startswith("1.15")
print("ok")
"""


def test_functions_inside_tensorflow_can_be_replaced():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "ok", done.stderr
