"""``tf.contrib.constrained_optimization``: an objective under constraints, as a game of two players."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.constrained_optimization.candidates": "find_best_candidate_distribution find_best_candidate_index",
    "penstock.contrib.constrained_optimization.optimizers": ("AdditiveExternalRegretOptimizer AdditiveSwapRegretOptimizer "
        "ConstrainedMinimizationProblem ConstrainedOptimizer MultiplicativeSwapRegretOptimizer"),
}
publish(__name__, TABLE)
