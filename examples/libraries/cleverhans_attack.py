"""CleverHans 3 on Penstock: the fast gradient sign method fools a classifier.

    make libraries ARGS=cleverhans
"""
import numpy as np
import tensorflow as tf
from cleverhans.attacks import FastGradientMethod
from cleverhans.model import Model

rng = np.random.RandomState(0)
labels = rng.randint(2, size=200)
points = (rng.normal(size=(200, 4)) + 2 * labels[:, None]).astype(np.float32)


class Classifier(Model):
    def __init__(self):
        super().__init__("classifier", 2, {})

    def fprop(self, x, **kwargs):
        with tf.variable_scope("classifier", reuse=tf.AUTO_REUSE):
            logits = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu, name="hidden"), 2, name="logits")
        return {self.O_LOGITS: logits, self.O_PROBS: tf.nn.softmax(logits)}


x, model = tf.placeholder(tf.float32, [None, 4]), Classifier()
logits = model.get_logits(x)
train = tf.train.AdamOptimizer(0.05).minimize(tf.losses.sparse_softmax_cross_entropy(labels, logits))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(60):
        session.run(train, {x: points})
    adversarial = FastGradientMethod(model, sess=session).generate(x, eps=2.0)
    predicted = session.run([tf.argmax(logits, 1), tf.argmax(model.get_logits(adversarial), 1)], {x: points})
accuracies = [np.mean(each == labels) for each in predicted]
print("cleverhans: accuracy %.2f, and %.2f on adversarial points" % tuple(accuracies))
assert accuracies[0] > 0.9 and accuracies[1] < 0.5
