"""AdaNet 0.8 on Penstock: an ensemble grows by a deeper network per iteration. The prediction is what it is on TensorFlow 1.15.

    make libraries ARGS=adanet
"""
import tempfile

import adanet
import numpy as np
import tensorflow as tf
from adanet.examples import simple_dnn

rng = np.random.RandomState(0)
x = rng.randn(256, 4).astype(np.float32)
y = (x @ np.array([1.0, -2.0, 3.0, 0.5]) + 0.1 * rng.randn(256)).astype(np.float32)[:, None]


def batches(repeat=False):
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, y))
    return (data.shuffle(256, seed=1).repeat() if repeat else data).batch(32)


generator = simple_dnn.Generator(feature_columns=[tf.feature_column.numeric_column("x", shape=[4])], optimizer=tf.train.RMSPropOptimizer(0.01),
                                 layer_size=16, seed=3)
estimator = adanet.Estimator(
    head=tf.contrib.estimator.regression_head(loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE), subnetwork_generator=generator,
    max_iteration_steps=60, evaluator=adanet.Evaluator(input_fn=batches),
    config=tf.estimator.RunConfig(tf_random_seed=42, model_dir=tempfile.mkdtemp()))
estimator.train(lambda: batches(repeat=True), max_steps=180)
scores = estimator.evaluate(batches)
prediction = next(estimator.predict(batches))["predictions"][0]
print("adanet: iteration %d, loss %.4f, first prediction %.4f" % (scores["iteration"], scores["average_loss"], prediction))
assert scores["iteration"] == 2 and abs(prediction - 4.6853) < 2e-3
