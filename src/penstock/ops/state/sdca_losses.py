"""The losses of stochastic dual coordinate ascent: how the dual variable of an example moves, and what an example costs, primal and dual.

``weighted_norm`` below is the squared norm of an example by the strength of regularization, times its weight and the number of loss partitions.
"""
from __future__ import annotations

import math
import sys

from penstock.errors import invalid_argument

_NEWTON_STEPS = 10


class SdcaLoss:
    """What each loss says of one example."""

    smoothness = 1.0

    @staticmethod
    def label(value: float) -> float:
        """The label as the loss uses it; InvalidArgumentError if it cannot."""
        return value

    @staticmethod
    def updated_dual(label: float, dual: float, wx: float, weighted_norm: float) -> float:
        """The best value of the dual variable, the others unchanged."""
        raise NotImplementedError

    @staticmethod
    def dual_loss(dual: float, label: float) -> float:
        """The conjugate of the loss."""
        raise NotImplementedError

    @staticmethod
    def primal_loss(wx: float, label: float) -> float:
        """The loss of a prediction."""
        raise NotImplementedError

    @staticmethod
    def derivative(wx: float, label: float) -> float:
        """The derivative of the loss of a prediction."""
        raise NotImplementedError


class Squared(SdcaLoss):
    """Half of the squared error."""

    @staticmethod
    def updated_dual(label: float, dual: float, wx: float, weighted_norm: float) -> float:
        return dual + (label - dual - wx) / (1 + weighted_norm)

    @staticmethod
    def dual_loss(dual: float, label: float) -> float:
        return dual * (0.5 * dual - label)

    @staticmethod
    def primal_loss(wx: float, label: float) -> float:
        return 0.5 * (wx - label) ** 2

    @staticmethod
    def derivative(wx: float, label: float) -> float:
        return wx - label


class _OfClasses(SdcaLoss):
    """A loss of two classes: labels 0 and 1 become -1 and 1."""

    @staticmethod
    def label(value: float) -> float:
        if value not in (0.0, 1.0):
            raise invalid_argument(f"Only labels of 0.0 or 1.0 are supported right now. Found example with label: {value:g}")
        return value or -1.0


class Logistic(_OfClasses):
    """log(1 + exp(-label * wx))."""

    smoothness = 4.0

    @staticmethod
    def updated_dual(label: float, dual: float, wx: float, weighted_norm: float) -> float:
        x = 0.0
        for _ in range(_NEWTON_STEPS):
            t = math.tanh(x)
            x -= (-2 * label * x - wx - weighted_norm * (0.5 * (1 + t) / label - dual)) / (-2 * label - weighted_norm * (1 - t * t) * 0.5 / label)
        return 0.5 * (1 + math.tanh(x)) / label

    @staticmethod
    def dual_loss(dual: float, label: float) -> float:
        ay = dual * label
        return sum(part * math.log(part) for part in (ay, 1 - ay) if part > 0)

    @staticmethod
    def primal_loss(wx: float, label: float) -> float:
        return math.log1p(math.exp(-abs(wx))) + max(0.0, -label * wx)

    @staticmethod
    def derivative(wx: float, label: float) -> float:
        return -label * math.exp(min(0.0, -label * wx)) / (1 + math.exp(-abs(wx)))


class SmoothHinge(_OfClasses):
    """The hinge loss with a parabola at its corner, of width ``gamma``."""

    smoothness = gamma = 1.0

    @classmethod
    def updated_dual(cls, label: float, dual: float, wx: float, weighted_norm: float) -> float:
        best = dual + (label - wx - cls.gamma * dual) / (weighted_norm + cls.gamma)
        return label * min(max(label * best, 0.0), 1.0)

    @classmethod
    def dual_loss(cls, dual: float, label: float) -> float:
        return -dual * label + 0.5 * cls.gamma * dual * dual if 0 <= dual * label <= 1 else sys.float_info.max

    @classmethod
    def primal_loss(cls, wx: float, label: float) -> float:
        gap = 1 - label * wx
        return max(gap, 0.0) ** 2 / 2 / cls.gamma if gap < cls.gamma else gap - cls.gamma / 2

    @classmethod
    def derivative(cls, wx: float, label: float) -> float:
        return -label * min(max(1 - label * wx, 0.0) / cls.gamma, 1.0)


class Hinge(SmoothHinge):
    """max(0, 1 - label * wx)."""

    smoothness = gamma = 0.0

    @classmethod
    def updated_dual(cls, label: float, dual: float, wx: float, weighted_norm: float) -> float:
        return super().updated_dual(label, dual, wx, weighted_norm) if weighted_norm else label * float(label * (label - wx) > 0)

    @classmethod
    def primal_loss(cls, wx: float, label: float) -> float:
        return max(0.0, 1 - label * wx)

    @classmethod
    def derivative(cls, wx: float, label: float) -> float:
        return -label if label * wx < 1 else 0.0


class Poisson(SdcaLoss):
    """exp(wx) - wx * label."""

    @staticmethod
    def label(value: float) -> float:
        if value < 0:
            raise invalid_argument(f"Only non-negative labels can be used with the Poisson log loss. Found example with label: {value:g}")
        return value

    @staticmethod
    def updated_dual(label: float, dual: float, wx: float, weighted_norm: float) -> float:
        x = math.log(label - dual) if label > dual else 0.0
        for _ in range(_NEWTON_STEPS):
            x -= (x - wx - weighted_norm * (label - dual - math.exp(x))) / (1 + weighted_norm * math.exp(x))
        return label - math.exp(x)

    @staticmethod
    def dual_loss(dual: float, label: float) -> float:
        left = label - dual
        if left < 0:
            return sys.float_info.max
        return left * (math.log(left) - 1) if left else 0.0

    @staticmethod
    def primal_loss(wx: float, label: float) -> float:
        return math.exp(wx) - wx * label

    @staticmethod
    def derivative(wx: float, label: float) -> float:
        return math.exp(wx) - label


LOSSES: dict[str, type[SdcaLoss]] = {"logistic_loss": Logistic, "squared_loss": Squared, "hinge_loss": Hinge, "smooth_hinge_loss": SmoothHinge,
                                 "poisson_loss": Poisson}
