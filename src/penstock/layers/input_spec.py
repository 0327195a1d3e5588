"""InputSpec: what a layer says about its inputs, and the check of inputs against it."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes, nest


class InputSpec:
    """``tf.layers.InputSpec``: the type, rank, shape and extents that one input of a layer must have; None means any."""

    def __init__(self, dtype: Any = None, shape: Any = None, ndim: int | None = None, max_ndim: int | None = None, min_ndim: int | None = None,
                 axes: dict[Any, Any] | None = None) -> None:
        self.dtype = dtypes.as_dtype(dtype).name if dtype is not None else None
        self.shape, self.ndim = shape, ndim if shape is None else len(shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        try:
            self.axes = {int(axis): extent for axis, extent in (axes or {}).items()}
        except (ValueError, TypeError):
            raise TypeError("The keys in axes must be integers.") from None
        highest = self.ndim or self.max_ndim
        if self.axes and highest is not None and max(self.axes) > highest - 1:
            raise ValueError(f"Axis {max(self.axes)} is greater than the maximum allowed value: {highest - 1}")

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self.get_config().items() if value)
        return f"InputSpec({said})"

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {name: getattr(self, name) for name in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """The specification that ``get_config`` describes."""
        return cls(**config)


def assert_input_compatibility(input_spec: Any, inputs: Any, layer_name: str) -> None:
    """ValueError unless each input is as its specification says."""
    if not input_spec:
        return
    inputs, specs = nest.flatten(inputs), nest.flatten(input_spec)
    if len(inputs) != len(specs):
        raise ValueError(f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(inputs)} input tensors. Inputs received: {inputs}")
    for index, (tensor, spec) in enumerate(zip(inputs, specs)):
        problem = None if spec is None else _problem(tensor, spec)
        if problem is not None:
            raise ValueError(f"Input {index} of layer {layer_name} is incompatible with the layer: {problem}")


def _problem(tensor: Any, spec: InputSpec) -> str | None:
    """What is wrong with an input; None if it is as specified."""
    rank = tensor.shape.ndims
    if rank is None and (spec.ndim, spec.min_ndim, spec.max_ndim) != (None, None, None):
        return "its rank is undefined, but the layer requires a defined rank."
    if spec.ndim is not None and rank != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={rank}. Full shape received: {tensor.shape.as_list()}"
    if spec.max_ndim is not None and rank > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={rank}"
    if spec.min_ndim is not None and rank < spec.min_ndim:
        return f": expected min_ndim={spec.min_ndim}, found ndim={rank}. Full shape received: {tensor.shape.as_list()}"
    if spec.dtype is not None and tensor.dtype.base_dtype.name != spec.dtype:
        return f"expected dtype={spec.dtype}, found dtype={tensor.dtype}"
    return None if rank is None else _extent_problem(tensor.shape.as_list(), spec)


def _extent_problem(extents: list[int | None], spec: InputSpec) -> str | None:
    for axis, wanted in spec.axes.items():
        wanted = getattr(wanted, "value", wanted)
        if wanted is not None and extents[axis] not in (wanted, None):
            return f"expected axis {axis} of input shape to have value {wanted} but received input with shape {extents}"
    for wanted, extent in zip(spec.shape or (), extents):
        if wanted is not None and extent is not None and getattr(wanted, "value", wanted) != extent:
            return f"expected shape={spec.shape}, found shape={extents}"
    return None
