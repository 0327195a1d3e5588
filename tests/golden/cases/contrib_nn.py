"""tf.contrib.nn: the rest of it, values and gradients."""


def cases(tf, np):
    nn = tf.contrib.nn

    def with_gradients(make, count):
        def build():
            given = [tf.constant(np.cos(2.3 * np.arange(6) + i).reshape(2, 3), tf.float32) * 3.0 for i in range(count)]
            result = make(*given)
            return [tf.identity(each, name="result") for each in [result] + tf.gradients(tf.reduce_sum(result * result), given)]
        return build

    yield "scaled_softplus", with_gradients(lambda x, a: nn.scaled_softplus(x, tf.abs(a) + 0.1), 2)
    yield "scaled_softplus clipped", with_gradients(lambda x, a, c: nn.scaled_softplus(x, tf.abs(a) + 0.1, tf.abs(c)), 3)
    yield "scaled_softplus by numbers", with_gradients(lambda x: nn.scaled_softplus(x, 2.0, 1.5), 1)
    yield "nth_element", lambda: [tf.identity(nn.nth_element([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]], 1), name="a"),
                                  tf.identity(nn.nth_element([3, 1, 2], 0, reverse=True), name="b")]

    def sampled(make, values=None):
        def build():
            weights = tf.constant(np.sin(np.arange(40)).reshape(10, 4), tf.float32)
            biases = tf.constant(np.cos(np.arange(10)), tf.float32)
            inputs = tf.constant(np.cos(1.1 * np.arange(12)).reshape(3, 4), tf.float32)
            labels = tf.constant([[1], [5], [7]], tf.int64)
            given = None if values is None else (tf.constant(values, tf.int64), tf.constant([[0.2], [0.3], [0.1]]),
                                                 tf.constant(np.linspace(0.1, 0.6, len(values)), tf.float32))
            loss = make(weights, biases, labels, inputs, given)
            return [tf.identity(each, name="result") for each in [loss] + tf.gradients(loss, [inputs])]
        return build

    chosen = [2, 5, 8, 0, 3]
    yield "sampled_sparse_softmax_loss", sampled(
        lambda w, b, y, x, s: nn.sampled_sparse_softmax_loss(w, b, y, x, 5, 10, sampled_values=s), chosen)
    yield "sampled_sparse_softmax_loss with hits", sampled(
        lambda w, b, y, x, s: nn.sampled_sparse_softmax_loss(w, b, y, x, 5, 10, sampled_values=s, remove_accidental_hits=False), chosen)
    yield "rank_sampled_softmax_loss", sampled(
        lambda w, b, y, x, s: nn.rank_sampled_softmax_loss(w, b, y, x, 5, 2, 10, 1, s, 0.7, True, "div"), chosen)
    yield "rank_sampled_softmax_loss of too many", sampled(
        lambda w, b, y, x, s: nn.rank_sampled_softmax_loss(w, b, y, x, 5, 5, 10, 1, s, 0.7, True, "div"), chosen)
    yield "rank_sampled_softmax_loss of few classes", sampled(
        lambda w, b, y, x, s: nn.rank_sampled_softmax_loss(w, b, y, x, 11, 5, 10, 1, s, 0.7, True, "div"), chosen)
    yield "rank_sampled_softmax_loss by another strategy", sampled(
        lambda w, b, y, x, s: nn.rank_sampled_softmax_loss(w, b, y, x, 5, 2, 10, 1, s, 0.7, True, "all"), chosen)
