"""Workers that are late: how much longer than usual a step takes, now and then."""
from __future__ import annotations

import random
import re
from dataclasses import dataclass

_LEAST_SHAPE = 0.1


@dataclass(frozen=True)
class Straggling:
    """A delay before each step of a worker, in seconds: none, an exponential one, or one of a Pareto distribution, whose tail is heavy.

    >>> Straggling.parse("pareto:20ms,1.5")
    Straggling(kind='pareto', scale=0.02, shape=1.5)
    """

    kind: str = "none"
    scale: float = 0.0
    shape: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Straggling:
        """``none``, ``exponential:20ms``, ``pareto:20ms,1.5``; ValueError if it is something else."""
        if text == "none":
            return cls()
        number = r"([0-9]+(?:\.[0-9]+)?)"
        match = re.fullmatch(rf"(exponential|pareto):{number}(s|ms|us)(?:,{number})?", text)
        if match is None or (match[1] == "pareto") != bool(match[4]) or not all(float(each) for each in (match[2], match[4] or "1")):
            raise ValueError(f"{text!r} does not say how workers straggle: none, exponential:20ms and pareto:20ms,1.5 do (the mean, or the least "
                             "time and the shape)")
        if match[4] and float(match[4]) < _LEAST_SHAPE:
            raise ValueError(f"{text!r}: with a shape below {_LEAST_SHAPE} delays would be endless; those of 1 and less have no mean")
        return cls(match[1], float(match[2]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[match[3]], float(match[4] or 1.0))

    def delay(self, source: random.Random) -> float:
        """The delay of one step."""
        if self.kind == "exponential":
            return source.expovariate(1.0 / self.scale)
        if self.kind == "pareto":
            return self.scale * (source.paretovariate(self.shape) - 1.0)
        return 0.0
