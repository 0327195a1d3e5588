"""The stacks of defaults: which graph and which session a call without one means. Each thread has its own."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class DefaultStack(threading.local):
    """A stack per thread; leaving must happen in the order of entering, unless ``strict`` is off."""

    entered: ClassVar[list[None]] = []  # one for each item, of any thread: as long as it is empty, no thread's stack need be asked

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.strict = True

    def top(self) -> Any:
        """The current default, or None."""
        return self.items[-1] if self.items else None

    get_default = top  # TensorFlow's name

    def reset(self) -> None:
        """Forgets all defaults of this thread."""
        self.items.clear()

    @contextmanager
    def using(self, item: Any) -> Iterator[Any]:
        """Makes ``item`` the default inside a ``with`` block."""
        self.items.append(item)
        self.entered.append(None)
        try:
            yield item
        finally:
            self.entered.pop()
            if self.strict and (not self.items or self.items[-1] is not item):
                raise AssertionError(f"Nesting violated for default stack of {type(item)} objects")
            for index in range(len(self.items) - 1, -1, -1):
                if self.items[index] is item:
                    del self.items[index]
                    break


sessions = DefaultStack()


def default_session() -> Any:
    """``tf.get_default_session()``: the session of the innermost ``with session.as_default()``, or None."""
    return sessions.top()


gradient_calls = DefaultStack()  # the name scopes of the calls of ``tf.gradients`` under way, the outermost first
gated_calls = DefaultStack()  # of these calls: whether all gradients of an operation wait for each other
needed_inputs = DefaultStack()  # of the operation that is being differentiated: whether the gradient of each input is needed

