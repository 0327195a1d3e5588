"""OptimizerWrapper: what an optimizer around another one hands on to it."""
from __future__ import annotations

from typing import Any

from penstock.train.optimizer import DirectSubclass, Optimizer


class OptimizerWrapper(Optimizer, metaclass=DirectSubclass):
    """Changes how gradients are applied; gradients, slots and variables are those of the wrapped optimizer."""

    def __init__(self, opt: Optimizer, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """What the wrapped optimizer computes, from this worker's data alone."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, var: Any, name: str) -> Any:
        """A slot of the wrapped optimizer."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the wrapped optimizer's slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Any]:
        """The variables of the wrapped optimizer."""
        return self._opt.variables()
