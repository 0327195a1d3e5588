"""A graph convolutional network finds the communities of a graph of which it knows four members: sparse products, few labels.

    python examples/gcn.py
"""
import numpy as np

import penstock as tf

NODES, CLASSES = 120, 4


def community_graph(rng):
    """(the normalised adjacency as a SparseTensorValue, the community of each node)."""
    labels = np.arange(NODES) % CLASSES
    linked = rng.rand(NODES, NODES) < np.where(labels[:, None] == labels, 0.25, 0.01)
    linked = linked | linked.T | np.eye(NODES, dtype=bool)
    degrees = linked.sum(1)
    indices = np.argwhere(linked)
    values = 1 / np.sqrt(degrees[indices[:, 0]] * degrees[indices[:, 1]])
    return tf.SparseTensorValue(indices, values.astype(np.float32), [NODES, NODES]), labels


def main(steps=80):
    """Returns the accuracy on the nodes whose community was not told."""
    rng = np.random.RandomState(0)
    links, communities = community_graph(rng)
    known = np.concatenate([np.flatnonzero(communities == each)[:1] for each in range(CLASSES)])
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        adjacency = tf.sparse_placeholder(tf.float32, [NODES, NODES])

        def convolution(features, units, name):
            weights = tf.get_variable(name, [features.shape[1], units], initializer=tf.glorot_uniform_initializer())
            return tf.sparse_tensor_dense_matmul(adjacency, tf.matmul(features, weights))

        hidden = tf.nn.relu(convolution(tf.eye(NODES), 16, "first"))
        logits = convolution(tf.nn.dropout(hidden, rate=0.2), CLASSES, "second")
        loss = tf.losses.sparse_softmax_cross_entropy(communities[known], tf.gather(logits, known))
        train = tf.train.AdamOptimizer(0.02).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train, {adjacency: links})
        predicted = session.run(tf.argmax(logits, 1), {adjacency: links})
    unknown = np.setdiff1d(np.arange(NODES), known)
    accuracy = float(np.mean(predicted[unknown] == communities[unknown]))
    print(f"{len(known)} communities told, {accuracy:.2f} of the others found")
    return accuracy


if __name__ == "__main__":
    main()
