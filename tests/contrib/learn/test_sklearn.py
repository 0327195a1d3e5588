"""SKCompat in scikit-learn: cross validation, pipelines, searches over parameters."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed: it is needed for its own cross validation")
learn = tf.contrib.learn


def data(rows=90):
    random = np.random.RandomState(0)
    x = random.normal(size=(rows, 3)).astype(np.float32)
    return x, (x[:, 0] + 0.5 * x[:, 1] > 0).astype(np.int64)


def classifier(rate=0.5, folder=None):
    columns = learn.infer_real_valued_columns_from_input(data()[0])
    return learn.LinearClassifier(columns, folder, optimizer=tf.train.GradientDescentOptimizer(rate))


class Classifier(learn.SKCompat):
    """Predicts classes alone, as scikit-learn expects; trains a fixed number of steps."""

    def fit(self, x, y):
        return super().fit(x, y, batch_size=len(x), steps=15)

    def predict(self, x):
        return super().predict(x, outputs=["classes"])["classes"]


def test_cross_validation(tmp_path):
    from sklearn.model_selection import cross_val_score
    x, y = data()
    model = Classifier(classifier(folder=str(tmp_path)))
    scores = cross_val_score(model, x, y, scoring="accuracy", cv=3, error_score="raise")
    assert len(scores) == 3 and scores.min() > 0.8
    by_metric = cross_val_score(model, x, y, cv=3, scoring=lambda estimator, x, y: float(estimator.score(x, y)["accuracy"]), error_score="raise")
    np.testing.assert_allclose(by_metric, scores, atol=1e-6)
    assert tf.train.latest_checkpoint(str(tmp_path)) is None  # copies have folders of their own


def test_pipeline():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x, y = data()
    model = make_pipeline(StandardScaler(), Classifier(classifier())).fit(100 * x + 7, y)
    assert (model.predict(100 * x + 7) == y).mean() > 0.9


def test_copies():
    from sklearn.base import clone
    model = Classifier(classifier())
    model.fit(*data())
    other = clone(model)
    assert other.get_params()["estimator"] is not model.get_params()["estimator"]
    with pytest.raises(learn.NotFittedError):
        other.predict(data()[0])


def test_parameters():
    model = learn.SKCompat(classifier())
    assert model.get_params()["estimator__n_classes"] == 2
    model.set_params(estimator__n_classes=3)
    assert model.get_params()["estimator"].get_params()["n_classes"] == 3 and "n_classes=3" in repr(model)
    with pytest.raises(ValueError, match="Invalid parameter depth for estimator SKCompat"):
        model.set_params(depth=3)
