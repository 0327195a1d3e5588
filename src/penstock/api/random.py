"""``tf.random``: random tensors."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.graph.seeds": "get_seed set_random_seed",
    "penstock.ops.random.random": "uniform=random_uniform normal=random_normal truncated_normal shuffle=random_shuffle multinomial categorical "
                           "poisson=random_poisson",
    "penstock.ops.nn.candidate": "uniform_candidate_sampler log_uniform_candidate_sampler learned_unigram_candidate_sampler "
                              "fixed_unigram_candidate_sampler all_candidate_sampler",
    "penstock.ops.random.random_gamma": "gamma=random_gamma",
    "penstock.ops.random.random_stateless": "stateless_uniform=stateless_random_uniform stateless_normal=stateless_random_normal "
                                     "stateless_truncated_normal stateless_multinomial stateless_categorical",
}
publish(__name__, TABLE)
