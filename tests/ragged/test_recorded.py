"""Ragged tensors give what TensorFlow 1.15 gives: values, types, rows."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from ragged.cases import CASES, evaluated

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())


def test_every_case_is_recorded():
    assert set(CASES) == set(RECORDED)


@pytest.mark.process
@pytest.mark.parametrize("name", CASES)
def test_as_tensorflow(name):
    assert repr(evaluated(tf, np, CASES[name])) == repr(RECORDED[name])  # as text: nan is like nan
