"""Beam search over label prefixes, for the CTC decoder.

A prefix is a node of a tree: a label after its parent's. Of each prefix it is known how probable the paths are that end in a blank, and how probable
those that end in its last label: only the former can be followed by the same label as a new one.
"""
from __future__ import annotations

import heapq
import itertools

import numpy as np

_NONE = -np.inf
_NOTHING = (_NONE, _NONE, _NONE)


class Prefix:
    """A label sequence, with log probabilities before (``old``) and after (``new``) the current step: blank, label, total."""

    __slots__ = ("children", "label", "new", "old", "parent")

    def __init__(self, parent: Prefix | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, Prefix] = {}
        self.old = self.new = _NOTHING

    @property
    def total(self) -> float:
        """How probable it is that the labels so far are these."""
        return self.new[2]

    def child(self, label: int) -> Prefix:
        """This prefix and one label more."""
        prefix = self.children.get(label)
        if prefix is None:
            prefix = self.children[label] = Prefix(self, label)
        return prefix

    def before(self, label: int) -> float:
        """How probable the paths are that ``label`` may follow as a new label."""
        return self.old[0] if label == self.label else self.old[2]

    def stay(self, scores: np.ndarray) -> None:
        """One step in which no label is added to this prefix (or the last one is, by its parent)."""
        blank, label, total = self.old
        if self.parent is not None:
            if self.parent.total > _NONE:
                label = float(np.logaddexp(label, self.parent.before(self.label)))
            label += scores[self.label]
        blank = total + scores[-1]
        self.new = (blank, label, float(np.logaddexp(blank, label)))

    def labels(self, merge_repeated: bool) -> list[int]:
        """The label sequence; ``merge_repeated`` merges equal neighbours in it."""
        labels: list[int] = []
        node, last = self, -1
        while node.parent is not None:
            if not (merge_repeated and node.label == last):
                labels.append(node.label)
            node, last = node.parent, node.label
        return labels[::-1]


class Beam:
    """The best prefixes, at most ``width`` of them; a prefix that falls out is forgotten."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._heap: list[tuple[float, int, Prefix]] = []
        self._tie = itertools.count()

    def accepts(self, total: float) -> bool:
        """True if a prefix with this probability would get in."""
        return total > _NONE and (len(self._heap) < self.width or total > self._heap[0][0])

    def push(self, prefix: Prefix) -> None:
        """Adds a prefix, in place of the worst one if the beam is full."""
        entry = (prefix.total, next(self._tie), prefix)
        if len(self._heap) < self.width:
            heapq.heappush(self._heap, entry)
        else:
            _, _, dropped = heapq.heapreplace(self._heap, entry)
            dropped.new = _NOTHING

    def sorted(self) -> list[Prefix]:
        """The prefixes, best first."""
        return [prefix for _, _, prefix in sorted(self._heap, key=lambda entry: (-entry[0], entry[1]))]


def _grow(branches: list[Prefix], beam: Beam, scores: np.ndarray) -> None:
    """Adds the children of the branches that are good enough for the beam."""
    for branch in branches:
        if not beam.accepts(branch.old[2]):
            continue
        totals = scores[:-1] + branch.old[2]
        if branch.parent is not None:
            totals[branch.label] = scores[branch.label] + branch.old[0]
        for label, total in enumerate(totals.tolist()):
            child = branch.children.get(label)
            if child is not None and child.total > _NONE:
                continue  # it is in the beam: its own step has counted these paths
            if beam.accepts(total):
                child = child or branch.child(label)
                child.new = (_NONE, total, total)
                beam.push(child)
            elif child is not None:
                child.old = _NOTHING  # it fell out in this step and shall not grow


def beam_search(scores: np.ndarray, width: int, top_paths: int, merge_repeated: bool) -> list[tuple[list[int], float]]:
    """The best label sequences with their log probabilities, for log probabilities [steps, classes]; the last class is the blank."""
    root = Prefix(None, -1)
    root.new = (0.0, _NONE, 0.0)
    beam = Beam(width)
    beam.push(root)
    for step in scores:
        branches = beam.sorted()
        beam = Beam(width)
        for branch in branches:
            branch.old = branch.new
        for branch in branches:
            branch.stay(step)
            beam.push(branch)
        _grow(branches, beam, step)
    paths = [(prefix.labels(merge_repeated), prefix.total) for prefix in beam.sorted()[:top_paths]]
    return paths + [([], _NONE)] * (top_paths - len(paths))
