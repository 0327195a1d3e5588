"""What an Experiment asks of an estimator: that it can be trained, and evaluated."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Evaluable(ABC):
    """``tf.contrib.learn.Evaluable``: it can be evaluated."""

    @property
    @abstractmethod
    def model_dir(self) -> str:
        """The folder of its checkpoints."""

    @abstractmethod
    def evaluate(self, x: Any = None, y: Any = None, input_fn: Any = None, feed_fn: Any = None, batch_size: int | None = None,
                 steps: int | None = None, metrics: Any = None, name: str | None = None, checkpoint_path: str | None = None,
                 hooks: Any = None) -> dict[str, Any]:
        """Its metrics by name."""


class Trainable(ABC):
    """``tf.contrib.learn.Trainable``: it can be trained."""

    @abstractmethod
    def fit(self, x: Any = None, y: Any = None, input_fn: Any = None, steps: int | None = None, batch_size: int | None = None,
            monitors: Any = None, max_steps: int | None = None) -> Any:
        """Trains it."""
