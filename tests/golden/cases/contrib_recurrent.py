"""tf.contrib.recurrent: outputs, states and gradients of functional loops."""


def cases(tf, np):
    recurrent = tf.contrib.recurrent

    def loop(with_grad=False, with_gradients=True, **more):
        def build():
            theta = {"w": tf.constant(np.cos(np.arange(4)).reshape(2, 2), tf.float32), "b": tf.constant([0.1, -0.2])}
            state0 = {"h": tf.constant([[0.5, -0.5], [0.1, 0.3], [0.0, 1.0]])}
            inputs = {"x": tf.constant(np.sin(np.arange(24)).reshape(4, 3, 2), tf.float32)}

            def cell(theta, state, inputs):
                h = tf.tanh(tf.matmul(state["h"], theta["w"]) + inputs["x"] + theta["b"])
                return {"h": h}, {"h": h}

            def grad(theta, state, inputs, extras, dstate):
                d = dstate["h"] * (1.0 - tf.square(extras["h"]))
                return ({"w": tf.matmul(state["h"], d, transpose_a=True), "b": tf.reduce_sum(d, 0)},
                        {"h": tf.matmul(d, theta["w"], transpose_b=True)}, {"x": 3.0 * d})
            given = {key: value() if callable(value) else value for key, value in more.items()}
            acc, last = recurrent.Recurrent(theta, state0, inputs, cell, cell_grad=grad if with_grad else None, **given)
            loss = tf.reduce_sum(acc["h"] * acc["h"]) + tf.reduce_sum(last["h"])
            grads = [] if not with_gradients else tf.gradients(loss, [theta["w"], theta["b"], state0["h"], inputs["x"]])
            return [tf.identity(each, name="result") for each in [acc["h"], last["h"]] + grads]
        return build

    yield "Recurrent", loop()
    yield "Recurrent with its gradient", loop(with_grad=True)
    yield "Recurrent up to a length", loop(max_input_length=lambda: tf.constant(2))
    # Without gradients: TensorFlow's take zeros for the state before the first step, and not state0.
    yield "Recurrent from the end", loop(max_input_length=lambda: tf.constant(3), aligned_end=True, with_gradients=False)

    def rnn(make, lengths=None, time_major=False, reverse=False, **more):
        def build():
            x = tf.constant(np.sin(np.arange(24)).reshape(3, 4, 2), tf.float32)
            cell = make()
            given = None if lengths is None else tf.constant(lengths)
            outputs, state = recurrent.functional_rnn(cell, tf.transpose(x, [1, 0, 2]) if time_major else x, sequence_length=given, dtype=tf.float32,
                                                      time_major=time_major, reverse=reverse, **more)
            variables = tf.trainable_variables()
            grads = tf.gradients(tf.reduce_sum(outputs * outputs), variables)
            states = list(state) if isinstance(state, tuple) else [state]
            names = tf.constant([v.name for v in variables], name="names")
            return [tf.identity(each, name="result") for each in [outputs] + states + grads] + [names]
        return build

    def lstm():
        return tf.nn.rnn_cell.LSTMCell(3, initializer=tf.constant_initializer(0.2))

    def gru():
        return tf.nn.rnn_cell.GRUCell(3, kernel_initializer=tf.constant_initializer(0.2), bias_initializer=tf.constant_initializer(0.1))
    yield "functional_rnn lstm", rnn(lstm)
    yield "functional_rnn gru", rnn(gru)
    yield "functional_rnn lengths", rnn(lstm, [4, 2, 3])
    yield "functional_rnn short", rnn(gru, [1, 2, 2])
    yield "functional_rnn time major", rnn(lstm, [4, 2, 3], time_major=True)
    yield "functional_rnn reverse", rnn(lstm, reverse=True)
    yield "functional_rnn scope", rnn(gru, scope="mine")

    def both(lengths=None, **more):
        def build():
            x = tf.constant(np.sin(np.arange(24)).reshape(3, 4, 2), tf.float32)
            given = None if lengths is None else tf.constant(lengths)
            outputs, states = recurrent.bidirectional_functional_rnn(gru(), gru(), x, dtype=tf.float32, sequence_length=given, **more)
            names = [v.name for v in tf.trainable_variables()]
            return [tf.identity(each, name="result") for each in list(outputs) + list(states)] + [tf.constant(names, name="names")]
        return build
    yield "bidirectional_functional_rnn", both()
    yield "bidirectional_functional_rnn lengths", both([4, 1, 3])
    yield "bidirectional_functional_rnn fast", both(fast_reverse=True)
