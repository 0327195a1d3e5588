"""TFLearn 0.3.2 on Penstock: layers, a regression head, training, saving and loading.

    make libraries ARGS=tflearn
"""
import os
import tempfile

import numpy as np
import tensorflow as tf
import tflearn

rng = np.random.RandomState(0)
points = rng.uniform(-1, 1, (400, 2)).astype(np.float32)
labels = np.eye(2)[(np.square(points).sum(1) < 0.5).astype(int)]


def network():
    net = tflearn.fully_connected(tflearn.input_data([None, 2]), 32, activation="tanh")
    net = tflearn.fully_connected(net, 2, activation="softmax")
    return tflearn.DNN(tflearn.regression(net, optimizer="adam", learning_rate=0.05), tensorboard_verbose=0, tensorboard_dir=tempfile.mkdtemp())


model = network()
model.fit(points, labels, n_epoch=60, batch_size=40, show_metric=False, run_id="points")
path = os.path.join(tempfile.mkdtemp(), "model.tflearn")
model.save(path)
tf.reset_default_graph()
again = network()
again.load(path)
accuracy = np.mean(np.argmax(again.predict(points), 1) == labels.argmax(1))
print("tflearn: accuracy %.2f after saving and loading" % accuracy)
assert accuracy > 0.85
