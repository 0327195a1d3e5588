"""Summaries that are named after their tensors, with a prefix, and printed on demand."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection
from penstock.ops.flow.printing import Print
from penstock.ops.math.math import zero_fraction
from penstock.summary import summary


def _summary_name(tensor: Any, name: str | None = None, prefix: str | None = None, postfix: str | None = None) -> str:
    return "/".join(part for part in (prefix, name or tensor.op.name, postfix) if part)


def _add_printing(made: Any, tensor: Any, name: str) -> Any:
    """The summary; running it prints the tensor, too."""
    printing = Print(made, [tensor], name)
    add_to_collection(GraphKeys.SUMMARIES, printing)
    return printing


def add_histogram_summary(tensor: Any, name: str | None = None, prefix: str | None = None) -> Any:
    """A histogram."""
    return summary.histogram(_summary_name(tensor, name, prefix), tensor)


def add_image_summary(tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False) -> Any:
    """Images."""
    full_name = _summary_name(tensor, name, prefix)
    made = summary.image(name=full_name, tensor=tensor, collections=[] if print_summary else None)
    return _add_printing(made, tensor, full_name) if print_summary else made


def add_scalar_summary(tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False) -> Any:
    """A number."""
    full_name = _summary_name(tensor, name, prefix)
    made = summary.scalar(name=full_name, tensor=tensor, collections=[] if print_summary else None)
    return _add_printing(made, tensor, full_name) if print_summary else made


def add_zero_fraction_summary(tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False) -> Any:
    """How many elements are 0."""
    full_name = _summary_name(tensor, name, prefix, "Fraction_of_Zero_Values")
    return add_scalar_summary(zero_fraction(tensor), full_name, print_summary=print_summary)


def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """A histogram of each tensor."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """Images of each tensor."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False) -> list[Any]:
    """The number that each tensor is."""
    return [add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors]


def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """How many elements of each tensor are 0."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
