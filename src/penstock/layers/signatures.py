"""Constructors and functions that are another one's with other defaults: Conv2D is Conv with ``rank=2``, ``tf.layers.conv2d`` calls it once.

Their signatures are real ones, which ``help`` and ``inspect`` show; arguments are passed on by name.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any


class derived_init:
    """An ``__init__`` with the arguments of ``base.__init__``: some of them ``fixed``, some with other ``defaults``; new ones come at the end.

    >>> class Point:
    ...     def __init__(self, x, y, z=0, **kwargs):
    ...         self.place = x, y, z
    >>> class OnTheFloor(Point):
    ...     __init__ = derived_init(Point, fixed={"z": 0}, y=1)
    >>> inspect.signature(OnTheFloor), OnTheFloor(5).place
    (<Signature (x, y=1, **kwargs)>, (5, 1, 0))
    """

    def __init__(self, base: type, fixed: dict[str, Any] | None = None, **defaults: Any) -> None:
        self._fixed = fixed or {}
        parameters = [each for each in inspect.signature(base.__init__).parameters.values() if each.name not in self._fixed]  # type: ignore[misc]
        self._signature = _with_defaults(parameters, defaults)

    def __set_name__(self, owner: type, name: str) -> None:
        fixed, signature = self._fixed, self._signature

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            _, *given = bound.arguments.items()
            arguments = {key: value for key, value in given if key != "kwargs"}
            super(owner, self).__init__(**arguments, **{**fixed, **bound.arguments.get("kwargs", {})})  # type: ignore[arg-type]

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        __init__.__qualname__ = f"{owner.__qualname__}.__init__"
        setattr(owner, name, __init__)


def _with_defaults(parameters: list[Parameter], defaults: dict[str, Any]) -> Signature:
    known = {each.name for each in parameters}
    named = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
    changed = [each.replace(default=defaults[each.name]) if each.name in defaults else each for each in named]
    added = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value) for name, value in defaults.items() if name not in known]
    return Signature([*changed, *added, Parameter("kwargs", Parameter.VAR_KEYWORD)])


def layer_function(cls: type, name: str, shared: bool = True) -> Callable[..., Any]:
    """``name(inputs, ...)``: a layer of the class is made of the arguments and called on ``inputs``.

    ``shared`` functions have variables: they take ``reuse`` too, and their name is a variable scope.
    """
    _, *own = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    parameters = [Parameter("inputs", Parameter.POSITIONAL_OR_KEYWORD), *(each for each in own if each.kind is not each.VAR_KEYWORD)]
    if shared:
        parameters.append(Parameter("reuse", Parameter.POSITIONAL_OR_KEYWORD, default=None))
    signature = Signature(parameters)

    def function(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        inputs = arguments.pop("inputs")
        if shared:
            arguments.update(_reuse=arguments.pop("reuse", None), _scope=arguments.get("name"))
        return cls(**arguments).apply(inputs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``tf.layers.{name}``: a new layer {cls.__name__}, called on ``inputs``."
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function
