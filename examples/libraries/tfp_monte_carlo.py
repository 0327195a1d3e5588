"""TensorFlow Probability 0.8.0 on Penstock: a posterior that is known, by Hamiltonian Monte Carlo.

    make libraries ARGS=tfp
"""
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions
observed = np.array([1.2, 0.8, 1.1, 0.9, 1.5], np.float32)


def log_posterior(mean):
    """A normal prior, and normal observations of variance 1: the posterior of the mean is N(5.5 / 6, 1 / 6)."""
    return tfd.Normal(0.0, 1.0).log_prob(mean) + tf.reduce_sum(tfd.Normal(mean, 1.0).log_prob(observed))


kernel = tfp.mcmc.HamiltonianMonteCarlo(target_log_prob_fn=log_posterior, step_size=0.3, num_leapfrog_steps=2, seed=1)
samples = tfp.mcmc.sample_chain(num_results=1000, num_burnin_steps=200, current_state=tf.constant(0.0), kernel=kernel, trace_fn=None)
with tf.Session() as session:
    drawn = session.run(samples)
assert abs(drawn.mean() - 5.5 / 6) < 0.05, drawn.mean()
assert abs(drawn.std() - (1 / 6) ** 0.5) < 0.05, drawn.std()
print(f"mean {drawn.mean():.3f}, standard deviation {drawn.std():.3f}")
print("ok")
