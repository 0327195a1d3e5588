"""Methods that elements of XML had up to Python 3.8, as programs that read annotations of pictures use them."""
from __future__ import annotations

from types import ModuleType

from penstock.cli.era.c_types import add_methods


def restore(etree: ModuleType) -> None:
    """Gives elements and trees ``getchildren`` and ``getiterator`` again."""
    add_methods(etree.Element, {"getchildren": lambda self: list(self), "getiterator": lambda self, tag=None: self.iter(tag)})
    if not hasattr(etree.ElementTree, "getiterator"):
        etree.ElementTree.getiterator = lambda self, tag=None: self.iter(tag)
