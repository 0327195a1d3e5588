"""``tf.contrib.training.HParams``: hyperparameters, each of the type that it was made with; texts set them: ``"rate=0.1,sizes=[3,4]"``."""
from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable
from typing import Any, NoReturn

from penstock.platform.compat import as_bytes, as_str
from penstock.platform.proto import messages

HParamDef, = messages("hparam.proto", """
    message HParamDef {
        message BytesList { repeated bytes value = 1; }
        message FloatList { repeated float value = 1; }
        message Int64List { repeated int64 value = 1; }
        message BoolList { repeated bool value = 1; }
        message HParamType {
            oneof kind {
                int64 int64_value = 1;
                float float_value = 2;
                bytes bytes_value = 3;
                bool bool_value = 7;
                Int64List int64_list = 4;
                FloatList float_list = 5;
                BytesList bytes_list = 6;
                BoolList bool_list = 8;
            }
        }
        map<string, HParamType> hparam = 1;
    }
""", "HParamDef")
# The names of types in it.
_KINDS: list[tuple[type, str]] = [(bool, "bool"), (int, "int64"), (str, "bytes"), (bytes, "bytes"), (float, "float")]

_ASSIGNMENT = re.compile(r"""
    (?P<name>[a-zA-Z][\w\.]*)
    (\[\s*(?P<index>\d+)\s*\])?     # one element of a list
    \s*=\s*
    ((?P<value>[^,\[]*) | \[(?P<values>[^\]]*)\])
    ($|,\s*)""", re.VERBOSE)


# --- texts -----------------------------------------------------------------------------------------------------------


def parse_values(values: str, type_map: dict[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """``tf.contrib.training.parse_values``: {name: value} of a text; for ``name[1]=x``, {name: {1: x}}."""
    results: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name = match["name"]
        if name in type_map:
            _set(results, name, match, type_map[name], values)
        elif not ignore_unknown:
            raise ValueError(f"Unknown hyperparameter type for {name}")
    return results


def _set(results: dict[str, Any], name: str, match: re.Match[str], kind: type, values: str) -> None:
    def parsed(text: str) -> Any:
        try:
            return reader(text)
        except ValueError:
            _cannot_parse(name, kind, match["value"] if match["value"] is not None else match["values"], values)

    reader: Callable[[str], Any] = _as_bool if kind is bool else kind
    if match["value"] is None:
        if match["index"] is not None:
            raise ValueError("Assignment of a list to a list index.")
        if name in results:
            _cannot_reuse(name, values)
        results[name] = [parsed(element) for element in re.split("[ ,]", match["values"]) if element]
        return
    value = parsed(match["value"])
    if match["index"] is None:
        if name in results:
            _cannot_reuse(name, values)
        results[name] = value
        return
    elements, index = results.setdefault(name, {}), int(match["index"])
    if not isinstance(elements, dict):
        _cannot_reuse(name, values)
    if index in elements:
        _cannot_reuse(f"{name}[{index}]", values)
    elements[index] = value


def _as_bool(text: str) -> bool:
    return {"true": True, "True": True, "false": False, "False": False}[text] if text in ("true", "True", "false", "False") else bool(int(text))


def _cannot_parse(name: str, kind: type, value: str, values: str) -> NoReturn:
    raise ValueError(f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{value}' in {values}")


def _cannot_reuse(name: str, values: str) -> NoReturn:
    raise ValueError(f"Multiple assignments to variable '{name}' in {values}")


def _as_type(name: str, kind: type, value: Any) -> Any:
    """``value`` as a ``kind``; ValueError if something would be lost, or if one is a text, or a bool, and the other is not."""
    if type(value) is kind or issubclass(kind, type(None)):
        return value
    is_text = issubclass(kind, (str, bytes)) and not isinstance(value, (str, bytes))
    is_bool = issubclass(kind, bool) != isinstance(value, bool)
    is_fraction = issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral)
    is_no_number = issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number)
    if is_text or is_bool or is_fraction or is_no_number:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)


def _from_proto(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    field = getattr(value, kind)
    values = [as_str(each) if kind.startswith("bytes") else each for each in (field.value if kind.endswith("_list") else [field])]
    return values if kind.endswith("_list") else values[0]


# --- the object ------------------------------------------------------------------------------------------------------


class HParams:
    """``tf.contrib.training.HParams``: hyperparameters as attributes. Each keeps the type that it was made with."""

    _HAS_DYNAMIC_ATTRIBUTES = True  # for checkers of types

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        self._hparam_types: dict[str, tuple[type, bool]] = {}  # of an element, and whether there is a list of them
        self._model_structure = model_structure
        if hparam_def is not None:
            if not isinstance(hparam_def, HParamDef):
                raise AssertionError(f"hparam_def must be an HParamDef, not {type(hparam_def).__name__}")
            for name, value in hparam_def.hparam.items():
                self.add_hparam(name, _from_proto(value))
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """A further hyperparameter, with its first value."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = type(value[0]) if is_list else type(value), is_list
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Another value of the same type."""
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_as_type(name, kind, element) for element in value])
        else:
            if is_list:
                raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
            setattr(self, name, _as_type(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Removes a hyperparameter, if there is one of this name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Sets those that a text names: ``"rate=0.1,sizes=[3,4]"``."""
        return self.override_from_dict(parse_values(values, {name: kind for name, (kind, _) in self._hparam_types.items()}))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Sets those that a dict names."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: dict[str, Any]) -> HParams:
        """The older name of ``override_from_dict``."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        """Keeps a description of the model beside the hyperparameters."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """That description."""
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """All of them as JSON."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Sets those that a JSON object names."""
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """{name: value}."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """The value; ``default``, which must be of its type, if there is none."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            self._check_default(key, default)
        return getattr(self, key)

    def _check_default(self, key: str, default: Any) -> None:
        kind, is_list = self._hparam_types[key]
        what = f"list<{kind}>" if is_list else str(kind)
        problem = f"Hparam '{key}' of type '{what}' is incompatible with default={default}"
        if is_list != isinstance(default, list):
            raise ValueError(problem)
        try:
            for element in default if is_list else [default]:
                _as_type(key, kind, element)
        except ValueError as error:
            raise ValueError(f"{problem}. {error}") from error

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The hyperparameters as an HParamDef."""
        result = HParamDef()
        for name, (kind, is_list) in self._hparam_types.items():
            proto_kind = next((proto for python, proto in _KINDS if issubclass(kind, python)), None)
            if proto_kind is None:
                raise ValueError(f"Unsupported parameter type: {kind}")
            value = getattr(self, name)
            values = [as_bytes(each) if proto_kind == "bytes" else each for each in (value if is_list else [value])]
            if is_list:
                getattr(result.hparam[name], f"{proto_kind}_list").value.extend(values)
            else:
                setattr(result.hparam[name], f"{proto_kind}_value", values[0])
        return result

    @staticmethod
    def from_proto(hparam_def: Any, import_scope: str | None = None) -> HParams:
        """The hyperparameters of an HParamDef."""
        return HParams(hparam_def=hparam_def)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"
