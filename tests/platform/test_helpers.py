"""Text and bytes, inspection, decorators, deprecation, files beside a program."""
from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from penstock import errors
from penstock.platform import compat, decorators, deprecation, inspection, resource_loader, sysconfig


def test_text_and_bytes():
    assert compat.as_bytes("é") == b"\xc3\xa9" == compat.as_bytes(b"\xc3\xa9") and compat.as_text(b"\xc3\xa9") == "é" == compat.as_str("é")
    assert compat.as_str_any(3) == "3" and compat.as_str_any(b"x") == "x" and compat.path_to_str(Path("a")) == "a" and compat.path_to_str(5) == 5
    for function in (compat.as_bytes, compat.as_text):
        with pytest.raises(TypeError, match="Expected binary or unicode string"):
            function(3)
    assert isinstance(np.float32(1), compat.real_types) and isinstance(np.int8(1), compat.integral_types)
    assert compat.forward_compatible(2019, 1, 1)


def test_arguments_of_functions():
    assert inspection.getargspec(lambda a, c=1: a) == (["a", "c"], None, None, (1,))
    with pytest.raises(ValueError, match="keyword-only"):
        inspection.getargspec(lambda *, a: a)

    class Callable:
        def __call__(self, x, y):
            return x

    assert inspection.fn_args(Callable()) == ("x", "y") and inspection.fn_args(functools.partial(lambda a, b, c: a, 1, c=2)) == ("b",)
    assert inspection.has_kwargs(lambda **k: k) and not inspection.has_kwargs(lambda a: a)


def test_decorators_keep_identity():
    def target(a):
        """Doc."""

    made = decorators.make_decorator(target, lambda *args: "called")
    assert made(1) == "called" and made.__name__ == "target" and decorators.unwrap(made) == ([made], target)
    assert decorators.tf_export("x.y")(target) is target


def test_deprecation_warns_once(caplog):
    @deprecation.deprecated("2018-01-01", "Use something else.")
    def old(x):
        return x

    @deprecation.deprecated_args(None, "Leave it out.", ("keep_dims", False))
    def reduce(x, keep_dims=None):
        return x

    assert [old(1), old(2), reduce(3), reduce(4, keep_dims=False), reduce(5, keep_dims=True)] == [1, 2, 3, 4, 5]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and "after 2018-01-01. Use something else." in said[0] and "keep_dims" in said[1]


def test_two_names_of_one_argument():
    assert deprecation.deprecated_argument_lookup("axis", None, "dim", 1) == deprecation.deprecated_argument_lookup("axis", 1, "dim", None) == 1
    with pytest.raises(ValueError, match="both"):
        deprecation.deprecated_argument_lookup("axis", 1, "dim", 1)


def test_files_beside_the_caller():
    here = Path(__file__)
    assert resource_loader.get_data_files_path() == str(here.parent) and resource_loader.get_path_to_datafile("x") == str(here.parent / "x")
    assert resource_loader.load_resource(here.name) == here.read_bytes()


def test_there_is_nothing_to_compile_against():
    with pytest.raises(errors.UnimplementedError, match="written in Python"):
        sysconfig.get_include()
