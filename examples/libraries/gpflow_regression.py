"""GPflow 1.5.1 on Penstock: Gaussian process regression, its hyperparameters found by SciPy.

    make libraries ARGS=gpflow
"""
import gpflow
import numpy as np

rng = np.random.RandomState(0)
x = rng.uniform(0, 6, (40, 1))
y = np.sin(x) + 0.05 * rng.normal(size=x.shape)
model = gpflow.models.GPR(x, y, kern=gpflow.kernels.RBF(1))
before = model.compute_log_likelihood()
gpflow.train.ScipyOptimizer().minimize(model, maxiter=50)
mean, variance = model.predict_y(np.linspace(0.5, 5.5, 20)[:, None])
error = np.abs(mean[:, 0] - np.sin(np.linspace(0.5, 5.5, 20))).max()
print("gpflow: log likelihood %.1f, then %.1f; largest error %.3f" % (before, model.compute_log_likelihood(), error))
assert model.compute_log_likelihood() > before and error < 0.15 and (variance > 0).all()
