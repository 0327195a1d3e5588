"""How many operations TensorFlow's ``einsum`` makes: it sums out at the end what only one operand has, sorts labels, and asks for unknown extents.

Ours is composed otherwise; the seeds of what is made later depend on the count.
"""
from __future__ import annotations

from collections.abc import Sequence

Extents = Sequence[int | None]

_WITH_CONSTANT = 2  # an op that takes a constant beside its operand: a transposition, an expansion, a sum
_ELEMENT = 4  # one element of a vector: a slice and its three constants


def einsum_nodes(terms: Sequence[str], extents: Sequence[Extents], output: str) -> int:
    """The number of operations for operands with these labels and extents."""
    nodes, labels, known = 0, terms[0], tuple(extents[0])
    for other, other_known in zip(terms[1:], extents[1:]):
        made, labels, known = _pair(labels, known, other, tuple(other_known), output)
        nodes += made
    kept = "".join(label for label in labels if label in output)
    return nodes + _WITH_CONSTANT * (kept != labels) + _WITH_CONSTANT * (kept != output)


def _pair(x: str, x_known: Extents, y: str, y_known: Extents, output: str) -> tuple[int, str, Extents]:
    """(operations, labels, extents) of the product of two operands."""
    shared = set(x) & set(y)
    summed, batch = sorted(shared - set(output)), sorted(shared & set(output))
    rows, columns = sorted(set(x) - shared), sorted(set(y) - shared)
    left, right = batch + rows + summed, batch + summed + columns
    nodes = _WITH_CONSTANT * ((left != list(x)) + (right != list(y)))
    of_x, of_y = dict(zip(x, x_known)), dict(zip(y, y_known))
    result = batch + rows + columns
    known = tuple(of_x[label] if label in of_x else of_y[label] for label in result)
    if not summed:
        known = tuple(of_y[label] if extent is None and label in of_y else extent for label, extent in zip(result, known))
        return nodes + _WITH_CONSTANT * (len(rows) + len(columns)) + 1, "".join(result), known
    nodes += _asking(x_known) + _asking(y_known)
    nodes += _product(of_x[label] for label in rows) + _product(of_x[label] for label in summed) + _product(of_y[label] for label in columns)
    inner = None if None in [of_x[label] for label in summed] else 1  # only whether it is known matters below
    sides = [None if None in [of[label] for label in group] else 1 for of, group in ((of_x, rows), (of_y, columns))]
    nodes += _reshape([of_x[label] for label in batch] + [sides[0], inner], len(rows) == len(summed) == 1)
    nodes += _reshape([of_y[label] for label in batch] + [inner, sides[1]], len(summed) == len(columns) == 1 and None not in y_known)
    return nodes + 1 + _reshape(known, len(rows) == len(columns) == 1), "".join(result), known


def _asking(extents: Extents) -> int:
    """For the extents that are not known."""
    unknown = list(extents).count(None)
    return 1 + _ELEMENT * unknown if unknown else 0


def _product(extents) -> int:
    """For the product of extents: those that are known are multiplied at once, and become a constant beside one that is not."""
    nodes, is_known = 0, True
    for extent in extents:
        if extent is None or not is_known:
            nodes += 2 if is_known or extent is not None else 1
            is_known = False
    return nodes


def _reshape(extents: Extents, has_rank: bool) -> int:
    """For a reshape to these extents; none if the operand has that rank already and all are known."""
    unknown = list(extents).count(None)
    if unknown:
        return len(extents) - unknown + 2
    return 0 if has_rank else 2
