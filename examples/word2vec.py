"""Word vectors by skip-grams and noise-contrastive estimation; words that are used alike come to lie together.

    python examples/word2vec.py
"""
import numpy as np

import penstock as tf

GROUPS = [["red", "green", "blue", "white"], ["cat", "dog", "horse", "cow"], ["one", "two", "three", "four"]]
FRAMES = [["paint", "it", None, "today"], ["the", None, "runs", "home"], ["count", "to", None, "again"]]
VOCABULARY = sorted({word for group in GROUPS for word in group} | {word for frame in FRAMES for word in frame if word})


def skip_grams(sentences, rng):
    """(word, a word beside it), of made-up sentences."""
    pairs = []
    for _ in range(sentences):
        kind = rng.randint(len(GROUPS))
        words = [word or GROUPS[kind][rng.randint(4)] for word in FRAMES[kind]]
        ids = [VOCABULARY.index(word) for word in words]
        pairs += [(ids[i], ids[j]) for i in range(4) for j in range(4) if i != j and abs(i - j) <= 2]
    return np.array(pairs, np.int64)


def main(steps=400):
    """Returns for how many words of the groups the nearest word is of the same group."""
    rng = np.random.RandomState(0)
    pairs = skip_grams(1000, rng)
    size = len(VOCABULARY)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        centres, contexts = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None, 1])
        vectors = tf.get_variable("vectors", [size, 12], initializer=tf.random_uniform_initializer(-1, 1))
        weights, bias = tf.get_variable("weights", [size, 12]), tf.get_variable("bias", [size], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.nn.nce_loss(weights, bias, contexts, tf.nn.embedding_lookup(vectors, centres), num_sampled=6, num_classes=size))
        train = tf.train.AdagradOptimizer(0.5).minimize(loss)
        directions = tf.nn.l2_normalize(vectors, 1)
        similarity = tf.matmul(directions, directions, transpose_b=True)
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            chosen = pairs[rng.choice(len(pairs), 64)]
            session.run(train, {centres: chosen[:, 0], contexts: chosen[:, 1:]})
        alike = session.run(similarity) - 2 * np.eye(size)
    right = 0
    for group in GROUPS:
        for word in group:
            nearest = VOCABULARY[int(alike[VOCABULARY.index(word)].argmax())]
            right += nearest in group
    print(f"{right} of 12 words have a neighbour of their own kind; next to 'dog' is "
          f"{VOCABULARY[int(alike[VOCABULARY.index('dog')].argmax())]!r}")
    return right


if __name__ == "__main__":
    main()
