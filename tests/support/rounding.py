"""How much of a result is rounding: measured, by running the NumPy kernels with results that are rounded at random (Monte Carlo arithmetic).

Two correct ways to compute a program round its intermediate results differently. Where a program is ill-conditioned (a difference of nearly equal
numbers, a comparison near a tie, a sum that ends near the border of an overflow), this moves all correct results far. How far is seen by
moving every intermediate result by a few units in the last place, some times over. A result of native code that is further off than its type's
tolerance is right only if it is no further off than a small multiple of that.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from penstock.execute import device_plan
from support.compare import difference

ULPS = 4.0  # what one kernel may be off by: the promise of the compiler's transcendentals
MULTIPLE = 4.0  # of the largest deviation that was seen
SAMPLES = 48  # enough to see a decision near a tie fall both ways


def is_float(value: Any) -> bool:
    """True for arrays of floats, also of bfloat16."""
    return isinstance(value, (np.ndarray, np.generic)) and (value.dtype.kind == "f" or value.dtype == ml_dtypes.bfloat16)


class Rounding:
    """Rounds at random."""

    def __init__(self, seed: int) -> None:
        self._random, self._kernel_of = np.random.RandomState(seed), device_plan.kernel_of

    def __call__(self, value: Any, ulps: float = ULPS) -> np.ndarray:
        """The value, moved by up to some units in the last place, or to a number with two bits less: that is where 1 - tiny becomes 1.

        Numbers that are too small to be normal may become 0.
        """
        value = np.asarray(value)
        limits, chance = ml_dtypes.finfo(value.dtype), self._random.random_sample(value.shape)
        with np.errstate(all="ignore"):
            wide = value.astype(np.float64)
            moved = wide * (1 + self._random.uniform(-ulps, ulps, value.shape) * float(limits.eps))
            mantissa, exponent = np.frexp(wide)
            coarse = np.ldexp(np.rint(mantissa * 2.0 ** (limits.nmant - 1)) / 2.0 ** (limits.nmant - 1), exponent)
            moved = np.where(chance < 0.25, coarse, moved)
            moved = np.where((np.abs(wide) < float(limits.tiny)) & (chance < 0.5), 0.0, moved)
            return np.asarray(moved.astype(value.dtype))

    def kernel_of(self, node: Any, environment: Any) -> Callable[..., Any]:
        """``kernel_of``, with a kernel whose results are rounded at random."""
        kernel = self._kernel_of(node, environment)
        if node.definition.stateful or node.definition.shape_only or node.definition.list_role or not node.inputs:
            return kernel

        def rounded(*inputs: Any, spare: Any = ()) -> Any:  # nothing is written over: the inputs are used twice
            inputs = tuple(self._without_denormals(value) if is_float(value) else value for value in inputs)
            results = kernel(*inputs)
            flat = list(results) if isinstance(results, (tuple, list)) else [results]
            sizes = [value.size for value in inputs if is_float(value)]
            moved = [bool(sizes) and is_float(result) and not _copied(result, inputs) for result in flat]
            if not any(moved):
                return results
            ulps = ULPS
            if not node.definition.elementwise:  # it rounds inside as well
                ulps *= max(1.0, np.log2(max(sizes) / max(min(np.size(result) for result in flat), 1) + 1))
                results = kernel(*[self(value) if is_float(value) else value for value in inputs])
                flat = list(results) if isinstance(results, (tuple, list)) else [results]
            made = [self(result, ulps) if rounds else result for result, rounds in zip(flat, moved)]
            if node.definition.flops is not None:
                if not all(np.isfinite(value).all() for value in inputs if is_float(value)):
                    made = [_with_padding_counted(node, kernel, inputs, result) for result in made]
                made = [self._with_terms_counted(kernel, inputs, result) for result in made]
            return type(results)(made) if isinstance(results, (tuple, list)) else made[0]

        return rounded

    def _without_denormals(self, value: Any) -> Any:
        """The value, in which numbers that are too small to be normal may have become 0, with their sign, as native code takes them."""
        if value.dtype == np.float16:  # which it computes as float32
            return value
        small = (value != 0) & (np.abs(value) < ml_dtypes.finfo(value.dtype).tiny)
        return np.where(small & (self._random.random_sample(np.shape(value)) < 0.5), value * value.dtype.type(0), value) if small.any() else value

    def _with_terms_counted(self, kernel: Callable[..., Any], inputs: Sequence[Any], result: np.ndarray) -> np.ndarray:
        """The result of a product or a convolution, moved by what rounding does to its terms, which may cancel out: how large they are is told by the
        result for absolute values. Where that overflows, a partial sum may overflow or not: the order of the terms decides."""
        with np.errstate(all="ignore"):
            sizes = [np.abs(np.where(np.isfinite(value), value, value.dtype.type(0))) if is_float(value) else value for value in inputs]
            terms = np.asarray(kernel(*sizes)).astype(np.float64)
            wide = result.astype(np.float64) + terms * self._random.uniform(-ULPS, ULPS, terms.shape) * float(ml_dtypes.finfo(result.dtype).eps)
            decisions = self._random.choice([np.nan, np.inf, 0.0], terms.shape if self._random.rand() < 0.5 else ())  # for each element, or for all
            return np.where(np.isfinite(terms), wide, decisions).astype(result.dtype)


def _with_padding_counted(node: Any, kernel: Callable[..., Any], inputs: Sequence[Any], result: np.ndarray) -> np.ndarray:
    """The result of a product or a convolution of numbers that are not all finite, with NaN where a window lies partly in the padding, or between the
    pixels of a strided gradient: the zeros there may be multiplied, or left out. Which places these are is told by results for ones."""
    ones = [np.ones_like(value) if is_float(value) else value for value in inputs]
    if "Conv" not in node.definition.type or "Filter" in node.definition.type:
        counts = np.asarray(kernel(*ones), np.float64)
        return np.where(counts < counts.max(initial=0.0), result.dtype.type(np.nan), result)
    unseen = np.zeros(result.shape, bool)  # of some tap of the filter
    for tap in np.ndindex(*inputs[1].shape[:-2]):
        alone = np.zeros_like(inputs[1])
        alone[tap] = 1
        unseen |= np.asarray(kernel(ones[0], alone, *ones[2:])) == 0
    return np.where(unseen, result.dtype.type(np.nan), result)


def _copied(result: Any, inputs: Sequence[Any]) -> bool:
    """Is every element that of an input, but perhaps for its sign, or 0? Then nothing was rounded."""
    wide = np.abs(np.asarray(result, np.float64)).ravel()
    given = np.concatenate([[0.0], *(np.abs(np.asarray(value, np.float64)).ravel() for value in inputs if is_float(value))])
    few = wide[::max(1, wide.size // 32)]  # they tell nearly always, and are all that is looked at where a sort would take seconds
    return all((given == element).any() for element in few) and (wide.size > 2**16 or bool(np.isin(wide, given).all()))


def unexplained(found: Sequence[Any], wanted: Sequence[Any], samples: Iterable[Sequence[Any]]) -> str | None:
    """What differs between results and is not rounding; None if nothing does. ``samples`` are the wanted results, rounded at random."""
    problems = {index: text for index, pair in enumerate(zip(found, wanted)) if (text := difference(*pair)) is not None}
    spread = {index: np.zeros(np.shape(wanted[index])) for index in problems}
    for sample in samples if problems else ():
        for index in list(problems):
            spread[index] = np.maximum(spread[index], _distance(np.asarray(sample[index]), np.asarray(wanted[index])))
            text = difference(found[index], wanted[index], slack=MULTIPLE * spread[index])
            if text is None:
                del problems[index]
            else:
                problems[index] = f"{text}; rounding moves results by up to {spread[index].max():.2g}"
        if not problems:
            return None
    return next((f"result {index}: {text}" for index, text in problems.items()), None)


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Per element; infinite between two decisions, and between a number and none."""
    if not is_float(one):
        return np.where(one != other, np.inf, 0.0)
    with np.errstate(all="ignore"):
        a, b = one.astype(np.float64), other.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        return np.where(same, 0.0, np.where(np.isfinite(a) & np.isfinite(b), np.abs(a - b), np.inf))
