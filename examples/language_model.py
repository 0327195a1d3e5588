"""An LSTM language model as in the paper: embeddings and output weights sharded over parameters, trained with a sampled softmax.

    python examples/language_model.py

The text is made up: sentences of a small grammar. Perplexity is measured with the full softmax, so it tells what the sampled one has learned.
"""
import numpy as np

import penstock as tf

SUBJECTS, VERBS, OBJECTS = 40, 30, 40
WORDS = 1 + SUBJECTS + VERBS + OBJECTS    # 0 ends a sentence
UNITS, TIME, BATCH, SHARDS = 48, 12, 16, 3


def text(sentences, rng):
    """Word ids: each subject has three verbs, each verb three objects."""
    words = []
    for _ in range(sentences):
        subject = rng.randint(SUBJECTS)
        verb = (subject * 3 + rng.randint(3)) % VERBS
        words += [1 + subject, 1 + SUBJECTS + verb, 1 + SUBJECTS + VERBS + (verb * 3 + rng.randint(3)) % OBJECTS, 0]
    return np.array(words, np.int32)


def main(steps=150):
    """Returns the perplexity before and after training."""
    rng = np.random.RandomState(0)
    words = text(2000, rng)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        inputs, targets = tf.placeholder(tf.int32, [BATCH, TIME]), tf.placeholder(tf.int32, [BATCH, TIME])
        sharded = tf.fixed_size_partitioner(SHARDS)
        embedding = tf.get_variable("embedding", [WORDS, UNITS], partitioner=sharded, initializer=tf.random_uniform_initializer(-0.1, 0.1))
        output = tf.get_variable("output", [WORDS, UNITS], partitioner=sharded, initializer=tf.random_uniform_initializer(-0.1, 0.1))
        bias = tf.get_variable("bias", [WORDS], initializer=tf.zeros_initializer())
        states, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(UNITS), tf.nn.embedding_lookup(embedding, inputs, "div"), dtype=tf.float32)
        states = tf.reshape(states, [-1, UNITS])
        sampled = tf.reduce_mean(tf.nn.sampled_softmax_loss(output, bias, tf.reshape(targets, [-1, 1]), states, num_sampled=32, num_classes=WORDS,
                                                            partition_strategy="div"))
        logits = tf.matmul(states, tf.convert_to_tensor(output), transpose_b=True) + bias
        full = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits))
        optimizer = tf.train.AdagradOptimizer(0.5)
        gradients, variables = zip(*optimizer.compute_gradients(sampled))
        train = optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, 5.0)[0], variables))

        def batch():
            starts = 4 * rng.randint(len(words) // 4 - TIME, size=BATCH)
            rows = words[starts[:, None] + np.arange(TIME + 1)]
            return {inputs: rows[:, :-1], targets: rows[:, 1:]}

        session.run(tf.global_variables_initializer())
        held_out = batch()
        before = float(np.exp(session.run(full, held_out)))
        for _ in range(steps):
            session.run(train, batch())
        after = float(np.exp(session.run(full, held_out)))
    print(f"perplexity {before:.1f} before, {after:.1f} after {steps} steps (the grammar's own is 3.0)")
    return before, after


if __name__ == "__main__":
    main(steps=600)
