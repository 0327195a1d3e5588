"""Sequence to sequence with attention: reverses short sequences; encoder and decoder are loops of Python, and one step is a defun."""
import numpy as np
import tensorflow as tf
import tensorflow.contrib.eager as tfe

tf.enable_eager_execution()
tf.set_random_seed(0)
WORDS, LENGTH, UNITS, BATCH = 6, 4, 24, 32

embedding = tfe.Variable(tf.random_uniform([WORDS + 1, UNITS], -0.5, 0.5, seed=1), name="embedding")
encoder, decoder = tf.nn.rnn_cell.GRUCell(UNITS), tf.nn.rnn_cell.GRUCell(UNITS)
score, project = tf.layers.Dense(UNITS, use_bias=False), tf.layers.Dense(WORDS)
optimizer = tf.train.AdamOptimizer(0.01)


def decode(source, target):
    state, memory = encoder.zero_state(BATCH, tf.float32), []
    for position in range(LENGTH):
        _, state = encoder(tf.nn.embedding_lookup(embedding, source[:, position]), state)
        memory.append(state)
    memory = tf.stack(memory, axis=1)
    keys, word, losses, words = score(memory), tf.fill([BATCH], WORDS), [], []
    for position in range(LENGTH):
        weights = tf.nn.softmax(tf.reduce_sum(keys * state[:, None, :], axis=2))
        context = tf.reduce_sum(weights[:, :, None] * memory, axis=1)
        output, state = decoder(tf.concat([tf.nn.embedding_lookup(embedding, word), context], axis=1), state)
        logits = project(output)
        losses.append(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target[:, position], logits=logits)))
        words.append(tf.argmax(logits, axis=1, output_type=tf.int32))
        word = target[:, position]
    return tf.add_n(losses) / LENGTH, tf.stack(words, axis=1)


@tfe.defun
def train(source, target):
    with tf.GradientTape() as tape:
        loss, words = decode(source, target)
    variables = [embedding] + encoder.variables + decoder.variables + score.variables + project.variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss, words


rng = np.random.RandomState(0)
decode(tf.zeros([BATCH, LENGTH], tf.int32), tf.zeros([BATCH, LENGTH], tf.int32))
for _ in range(150):
    source = rng.randint(0, WORDS, (BATCH, LENGTH)).astype(np.int32)
    loss, words = train(tf.constant(source), tf.constant(source[:, ::-1].copy()))
accuracy = (words.numpy() == source[:, ::-1]).mean()
assert accuracy > 0.8, (accuracy, loss)
print("ok attention: %.2f of the words" % accuracy)
