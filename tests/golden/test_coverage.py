"""How many public functions and classes of the libraries above the core the cases name: a floor, which only rises.

A name counts if a case has it as an attribute, or in a text from which it is looked up: whole, or as what follows a prefix ("streaming_%s").
"""
from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import penstock as tf

pytestmark = pytest.mark.graph
FLOOR = 1_075

SPACES = """layers losses metrics initializers distributions signal spectral distribute autograph contrib.layers contrib.slim contrib.framework
contrib.training contrib.metrics contrib.losses contrib.losses.metric_learning contrib.opt contrib.lookup contrib.image contrib.signal contrib.crf
contrib.cudnn_rnn contrib.rnn contrib.seq2seq contrib.graph_editor contrib.factorization contrib.gan contrib.gan.eval contrib.gan.losses
contrib.gan.features contrib.gan.estimator contrib.sparsemax contrib.memory_stats contrib.quantize contrib.summary contrib.util contrib.integrate
contrib.solvers contrib.stateless contrib.checkpoint contrib.autograph contrib.tensorboard.plugins.projector contrib.mixed_precision
contrib.recurrent contrib.all_reduce contrib.distribute contrib.distributions contrib.distributions.bijectors contrib.learn.datasets
contrib.slim.nets"""


def _named_in_cases() -> tuple[set[str], set[str]]:
    """(names, prefixes of names) in the cases."""
    names, prefixes = set(), set()
    for path in (Path(__file__).parent / "cases").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.update(re.findall(r"\w+", node.value))
                prefixes.update(re.findall(r"\b(\w+_)(?=$|%|\{)", node.value))
    return names, prefixes


def _public_names() -> list[tuple[str, str]]:
    """(namespace, name) of functions and classes."""
    found = []
    for space in SPACES.split():
        namespace = tf
        for part in space.split("."):
            namespace = getattr(namespace, part)
        found += [(space, name) for name in dir(namespace) if not name.startswith("_") and callable(getattr(namespace, name))
                  and not inspect.ismodule(getattr(namespace, name))]
    return found


def test_cases_name_nearly_all_of_the_libraries():
    names, prefixes = _named_in_cases()
    missing = [f"{space}.{name}" for space, name in _public_names()
               if name not in names and not any(name.startswith(each) and name[len(each):] in names for each in prefixes)]
    assert len(_public_names()) - len(missing) >= FLOOR, missing
