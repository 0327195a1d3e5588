"""The beginning of every kernel: ``kernel(words)`` in LLVM IR, and its operands and numbers (``machine/abi.py``)."""
from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from penstock.native.machine.abi import ARRAY_DATA
from penstock.native.vector.pieces import advance, number
from penstock.native.vector.vectors import I64, IR, POINTER, VOID


class Kernel:
    """One kernel while it is written: ``b`` stands at its start. What it is given is asked for by the words' places, or by names in their order."""

    def __init__(self, module: ir.Module | None = None, attributes: Sequence[str] = ()) -> None:
        self.module = ir.Module() if module is None else module
        function = ir.Function(self.module, ir.FunctionType(VOID, [POINTER]), "kernel")
        for attribute in attributes:
            function.attributes.add(attribute)
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        self.words = function.args[0]
        self._named = 0  # words, from the first on, that have names

    def word(self, index: int) -> IR:
        """A number."""
        return self.b.load(self.word_place(index), typ=I64)

    def word_place(self, index: int) -> IR:
        """Where a word is."""
        return self.b.gep(self.words, [number(index)], source_etype=I64)

    def operand(self, index: int) -> IR:
        """Where the elements of an operand begin."""
        cell = self.b.load(self.word_place(index), typ=POINTER)
        return self.b.load(advance(self.b, cell, number(ARRAY_DATA)), typ=POINTER)

    def operands(self, names: Sequence[str]) -> dict[str, IR]:
        """The operands, in the order of their names: all of them, before any number."""
        return {name: self.operand(self._next()) for name in names}

    def numbers(self, names: Sequence[str]) -> dict[str, IR]:
        """The numbers that follow, in the order of their names."""
        return {name: self.word(self._next()) for name in names}

    @property
    def rest(self) -> IR:
        """Where the words are that have no names."""
        return self.word_place(self._named)

    def _next(self) -> int:
        self._named += 1
        return self._named - 1
