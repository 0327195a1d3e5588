"""Notes on operations: what a graph tells passes beyond ops and inputs. A GraphDef lacks them: a step is slower then, not different."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.graph.node import Tensor


@dataclass(eq=False)
class Lookup:
    """A note on the op that fills empty rows: its outputs are ``source``, a matrix of ids, without those below 0 and with a default in empty rows.

    ``segments`` are the rows of the ids as the lookup has them; ``result`` is reshaped from a matrix to a matrix of the same shape.
    """

    source: tuple[Tensor, Tensor, Tensor]  # indices, values, dense shape
    segments: Tensor | None = None
    result: Tensor | None = None


def note_lookup(sparse: Any, **values: Any) -> None:
    """Adds to the note of a lookup, if there is one on what filled the empty rows of these ids."""
    note = sparse.values.op._note
    if isinstance(note, Lookup):
        for name, value in values.items():
            setattr(note, name, value)
