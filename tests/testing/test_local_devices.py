"""What a program is told of the machine before it has made a session."""
from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


def test_devices_are_known_before_the_first_session():
    program = ("import penstock; penstock.install_as_tensorflow()\n"
               "from tensorflow.python.client import device_lib\n"
               "print([each.name for each in device_lib.list_local_devices() if each.device_type == 'CPU'])")
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True).stdout
    assert told.strip() == "['/device:CPU:0']"
