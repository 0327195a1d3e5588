"""Splitting and regular expressions: ``tf.string_split``, ``tf.regex_replace`` and their kin.

Patterns are matched by Python's ``re``, which tries one way after the other. Unlike TensorFlow's matcher, whose time is linear, it
can take a time that is exponential in the length of a string, if a pattern repeats what is itself repeated, such as ``(a*)*b``. A step
cannot be stopped while it matches: patterns must not come from people who are not trusted.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import STRING
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.common import like
from penstock.ops.text.files import text
from penstock.ops.text.strings import StringSplit, StringSplitV2, flat, mapped


@functools.lru_cache(maxsize=256)
def _compile(pattern: bytes) -> re.Pattern[bytes]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise invalid_argument(f"Invalid pattern: {pattern.decode('utf-8', 'replace')}, error: {error}") from None


def _rewriter(rewrite: bytes, groups: int) -> Callable[[re.Match[bytes]], bytes]:
    """What a match is replaced by: ``\\0`` to ``\\9`` are the match and its groups, ``\\\\`` is a backslash."""
    parts: list[bytes | int] = []
    for plain, escaped in re.findall(rb"([^\\]+)|\\(.?)", rewrite, re.DOTALL):
        if escaped.isdigit():
            parts.append(int(escaped) if int(escaped) <= groups else b"")
        elif plain or escaped == b"\\":
            parts.append(plain or escaped)
        else:
            raise invalid_argument(f"Invalid rewrite: {rewrite.decode('utf-8', 'replace')}, error: a backslash must be followed by a digit or "
                                   "by a backslash")
    return lambda match: b"".join((match[part] or b"") if isinstance(part, int) else part for part in parts)


def _replace(input: Any, pattern: bytes, rewrite: bytes, replace_global: bool) -> np.ndarray:
    regex = _compile(pattern)
    replacement = _rewriter(rewrite, regex.groups)
    return mapped(lambda item: regex.sub(replacement, item, 0 if replace_global else 1), input)


def _matches(input: Any, pattern: bytes) -> np.ndarray:
    regex = _compile(pattern)
    return np.array([regex.fullmatch(item) is not None for item in flat(input)], np.bool_).reshape(np.shape(input))


@op("RegexReplace", "input: string, pattern: string, rewrite: string -> output: string", replace_global=True)
class RegexReplace:
    """Each string with the matches of a pattern replaced."""

    ranks = {"pattern": 0, "rewrite": 0}
    shape = like("input")
    gradient = None

    def kernel(input, pattern, rewrite, replace_global):
        return _replace(input, text(pattern), text(rewrite), replace_global)


@op("StaticRegexReplace", "input: string -> output: string", pattern=STRING, rewrite=STRING, replace_global=True)
class StaticRegexReplace:
    """As RegexReplace, with a pattern that is fixed while the graph is built."""

    shape = like("input")
    gradient = None

    def kernel(input, pattern, rewrite, replace_global):
        return _replace(input, text(pattern), text(rewrite), replace_global)


@op("RegexFullMatch", "input: string, pattern: string -> output: bool")
class RegexFullMatch:
    """Whether the whole of each string matches a pattern."""

    ranks = {"pattern": 0}
    shape = like("input")
    gradient = None

    def kernel(input, pattern):
        return _matches(input, text(pattern))


@op("StaticRegexFullMatch", "input: string -> output: bool", pattern=STRING)
class StaticRegexFullMatch:
    """As RegexFullMatch, with a pattern that is fixed while the graph is built."""

    shape = like("input")
    gradient = None

    def kernel(input, pattern):
        return _matches(input, text(pattern))


def regex_replace(input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None) -> Tensor:
    """``tf.regex_replace``: each string with the matches of a pattern replaced; ``\\\\1`` in ``rewrite`` is the first group."""
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return StaticRegexReplace(input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name)
    return RegexReplace(input, pattern, rewrite, replace_global=replace_global, name=name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """``tf.strings.regex_full_match``: whether the whole of each string matches a pattern."""
    if isinstance(pattern, (str, bytes)):
        return StaticRegexFullMatch(input, pattern=pattern, name=name)
    return RegexFullMatch(input, pattern, name=name)


def string_split(source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None,
                 name: str | None = None) -> SparseTensor:
    """``tf.string_split``: the parts of each string between any of the bytes of ``delimiter`` (a space, if it is not given)."""
    delimiter = sep if delimiter is None else delimiter
    with name_scope(name, "StringSplit", [source]):
        source = to_tensor(source, dt.string)
        delimiter = to_tensor(" " if delimiter is None else delimiter, dt.string)
        return SparseTensor(*StringSplit(source, delimiter, skip_empty=skip_empty))


def string_split_v2(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> SparseTensor:
    """``tf.strings.split``: the parts of each string between separators (white space, if none is given)."""
    with name_scope(name, "StringSplit", [input]):
        input = to_tensor(input, dt.string, "input")
        return SparseTensor(*StringSplitV2(input, to_tensor("" if sep is None else sep, dt.string), maxsplit=maxsplit))
