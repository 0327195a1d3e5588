"""Whole decoders: a model learns to reverse sequences, with attention; beam search finds what a search of everything finds."""
from __future__ import annotations

import itertools

import numpy as np

import penstock as tf

seq2seq = tf.contrib.seq2seq


class Words:
    """An output layer of another class than Layer: anything with these two methods will do."""

    def __init__(self, weights):
        self._weights = weights

    def __call__(self, inputs):
        return tf.tensordot(inputs, self._weights, [[inputs.shape.ndims - 1], [0]])

    def compute_output_shape(self, input_shape):
        return tf.TensorShape(input_shape)[:-1].concatenate([self._weights.shape[1]])


def test_attention_learns_to_reverse():
    words, length, units = 4, 3, 20
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        source = tf.placeholder(tf.int32, [None, length])
        target = tf.reverse(source, [1])
        embedding = tf.get_variable("embedding", [words + 1, 8])
        lengths = tf.fill([tf.shape(source)[0]], length)
        memory, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(units), tf.nn.embedding_lookup(embedding, source), dtype=tf.float32)
        mechanism = seq2seq.BahdanauAttention(units, memory, lengths)
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(units), mechanism, attention_layer_size=units)
        start = cell.zero_state(tf.shape(source)[0], tf.float32).clone(cell_state=state)
        layer = Words(tf.get_variable("out", [units, words]))
        shifted = tf.concat([tf.fill([tf.shape(source)[0], 1], words), target[:, :-1]], 1)
        helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(embedding, shifted), lengths)
        with tf.variable_scope("decoder"):
            outputs, _, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, start, layer), scope=tf.get_variable_scope())
        greedy = seq2seq.GreedyEmbeddingHelper(embedding, tf.fill([tf.shape(source)[0]], words), -1)
        with tf.variable_scope("decoder", reuse=True):
            spoken, _, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, greedy, start, layer), maximum_iterations=length,
                                                  scope=tf.get_variable_scope())
        loss = seq2seq.sequence_loss(outputs.rnn_output, target, tf.ones_like(target, tf.float32))
        train = tf.train.AdamOptimizer(0.02).minimize(loss)
        session.run(tf.global_variables_initializer())
        random = np.random.RandomState(0)
        for _ in range(120):
            session.run(train, {source: random.randint(words, size=(32, length))})
        test = random.randint(words, size=(50, length))
        assert (session.run(spoken.sample_id, {source: test}) == test[:, ::-1]).mean() > 0.9


class Chain(tf.nn.rnn_cell.RNNCell):
    """A Markov chain as a cell: the input is a word, one-hot; the output are the logarithms of the next words' probabilities."""

    def __init__(self, table):
        super().__init__()
        self._table = table
        self.state_size, self.output_size = 1, table.shape[1]

    state_size = output_size = None

    def call(self, inputs, state):
        return tf.matmul(inputs, tf.constant(self._table, tf.float32)), state


def test_beam_search_finds_the_best_sequence():
    words, length, end = 4, 3, 3
    table = np.log(np.random.RandomState(1).dirichlet(np.ones(words), size=words))
    with tf.Graph().as_default(), tf.Session() as session:
        decoder = seq2seq.BeamSearchDecoder(Chain(table), lambda ids: tf.one_hot(ids, words), [0], end, tf.zeros([16, 1]), 16)
        outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=length)
        ids, scores = session.run([outputs.predicted_ids, state.log_probs])

    def score(sentence):
        total, last = 0.0, 0
        for word in sentence:
            total, last = total + table[last, word], word
            if word == end:
                break
        return total

    sentences = {s[:s.index(end) + 1] if end in s else s for s in itertools.product(range(words), repeat=length)}
    best = sorted(sentences, key=score, reverse=True)[:3]
    for beam, sentence in enumerate(best):
        found = ids[0, :, beam].tolist()
        assert found[:len(sentence)] == list(sentence) and np.isclose(scores[0, beam], score(sentence), atol=1e-5)
