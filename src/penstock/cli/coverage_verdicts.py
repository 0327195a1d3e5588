"""Whether Penstock has a name of TensorFlow: it exists, exists in part (with what is missing), or is missing."""
from __future__ import annotations

import functools
import importlib
import inspect
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from penstock.api.partial import PARTIAL
from penstock.cli.coverage_uses import Use

EXISTS, IN_PART, MISSING = "exists", "partial", "missing"


@dataclass(frozen=True)
class Verdict:
    """What there is of a name, and why not more."""
    status: str
    reason: str = ""


def judge(use: Use) -> Verdict:
    """The verdict on one use: on its name, and on the keywords that it is called with."""
    verdict = judge_name(use.name)
    if verdict.status == MISSING or not use.keywords:
        return verdict
    unknown = [keyword for keyword in use.keywords if not _accepts(use.name, keyword)]
    if not unknown:
        return verdict
    arguments = "no argument " + ", ".join(f"'{name}'" for name in unknown)
    return Verdict(IN_PART, f"{verdict.reason}; {arguments}" if verdict.reason else arguments)


@functools.cache
def judge_name(name: str) -> Verdict:
    """The verdict on a name such as ``tf.nn.relu``."""
    value, reached, problem = _walk(name)
    if problem:
        return Verdict(MISSING, problem)
    note = next((PARTIAL[prefix] for prefix in _prefixes(reached) if prefix in PARTIAL), None)
    return Verdict(EXISTS) if note is None or isinstance(value, ModuleType) else Verdict(IN_PART, note)


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 1, -1)]


@functools.cache
def _walk(name: str) -> tuple[Any, str, str]:
    """(the object, the part of the name that leads to it, the reason why it is not there). What an instance has is not asked: FLAGS.my_flag."""
    value: Any = importlib.import_module("tensorflow")
    reached = "tf"
    for part in name.split(".")[1:]:
        if not isinstance(value, (ModuleType, type)):
            return value, reached, ""
        try:
            value = _member(value, reached, part)
        except (AttributeError, ImportError) as error:
            return None, reached, _reason(error, reached, part)
        reached = f"{reached}.{part}"
    return value, reached, ""


def _member(value: Any, path: str, part: str) -> Any:
    try:
        return getattr(value, part)
    except AttributeError:
        if not isinstance(value, ModuleType):
            raise
        return importlib.import_module(f"tensorflow.{path.removeprefix('tf').removeprefix('.')}.{part}".replace("..", "."))


def _reason(error: Exception, path: str, part: str) -> str:
    return "not in this version of Penstock" if "not in this version" in str(error) else f"{path} has no '{part}'"


def _accepts(name: str, keyword: str) -> bool:
    value, reached, problem = _walk(name)
    if problem or reached != name or not callable(value):
        return True
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):  # builtins, protocol buffers: they check their arguments themselves
        return True
    return any(parameter.kind is parameter.VAR_KEYWORD or (parameter.name == keyword and parameter.kind is not parameter.POSITIONAL_ONLY)
               for parameter in parameters)
