"""Which of several solutions, or which mixture of them, is best under constraints."""
from __future__ import annotations

from typing import Any

import numpy as np


def _checked(objective_vector: Any, constraints_matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    objectives, constraints = np.asarray(objective_vector), np.asarray(constraints_matrix)
    if objectives.ndim != 1 or constraints.ndim != 2 or constraints.shape[1] != len(objectives):
        raise ValueError("objective_vector needs the shape (n,) and constraints_matrix (m, n), with a column for each candidate; "
                         f"got {objectives.shape} and {constraints.shape}.")
    return objectives, constraints


def find_best_candidate_index(objective_vector: Any, constraints_matrix: Any, rank_objectives: bool = False) -> int:
    """The candidate whose worst rank, among all violations, is best; the objective decides between equal ones, and of equals the last is taken."""
    objectives, constraints = _checked(objective_vector, constraints_matrix)
    compared = np.maximum(0.0, constraints)
    if rank_objectives:
        compared = np.concatenate([compared, objectives[None]])
    ranks = (compared[:, :, None] > compared[:, None, :]).sum(2).max(0, initial=0)
    best = np.lexsort((-np.arange(len(objectives)), objectives, ranks))
    return int(best[0])


def find_best_candidate_distribution(objective_vector: Any, constraints_matrix: Any, epsilon: float = 0.0) -> np.ndarray:
    """The mixture with the least objective among those with the least violation, which is found by bisection."""
    if epsilon < 0:
        raise ValueError(f"epsilon must be nonnegative, got {epsilon}.")
    objectives, constraints = _checked(objective_vector, constraints_matrix)
    best = _mixture(objectives, constraints, 0.0)
    if best is not None:
        return best
    lower, upper = 0.0, float(np.maximum(0.0, constraints).max(0).min())
    best = _mixture(objectives, constraints, upper)
    while best is None:  # by rounding
        upper = upper * (1 + 1e-6) + 1e-12
        best = _mixture(objectives, constraints, upper)
    while True:
        middle = 0.5 * (lower + upper)
        if middle - lower <= epsilon or upper - middle <= epsilon:
            return best
        found = _mixture(objectives, constraints, middle)
        if found is None:
            lower = middle
        else:
            best, upper = found, middle


def _mixture(objectives: np.ndarray, constraints: np.ndarray, violation: float) -> np.ndarray | None:
    """The best mixture that violates no constraint by more, if there is one."""
    from scipy.optimize import linprog  # deferred: nothing else here needs SciPy, which is not always installed
    found = linprog(objectives, A_ub=constraints, b_ub=np.full(len(constraints), violation), A_eq=np.ones([1, len(objectives)]), b_eq=[1.0],
                    bounds=(0, None))
    return found.x if found.success else None
