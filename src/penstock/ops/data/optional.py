"""Optionals: an element, or the knowledge that there is none. On a variant edge one is a tuple of components, or None."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import type_list
from penstock.graph.opdef import op
from penstock.ops.common import fixed
from penstock.ops.data.dataset_core import OUTPUTS, scalar

_NOTHING = scalar(None)


@op("OptionalFromValue", "components: Toutput_types -> optional: variant", Toutput_types=type_list(1))
class OptionalFromValue:
    """An optional that holds the components."""

    shape = fixed()
    gradient = None

    def kernel(components):
        return scalar(tuple(components))


@op("OptionalNone", "-> optional: variant")
class OptionalNone:
    """An optional that holds nothing."""

    shape = fixed()
    gradient = None

    def kernel():
        return _NOTHING


@op("OptionalHasValue", "optional: variant -> has_value: bool")
class OptionalHasValue:
    """Whether an optional holds something."""

    shape = fixed()
    gradient = None

    def kernel(optional):
        return np.bool_(optional[()] is not None)


@op("OptionalGetValue", "optional: variant -> components: output_types", **OUTPUTS)
class OptionalGetValue:
    """What an optional holds."""

    gradient = None

    def shape(output_shapes):
        return list(output_shapes)

    def kernel(optional, output_types, output_shapes):
        components = optional[()]
        if components is None:
            raise invalid_argument("The given optional does not have a value.")
        if len(components) != len(output_types):
            raise invalid_argument(f"The given optional has {len(components)} components, expected {len(output_types)}.")
        for index, (value, dtype, shape) in enumerate(zip(components, output_types, output_shapes)):
            if dtype.is_numpy_compatible and (np.asarray(value).dtype != dtype.np or not shape.is_compatible_with(np.shape(value))):
                raise invalid_argument(f"The given optional does not match the expected type and shape for component {index}. Expected: "
                                       f"{dtype.name} {shape}. Actual: {np.asarray(value).dtype} {list(np.shape(value))}.")
        return components


@op("IteratorGetNextAsOptional", "iterator: resource -> optional: variant", **OUTPUTS)
class IteratorGetNextAsOptional:
    """The next element of an iterator as an optional, which is empty at the end."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(iterator, ctx):
        element = iterator.next_or_none(ctx.step)
        return _NOTHING if element is None else scalar(element)
