"""A recurrent model of characters: the state goes from step to step in Python, gradients are clipped, the loss is the perplexity's logarithm."""
import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
tf.set_random_seed(0)

text = "the quick brown fox jumps over the lazy dog. " * 20
letters = sorted(set(text))
codes = np.array([letters.index(letter) for letter in text])
BATCH, LENGTH, UNITS = 4, 10, 32

embedding = tf.get_variable("embedding", [len(letters), UNITS], initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=1))
cell = tf.nn.rnn_cell.LSTMCell(UNITS, initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=2))
project = tf.layers.Dense(len(letters))
optimizer = tf.train.AdamOptimizer(0.02)


def forward(batch, state):
    losses = []
    for position in range(LENGTH):
        output, state = cell(tf.nn.embedding_lookup(embedding, batch[:, position]), state)
        losses.append(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch[:, position + 1], logits=project(output)))
    return tf.reduce_mean(tf.stack(losses)), state


rows = codes[:len(codes) // BATCH * BATCH].reshape(BATCH, -1)
history = []
for _ in range(3):
    state = cell.zero_state(BATCH, tf.float32)
    for start in range(0, rows.shape[1] - LENGTH - 1, LENGTH):
        batch = tf.constant(rows[:, start:start + LENGTH + 1])
        with tf.GradientTape() as tape:
            loss, state = forward(batch, state)
        variables = [embedding] + cell.variables + project.variables
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 5.0)
        optimizer.apply_gradients(zip(gradients, variables))
        history.append(float(loss))
assert history[-1] < 0.6 * history[0], (history[0], history[-1])
print("ok language_model: loss %.2f -> %.2f" % (history[0], history[-1]))
