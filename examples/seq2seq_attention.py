"""An encoder and a decoder with Luong's attention learn to write sequences backwards; decoded greedily.

    python examples/seq2seq_attention.py
"""
import numpy as np

import penstock as tf

seq2seq = tf.contrib.seq2seq
WORDS, START, END, LENGTH, UNITS, BATCH = 12, 10, 11, 5, 48, 32


def data(rng):
    """(sources, what the decoder is given, what it should say)."""
    sources = rng.randint(10, size=(BATCH, LENGTH))
    said = np.concatenate([sources[:, ::-1], np.full((BATCH, 1), END)], 1)
    return sources, np.concatenate([np.full((BATCH, 1), START), said[:, :-1]], 1), said


def main(steps=250):
    """Returns how much of new sequences is written correctly."""
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        sources, given, wanted = (tf.placeholder(tf.int32, [BATCH, None]) for _ in range(3))
        embedding = tf.get_variable("embedding", [WORDS, 24])
        memory, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(UNITS), tf.nn.embedding_lookup(embedding, sources), dtype=tf.float32)
        attention = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(UNITS), seq2seq.LuongAttention(UNITS, memory), attention_layer_size=UNITS)
        projection = tf.layers.Dense(WORDS, use_bias=False)
        first = attention.zero_state(BATCH, tf.float32).clone(cell_state=state)

        def decoded(helper, **options):
            decoder = seq2seq.BasicDecoder(attention, helper, first, projection)
            return seq2seq.dynamic_decode(decoder, scope="decoder", **options)[0]

        lengths = tf.fill([BATCH], LENGTH + 1)
        logits = decoded(seq2seq.TrainingHelper(tf.nn.embedding_lookup(embedding, given), lengths)).rnn_output
        loss = seq2seq.sequence_loss(logits, wanted, tf.ones([BATCH, LENGTH + 1]))
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            greedy = decoded(seq2seq.GreedyEmbeddingHelper(embedding, tf.fill([BATCH], START), END), maximum_iterations=LENGTH).sample_id
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run([loss, train], dict(zip((sources, given, wanted), data(rng))))
        new = data(rng)
        written = session.run(greedy, {sources: new[0]})
    right = np.zeros_like(new[2][:, :LENGTH], bool)
    right[:, :written.shape[1]] = written == new[2][:, :written.shape[1]]
    print(f"{new[0][0]} becomes {written[0]}; {right.mean():.3f} of all words are right")
    return float(right.mean())


if __name__ == "__main__":
    main()
