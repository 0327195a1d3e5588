"""``tf.test.StubOutForTesting``: attributes that a test replaces, and gets back."""
from __future__ import annotations

import inspect
from typing import Any

_ABSENT = object()


class StubOutForTesting:
    """Replaces attributes of modules, classes and objects. ``CleanUp`` puts back what was there; so does the end of a ``with`` block."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []
        self._smartly_replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.CleanUp()

    def __del__(self) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Undoes all replacements."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replaces an attribute where it is defined: in the object, or in the class of it that has it."""
        owner = obj
        if not inspect.ismodule(obj) and attr_name not in vars(obj):
            classes = inspect.getmro(obj if inspect.isclass(obj) else type(obj))
            owner = next((each for each in classes if attr_name in vars(each)), None)
            if owner is None:
                raise AttributeError(attr_name)
        elif inspect.ismodule(obj):
            getattr(obj, attr_name)  # AttributeError if there is none
        self._smartly_replaced.append((owner, attr_name, _own(owner, attr_name)))
        setattr(owner, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:
        """Undoes what ``SmartSet`` did, the last first."""
        _restore(self._smartly_replaced)

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replaces an attribute; a function that takes the place of a static or class method becomes one, too."""
        getattr(parent, child_name)  # AttributeError if there is none
        old = _own(parent, child_name)
        self._replaced.append((parent, child_name, old))
        setattr(parent, child_name, type(old)(new_child) if isinstance(old, (staticmethod, classmethod)) else new_child)

    def UnsetAll(self) -> None:
        """Undoes what ``Set`` did, the last first."""
        _restore(self._replaced)


def _own(owner: Any, name: str) -> Any:
    return vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else getattr(owner, name)


def _restore(replaced: list[tuple[Any, str, Any]]) -> None:
    while replaced:
        owner, name, old = replaced.pop()
        if old is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, old)
