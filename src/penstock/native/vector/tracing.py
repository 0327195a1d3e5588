"""An optimizer's rule, written with NumPy, as native code: the function is called with stand-ins for arrays that write down what is done to them.

    def _adagrad(var, accum, lr, grad, update_slots):
        if update_slots:
            accum += grad * grad
        var -= lr * grad / np.sqrt(accum)

A rule may ask for attributes, and for scalars (``if l1 > 0``). If the scalar is known when the code is made, the answer belongs to the name of the
code; if not, the rule is called once for each answer, and the results are chosen from in the step. Anything else that a stand-in cannot do is
Unsupported, and the rule stays with NumPy.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.graph.dtypes import as_dtype
from penstock.native.unsupported import Unsupported
from penstock.native.vector.types import VectorValue

if TYPE_CHECKING:
    from penstock.native.vector.builder import VectorBuilder

_UFUNCS = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "div", np.maximum: "maximum", np.minimum: "minimum", np.sqrt: "sqrt",
           np.absolute: "abs", np.sign: "sign", np.exp: "exp", np.power: "pow", np.negative: "neg", np.greater: "gt", np.less: "lt", np.equal: "eq"}
_OPERATORS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power}
_ASKS = {"gt": operator.gt, "lt": operator.lt, "eq": operator.eq}


class Questions:
    """What a rule asks for while it is traced."""

    def __init__(self, answers: list[bool], assumed: Sequence[bool] = ()) -> None:
        self.answers = answers  # to questions about what is known: they grow
        self._assumed = list(assumed)  # answers to the first questions about what is not
        self.open: list[VectorValue] = []  # the questions after those; each was answered by True

    def decide(self, condition: VectorValue) -> bool:
        """The answer for this call of the rule."""
        if self._assumed:
            return self._assumed.pop(0)
        self.open.append(condition)
        return True


class Traced:
    """Stands for an array, or for a scalar whose value may be known."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, v: VectorBuilder, value: VectorValue, questions: Questions, known: Any = None) -> None:
        self.v, self.value, self.questions, self.known = v, value, questions, known

    @property
    def dtype(self) -> np.dtype:
        """As of an array."""
        return np.dtype(self.value.dtype.np)

    def astype(self, dtype: np.dtype) -> Traced:
        """As of an array."""
        return self._new(self.v.cast(self.value, as_dtype(dtype)))

    def _new(self, value: VectorValue) -> Traced:
        return Traced(self.v, value, self.questions)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None) -> Any:
        name = _UFUNCS.get(ufunc)
        if name is None or method != "__call__":
            raise Unsupported(f"the rule uses np.{ufunc.__name__}")
        result = self._new(getattr(self.v, name)(*[self._operand(each) for each in inputs]))
        if out is None:
            return result
        out[0].value = result.value
        return out[0]

    def _operand(self, given: Any) -> Any:
        """A stand-in's value; a number as it is, to take the type of the other operand."""
        return given.value if isinstance(given, Traced) else given

    def __array_function__(self, function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function is not np.where or kwargs:
            raise Unsupported(f"the rule uses np.{function.__name__}")
        condition, x, y = args
        if isinstance(condition, bool):  # it was answered
            return x if condition else y
        return self._new(self.v.select(condition.value, self._operand(x), self._operand(y)))

    def __setitem__(self, where: Any, value: Traced) -> None:
        if where is not Ellipsis:
            raise Unsupported("the rule writes to parts of an array")
        self.value = value.value

    def __neg__(self) -> Traced:
        return np.negative(self)

    def _ask(self, how: str, other: Any) -> Any:
        """A comparison: of a known scalar with a number it is answered now."""
        if self.known is not None and not isinstance(other, Traced):
            self.questions.answers.append(bool(_ASKS[how](self.known, other)))
            return self.questions.answers[-1]
        return self._new(getattr(self.v, how)(self.value, self._operand(other)))

    def __bool__(self) -> bool:
        return self.questions.decide(self.value)

    def __gt__(self, other: Any) -> Any:
        return self._ask("gt", other)

    def __lt__(self, other: Any) -> Any:
        return self._ask("lt", other)

    def __eq__(self, other: Any) -> Any:
        return self._ask("eq", other)


def _define(name: str, ufunc: np.ufunc) -> None:
    def forward(self: Traced, other: Any) -> Any:
        return ufunc(self, other)

    def backward(self: Traced, other: Any) -> Any:
        return ufunc(other, self)

    def in_place(self: Traced, other: Any) -> Traced:
        self.value = ufunc(self, other).value
        return self

    for prefix, method in (("", forward), ("r", backward), ("i", in_place)):
        setattr(Traced, f"__{prefix}{name}__", method)


for _name, _ufunc in _OPERATORS.items():
    _define(_name, _ufunc)


def trace(v: VectorBuilder, function: Callable[..., None], updated: Sequence[VectorValue], others: dict[str, Any],
          known: dict[str, Any] | None = None, answers: list[bool] | None = None, assumed: Sequence[bool] = ()) -> list[VectorValue]:
    """What a function that changes its first arguments in place makes of them. ``others``, by name, are Values, or are handed on as they are.

    ``known``: the values of scalars among them; ``answers`` takes what is said about these.
    """
    questions, known = Questions([] if answers is None else answers, assumed), known or {}
    arrays = [Traced(v, value, questions) for value in updated]
    function(*arrays, **{name: Traced(v, value, questions, known.get(name)) if isinstance(value, VectorValue) else value
                         for name, value in others.items()})
    result = [array.value for array in arrays]
    for index in reversed(range(len(questions.open))):
        other = trace(v, function, updated, others, known, answers, [*assumed, *[True] * index, False])
        result = [v.select(questions.open[index], yes, no) for yes, no in zip(result, other)]
    return result
