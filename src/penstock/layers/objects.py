"""How initializers, regularizers, constraints, activations and layers are named in a configuration: by class name and config, or by name alone."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

_custom_objects: dict[str, Any] = {}


class CustomObjectScope:
    """``tf.keras.utils.CustomObjectScope``: inside, names in configurations may also mean these objects."""

    def __init__(self, *args: Mapping[str, Any]) -> None:
        self.custom_objects = args
        self._before: dict[str, Any] = {}

    def __enter__(self) -> CustomObjectScope:
        self._before = dict(_custom_objects)
        for each in self.custom_objects:
            _custom_objects.update(each)
        return self

    def __exit__(self, *error: object) -> None:
        _custom_objects.clear()
        _custom_objects.update(self._before)


def custom_object_scope(*args: Mapping[str, Any]) -> CustomObjectScope:
    """``tf.keras.utils.custom_object_scope``: inside, names in configurations may also mean these objects."""
    return CustomObjectScope(*args)


def get_custom_objects() -> dict[str, Any]:
    """``tf.keras.utils.get_custom_objects``: the names of the user's own objects, which may be changed."""
    return _custom_objects


def serialize_object(instance: Any) -> Any:
    """``tf.keras.utils.serialize_keras_object``: class name and config of an object, or the name of a function."""
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": type(instance).__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError("Cannot serialize", instance)


def deserialize_object(identifier: Any, module_objects: Mapping[str, Any] | None = None, custom_objects: Mapping[str, Any] | None = None,
                       printable_module_name: str = "object") -> Any:
    """``tf.keras.utils.deserialize_keras_object``: the object that a configuration or a name means."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        return _from_config(identifier, module_objects or {}, custom_objects or {}, printable_module_name)
    if not isinstance(identifier, str):
        raise ValueError(f"Could not interpret serialized {printable_module_name}: {identifier}")
    meant = _look_up(identifier, module_objects or {}, custom_objects or {})
    if meant is None:
        raise ValueError(f"Unknown {printable_module_name}:{identifier}")
    return meant() if inspect.isclass(meant) else meant


def _look_up(name: str, module_objects: Mapping[str, Any], custom_objects: Mapping[str, Any]) -> Any:
    return next((names[name] for names in (custom_objects, _custom_objects, module_objects) if name in names), None)


def look_up_class(config: Any, module_objects: Mapping[str, Any], custom_objects: Mapping[str, Any] | None, what: str) -> Any:
    """The class, or the function that makes an object, which a configuration names."""
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise ValueError(f"Improper config format: {config}")
    cls = _look_up(config["class_name"], module_objects, custom_objects or {})
    if cls is None:
        raise ValueError(f"Unknown {what}: {config['class_name']}")
    return cls


def _from_config(config: dict[str, Any], module_objects: Mapping[str, Any], custom_objects: Mapping[str, Any], what: str) -> Any:
    cls = look_up_class(config, module_objects, custom_objects, what)
    if not hasattr(cls, "from_config"):  # a function that makes the object
        with custom_object_scope(custom_objects):
            return cls(**config["config"])
    if "custom_objects" in inspect.signature(cls.from_config).parameters:
        return cls.from_config(config["config"], custom_objects={**_custom_objects, **custom_objects})
    with custom_object_scope(custom_objects):
        return cls.from_config(config["config"])


def getter_of(deserialize: Callable[[Any], Any], makers: Mapping[str, Any] | None, what: str) -> Callable[[Any], Any]:
    """A function ``get(identifier)``: the object that a name, a config, an object or None means. ``makers`` are functions that make an object;
    None: all names mean such functions, or classes."""
    def get(identifier: Any) -> Any:
        if isinstance(identifier, str) and (makers is None or identifier in makers):
            return deserialize({"class_name": identifier, "config": {}})
        if identifier is None or isinstance(identifier, (str, dict)):
            return deserialize(identifier)
        if callable(identifier):
            return identifier
        raise ValueError(f"Could not interpret {what} identifier: {identifier}")

    return get
