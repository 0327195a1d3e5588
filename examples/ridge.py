"""Ridge regression twice: solved at once, and by gradient descent; both find the same weights.

    python examples/ridge.py
"""
import numpy as np

import penstock as tf


def main(steps=300):
    """Returns the largest difference between the two solutions."""
    rng = np.random.RandomState(0)
    features = rng.normal(size=(200, 5)).astype(np.float32)
    targets = features @ np.array([[2.0], [-1.0], [0.5], [0.0], [3.0]], np.float32) + 0.1 * rng.normal(size=(200, 1)).astype(np.float32)
    penalty = 0.1
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 1])
        rows = tf.cast(tf.shape(x)[0], tf.float32)
        exact = tf.matrix_solve(tf.matmul(x, x, transpose_a=True) / rows + penalty * tf.eye(5), tf.matmul(x, y, transpose_a=True) / rows)
        weights = tf.get_variable("weights", [5, 1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y)) + penalty * tf.reduce_sum(tf.square(weights))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train, {x: features, y: targets})
        by_steps, at_once = session.run([weights, exact], {x: features, y: targets})
    difference = float(np.abs(by_steps - at_once).max())
    print(f"weights {by_steps.ravel().round(2)}, difference to the exact solution {difference:.1e}")
    return difference


if __name__ == "__main__":
    main()
