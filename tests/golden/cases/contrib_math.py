"""tf.contrib.crf, sparsemax, integrate, stateless and solvers: values, gradients, names of variables, errors."""


def crf(tf, np):
    module = tf.contrib.crf
    scores = np.cos(np.arange(36) ** 1.1).reshape(3, 4, 3).astype(np.float32)
    moves = np.sin(np.arange(9) * 1.7).reshape(3, 3).astype(np.float32)
    tags, lengths = np.array([[0, 1, 2, 1], [2, 2, 0, 0], [1, 0, 0, 0]]), np.array([4, 2, 0])

    def given(steps=4, dtype=np.int32):
        return (tf.constant(scores[:, :steps]), tf.constant(tags[:, :steps].astype(dtype)), tf.constant(np.minimum(lengths, steps).astype(dtype)),
                tf.constant(moves))

    def case(call, steps=4, dtype=np.int32):
        def build():
            inputs, indices, length, transitions = given(steps, dtype)
            result = call(inputs, indices, length, transitions)
            return [result] + [tf.identity(g, name="gradient") for g in tf.gradients(result, [inputs, transitions]) if g is not None]
        return build

    for steps in (4, 1):
        for dtype in (np.int32, np.int64):
            label = " {} {}".format(steps, np.dtype(dtype).name)
            yield "sequence_score" + label, case(module.crf_sequence_score, steps, dtype)
            yield "log_norm" + label, case(lambda x, y, n, m: module.crf_log_norm(x, n, m), steps, dtype)
            yield "log_likelihood" + label, case(lambda x, y, n, m: module.crf_log_likelihood(x, y, n, m)[0], steps, dtype)

        def decode(steps=steps):
            inputs, _, length, transitions = given(steps)
            found, best = module.crf_decode(inputs, transitions, tf.maximum(length, 1))
            return [found * tf.sequence_mask(tf.maximum(length, 1), steps, dtype=tf.int32), best]
        yield "decode {}".format(steps), decode
        yield "multitag {}".format(steps), case(
            lambda x, y, n, m: module.crf_multitag_sequence_score(x, tf.constant(np.arange(36).reshape(3, 4, 3)[:, :x.shape[1].value] % 5 > 0),
                                                                  tf.maximum(n, 1), m), steps)
    yield "unary_score", case(lambda x, y, n, m: module.crf_unary_score(y, n, x))
    yield "binary_score", case(lambda x, y, n, m: module.crf_binary_score(y, n, m))

    def made():
        inputs, indices, length, _ = given()
        _, transitions = module.crf_log_likelihood(inputs, indices, length)
        return [tf.constant([v.name for v in tf.trainable_variables()]), tf.shape(transitions)]
    yield "transitions are made", made

    def viterbi():
        found, score = module.viterbi_decode(scores[0], moves)
        return [tf.constant([int(each) for each in found]), tf.constant(score)]
    yield "viterbi_decode", viterbi

    def unknown():
        inputs, indices, length, transitions = given()
        inputs = tf.placeholder_with_default(inputs, [None, None, 3])
        return [tf.identity(each, name="result") for each in (module.crf_log_likelihood(inputs, indices, length, transitions)[0],
                                                              module.crf_decode(inputs, transitions, tf.maximum(length, 1))[1])]
    yield "unknown steps", unknown


def sparsemax(tf, np):
    module = tf.contrib.sparsemax
    logits = np.array([[0.1, 1.1, 0.9, -3.0], [2.0, 2.0, 2.0, 2.0], [5.0, 0.0, 0.0, 0.0]], np.float32)
    labels = np.array([[0.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]], np.float32)

    def case(values):
        def build():
            x = tf.constant(values)
            result = module.sparsemax(x)
            loss = module.sparsemax_loss(x, result, tf.constant(labels.astype(values.dtype)))
            return [result, loss] + [tf.identity(tf.gradients(each, x)[0], name="gradient") for each in (result * result, loss)]
        return build
    yield "sparsemax", case(logits)
    yield "sparsemax double", case(logits.astype(np.float64))
    yield "sparsemax of NaN", lambda: module.sparsemax(tf.constant([[np.nan, 1.0], [np.inf, 1.0], [-np.inf, 1.0], [0.0, 1.0]], tf.float32))


