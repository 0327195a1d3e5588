"""Tables in Markdown."""
from __future__ import annotations

from collections.abc import Sequence


def markdown(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A table."""
    return "\n".join(["| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows)])
