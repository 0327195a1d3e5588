"""Operations as functions, as TensorFlow generates them: ``lrn_grad(input_grads, input_image, output_image, depth_radius=5, bias=1, ...)``.

They take the inputs, then the attributes that do not follow from these, first those without a default; then the name. Several results come as a
named tuple. ``tf.raw_ops`` and the modules ``tensorflow.python.ops.gen_*_ops`` are made of them.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph.attrs import REQUIRED
from penstock.graph.opdef import OpDef
from penstock.graph.shape import TensorShape

# Arguments that TensorFlow calls otherwise in functions than in graphs.
_AXIS = {"reduction_indices": "axis"}
_RENAMED = {
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), _AXIS),
    "ExpandDims": {"dim": "axis"}, "Split": {"split_dim": "axis"}, "SplitV": {"split_dim": "axis"}, "Squeeze": {"squeeze_dims": "axis"},
    "Select": {"t": "x", "e": "y"}, "Where": {"input": "condition"},
}
_DEFAULTS = {"SdcaOptimizer": {"adaptative": True}}  # that are others in functions than in graphs


def signature_of(definition: OpDef) -> inspect.Signature:
    """What the function of an operation takes."""
    renamed = _RENAMED.get(definition.type, {})
    defaults = {name: attr.default for name, attr in definition.attrs.items() if name not in definition.inferred}
    defaults.update(_DEFAULTS.get(definition.type, {}))
    required = [*(arg.name for arg in definition.inputs), *(name for name, value in defaults.items() if value is REQUIRED)]
    parameters = [inspect.Parameter(renamed.get(name, name), inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in required]
    optional = {**{name: _plain(value) for name, value in defaults.items() if value is not REQUIRED}, "name": None}
    parameters += [inspect.Parameter(renamed.get(name, name), inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)
                   for name, value in optional.items()]
    return inspect.Signature(parameters)


def _plain(default: Any) -> Any:
    """A default as people write it: 0.2 is not the float32 next to it."""
    if isinstance(default, TensorShape):
        return None if default.ndims is None else default.as_list()
    if isinstance(default, (tuple, list)):
        return [_plain(each) for each in default]
    return float(str(np.float32(default))) if isinstance(default, float) else default


def function_of(definition: OpDef, function_name: str, keywords_only: bool = False) -> Callable[..., Any]:
    """The function of an operation."""
    signature = signature_of(definition)
    original = {new: old for old, new in _RENAMED.get(definition.type, {}).items()}

    def function(*values: Any, **given: Any) -> Any:
        if keywords_only and values:
            raise TypeError(f"{function_name} only takes keyword args (possible keys: {list(signature.parameters)}). "
                            "Please pass these args as kwargs instead.")
        try:
            bound = signature.bind(*values, **given).arguments
        except TypeError as error:
            raise TypeError(f"{function_name}() {error}") from None
        return definition(**{**_DEFAULTS.get(definition.type, {}), **{original.get(key, key): value for key, value in bound.items()}})

    function.__name__ = function.__qualname__ = function_name
    function.__doc__ = definition.__doc__
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function