def integrate(tf, np):
    module = tf.contrib.integrate
    times = np.array([0.0, 0.3, 1.0, 2.5])

    def case(call):
        return lambda: call()

    yield "odeint", lambda: module.odeint(lambda y, t: -0.5 * y, tf.constant([1.0, 2.0], tf.float64), times)

    def rotation():
        y, info = module.odeint(lambda y, t: tf.stack([y[1], -y[0]]) * tf.cast(1.0 + t, y.dtype), tf.constant([1.0, 0.0], tf.float64), times,
                                full_output=True)
        return [y, info["num_func_evals"], info["integrate_points"], info["error_ratio"]]
    yield "odeint full output", rotation
    yield "odeint float32", lambda: module.odeint(lambda y, t: y * y * 0.1, tf.constant(1.0), times, rtol=1e-4, atol=1e-5)
    yield "odeint complex", lambda: module.odeint(lambda y, t: 1j * y, tf.constant(1.0 + 0j, tf.complex128), times)
    yield "odeint options", lambda: module.odeint(lambda y, t: -y, tf.constant([1.0], tf.float64), times, method="dopri5",
                                                  options={"first_step": 0.05, "safety": 0.8})
    yield "odeint too many steps", lambda: module.odeint(lambda y, t: -y, tf.constant([1.0], tf.float64), times, method="dopri5",
                                                         options={"max_num_steps": 1})
    yield "odeint method", lambda: module.odeint(lambda y, t: -y, 1.0, times, method="euler")
    yield "odeint options alone", lambda: module.odeint(lambda y, t: -y, 1.0, times, options={})
    yield "odeint integers", lambda: module.odeint(lambda y, t: -y, 1, times)
    yield "odeint falling times", lambda: module.odeint(lambda y, t: -y, 1.0, [1.0, 0.5])
    for method in ("rk4", "midpoint"):
        yield "odeint_fixed " + method, lambda m=method: tf.identity(
            module.odeint_fixed(lambda y, t: -0.5 * y * tf.cast(t, y.dtype), tf.constant([1.0, 2.0], tf.float64), times, method=m), name="result")
        yield "odeint_fixed dt " + method, lambda m=method: tf.identity(
            module.odeint_fixed(lambda y, t: -0.5 * y, tf.constant(1.0), times, dt=0.2, method=m), name="result")
    yield "odeint_fixed method", lambda: module.odeint_fixed(lambda y, t: -y, 1.0, times, method="x")


def flipped(tf, np):
    module = tf.contrib.nn
    logits = np.cos(np.arange(6)).reshape(2, 3).astype(np.float32)
    labels = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32)
    yield "flipped softmax", lambda: tf.identity(module.deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels), name="result")
    yield "flipped sparse softmax", lambda: tf.identity(
        module.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, [2, 0]), name="result")
    yield "flipped sigmoid", lambda: tf.identity(module.deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, labels), name="result")
    yield "alpha_dropout", lambda: tf.identity(module.alpha_dropout(tf.constant(logits), 0.6, seed=3), name="result")
    yield "alpha_dropout noise_shape", lambda: tf.identity(module.alpha_dropout(tf.constant(logits), 0.5, noise_shape=[2, 1], seed=5), name="result")
    yield "alpha_dropout all", lambda: tf.identity(module.alpha_dropout(tf.constant(logits), 1.0), name="result")
    yield "alpha_dropout none", lambda: module.alpha_dropout(tf.constant(logits), 0.0)

    def summaries():
        deprecated = tf.contrib.deprecated
        scalar = deprecated.scalar_summary("loss", 2.0)
        merged = deprecated.merge_summary([scalar, deprecated.histogram_summary("h", [1.0, 2.0])])
        return [scalar, tf.identity(merged, name="result"), tf.identity(deprecated.merge_all_summaries(), name="result")]
    yield "deprecated summaries", summaries


def solvers(tf, np):
    module = tf.contrib.solvers
    matrix = (np.cos(np.arange(20)).reshape(5, 4) + np.eye(5, 4)).astype(np.float64)
    square = matrix.T.dot(matrix) + np.eye(4)
    rhs = np.sin(np.arange(5.0))

    def results(state):
        return [tf.identity(each, name="result") for each in state]

    def solution(state):
        """Without what is nearly 0 at the end."""
        return results([state.i, state.x])

    def operator(values):
        return module.util.create_operator(tf.constant(values))

    yield "conjugate_gradient", lambda: solution(module.linear_equations.conjugate_gradient(operator(square), tf.constant(rhs[:4])))
    yield "conjugate_gradient from x", lambda: solution(module.linear_equations.conjugate_gradient(
        operator(square), tf.constant(rhs[:4]), x=tf.ones([4], tf.float64), tol=1e-2))
    yield "conjugate_gradient preconditioned", lambda: solution(module.linear_equations.conjugate_gradient(
        operator(square), tf.constant(rhs[:4]), preconditioner=operator(np.diag(1 / np.diag(square))), max_iter=3))
    yield "conjugate_gradient identity", lambda: solution(module.linear_equations.conjugate_gradient(
        operator(square), tf.constant(rhs[:4]), preconditioner=module.util.identity_operator(tf.constant(square))))
    yield "cgls", lambda: solution(module.least_squares.cgls(operator(matrix), tf.constant(rhs)))
    yield "cgls two steps", lambda: solution(module.least_squares.cgls(operator(matrix), tf.constant(rhs), max_iter=2))
    for orthogonalize in (True, False):
        yield "lanczos {}".format(orthogonalize), lambda orthogonalize=orthogonalize: results(module.lanczos.lanczos_bidiag(
            operator(matrix), 3, orthogonalize, starting_vector=tf.constant(rhs + 1)))
    yield "bidiag_matmul", lambda: [module.lanczos.bidiag_matmul(tf.constant(matrix), tf.constant(rhs[:3]), tf.constant(rhs[1:4])),
                                    module.lanczos.bidiag_matmul(tf.constant(matrix), tf.constant(rhs[:4]), tf.constant(rhs[1:]), adjoint_b=True)]


def cases(tf, np):
    for family in (crf, sparsemax, integrate, flipped, solvers):
        yield from family(tf, np)
