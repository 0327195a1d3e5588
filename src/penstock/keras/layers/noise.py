"""Noise in training: GaussianNoise, GaussianDropout, AlphaDropout."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.keras.backend.values import random_normal, random_uniform
from penstock.layers.base import Layer
from penstock.layers.branching import learning_phase, smart_cond
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import shape
from penstock.ops.math.compare import greater_equal

_ALPHA, _SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946  # those of selu


class _Noise(Layer):
    """What the layers share: in inference the inputs go through."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _noisy(self, inputs: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The inputs, in training with noise."""
        return smart_cond(learning_phase() if training is None else training, lambda: self._noisy(inputs), lambda: inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape


class GaussianNoise(_Noise):
    """``tf.keras.layers.GaussianNoise``: adds normal numbers."""

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def _noisy(self, inputs: Any) -> Any:
        return inputs + random_normal(shape(inputs), mean=0.0, stddev=self.stddev, dtype=inputs.dtype)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "stddev": self.stddev}


class GaussianDropout(_Noise):
    """``tf.keras.layers.GaussianDropout``: multiplies by normal numbers around 1."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The inputs, in training with noise."""
        return super().call(inputs, training) if 0 < self.rate < 1 else inputs

    def _noisy(self, inputs: Any) -> Any:
        return inputs * random_normal(shape(inputs), mean=1.0, stddev=np.sqrt(self.rate / (1.0 - self.rate)), dtype=inputs.dtype)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "rate": self.rate}


class AlphaDropout(_Noise):
    """``tf.keras.layers.AlphaDropout``: dropout that keeps mean and variance behind selu."""

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The inputs, or what is left of them."""
        if not 0 < self.rate < 1:
            return inputs
        noise_shape = self.noise_shape or shape(inputs)  # outside of the branch, as in TensorFlow: seeds depend on it
        return smart_cond(learning_phase() if training is None else training, lambda: self._dropped(inputs, noise_shape), lambda: inputs)

    def _dropped(self, inputs: Any, noise_shape: Any) -> Any:
        least = -_ALPHA * _SCALE
        kept = greater_equal(random_uniform(noise_shape, seed=self.seed), self.rate)
        kept = cast(kept, inputs.dtype)
        a = ((1 - self.rate) * (1 + self.rate * least ** 2)) ** -0.5
        return a * (inputs * kept + least * (1 - kept)) + -a * least * self.rate

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "rate": self.rate}
