"""Products of matrices, and convolutions as products with a matrix of windows that is never made: what ``native/contract/product.py`` describes.

On GPUs a group of work items computes a square of C; pieces of A and B pass through local memory (``product_groups.py``). On CPUs a work item
computes some rows of C, two vectors of columns at a time, in registers (``product_strips.py``).
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array
from penstock.native.contract.packing import PATCH_WORDS
from penstock.native.contract.product import Epilogue, Product, without_taps
from penstock.opencl import product_groups, product_strips
from penstock.opencl.builder import literal
from penstock.opencl.source import name_of

if TYPE_CHECKING:
    from penstock.opencl.emitter import DeviceEmitter

_BYTES = ("a_batch", "b_batch", "added_batch", "c_batch", "a_at", "b_at", "added_at", "c_at", "a_step", "b_step", "added_step", "c_step", "c_line",
          "c_image", "image_step", "line_step", "pixel_step")
_SHAPE = ("c_width", "c_height")


@dataclass
class ProductTask:
    """One product, with all of its numbers, strides and places in elements."""

    element: str
    numbers: dict[str, int]
    a_transposed: bool
    b_transposed: bool
    windows: bool
    scattered: bool  # the rows of C are pixels that are not side by side
    added: bool
    alpha: str
    bounds: str

    def index_of_c(self, row: str, column: str) -> str:
        """Where an element of C is."""
        if not self.scattered:
            return f"{row} * c_step + {column}"
        return f"({row} % c_width) * c_step + ({row} / c_width % c_height) * c_line + ({row} / (c_width * c_height)) * c_image + {column}"

    def store(self, row: str, column: str, value: str) -> str:
        """The statement that stores an element of C, after what the epilogue does to it."""
        result = value if not self.alpha else f"{self.alpha} * {value}"
        if self.added:
            result = f"added[{row} * added_step + {column}] + {result}"
        return f"{{ {self.element} v = {result}; {self.bounds}c[{self.index_of_c(row, column)}] = v; }}"


def emit_product(b: DeviceEmitter, product: Product, a: Array, right: Array, c: Array, label: str, epilogue: Epilogue | None,
                 items: list[dict[str, int]]) -> None:
    """Appends the kernels of a product."""
    epilogue = epilogue or Epilogue()
    product, right = without_taps(b, product, right)
    write = product_strips.emit if b.traits.strips else product_groups.emit
    for item in items:
        task = _task(product, c, epilogue, item)
        write(b, task, [a, right, *([epilogue.added] if epilogue.added is not None else []), c], label)


def _task(p: Product, c: Array, epilogue: Epilogue, item: dict[str, int]) -> ProductTask:
    size, kind = c.dtype.itemsize, as_dtype(c.dtype)
    words: dict[str, Any] = {"m": p.m, "n": p.n, "k": p.k, "batch": p.batch, "a_step": p.a_step, "b_step": p.b_step, "c_step": p.c_step,
                             **dict(zip(PATCH_WORDS, p.patches)), **p.steps, **item}
    for at in ("a_at", "b_at", "c_at", "added_at"):  # a place of an item is one of its own
        words[at] = item.get(at, p.steps.get(at, 0))
    numbers = {name: int(value) // size if name in _BYTES else int(value) for name, value in words.items()}
    if p.patches and numbers["length"] != numbers["depth"]:  # rows of windows that lie in one piece
        numbers["across"], numbers["dilation_x"] = max(numbers["length"] // numbers["depth"], 1), 1  # (windows without taps have no length)
    bounds = bound_text(epilogue, c.dtype, "v")
    element = name_of(kind) if kind.is_floating or bounds else f"u{name_of(kind)}"  # unsigned integers wrap
    return ProductTask(element, numbers, p.a_transposed, p.b_transposed, bool(p.patches), bool(numbers.get("c_width")),
                epilogue.added is not None, "" if epilogue.alpha == 1.0 else literal(np.asarray(epilogue.alpha, kind.np)[()], kind),
                bounds)


def bound_text(epilogue: Epilogue, dtype: np.dtype, name: str) -> str:
    """The statements that bring a variable between the bounds of an epilogue; NaN stays NaN."""
    kind = as_dtype(dtype)
    limits = [(sign, literal(np.asarray(bound, kind.np)[()], kind)) for sign, bound in (("<", epilogue.lower_bound), (">", epilogue.upper_bound))
              if np.isfinite(bound)]
    return "".join(f"{name} = {name} {sign} {bound} ? {bound} : {name}; " for sign, bound in limits)
