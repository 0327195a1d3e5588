"""Seeds made of seeds: distributions that draw several times need different ones, and TensorFlow's."""
from __future__ import annotations

import hashlib
from typing import Any


def gen_new_seed(seed: int | None, salt: str) -> int | None:
    """A seed made of another one; None, which leaves it to the graph, stays None."""
    if seed is None:
        return None
    return int(hashlib.md5(f"{seed}{salt}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


class SeedStream:
    """``tf.contrib.distributions.SeedStream``: each call gives a seed, made of ``seed``, ``salt`` and the number of the call."""

    def __init__(self, seed: Any, salt: str) -> None:
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt = salt
        self._counter = 0

    def __call__(self) -> int | None:
        """The next seed; None if the stream was made with None."""
        self._counter += 1
        if self._seed is None:
            return None
        return int(hashlib.sha512(str((self._seed, self._counter, self._salt)).encode()).hexdigest(), 16)

    @property
    def original_seed(self) -> Any:
        """The seed that the stream was made with."""
        return self._seed

    @property
    def salt(self) -> str:
        """What makes this stream different from others with the same seed."""
        return self._salt
