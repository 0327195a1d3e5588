"""tf.contrib.factorization: weighted alternating least squares, step by step and as an estimator."""

ROWS, COLS, DIM = 5, 4, 2


def _matrix(np):
    dense = np.round(np.cos(np.arange(ROWS * COLS)).reshape(ROWS, COLS), 2) * (np.arange(ROWS * COLS).reshape(ROWS, COLS) % 3 != 1)
    return dense.astype(np.float32)


def _sparse(tf, np, rows=None, cols=None, transpose=False):
    dense = _matrix(np)
    indices = [(i, j) for i, j in zip(*np.nonzero(dense)) if (rows is None or i in rows) and (cols is None or j in cols)]
    values = [dense[i, j] for i, j in indices]
    if transpose:
        indices = [(j, i) for i, j in indices]
    return tf.SparseTensor(np.array(indices, np.int64), np.array(values, np.float32), [COLS, ROWS] if transpose else [ROWS, COLS])


def _init(np, count, start):
    return np.sin(np.arange(start, start + count * DIM)).reshape(count, DIM).astype(np.float32)


def cases(tf, np):
    def sweeps(transpose=False, shards=1, **more):
        def build():
            factors = dict(row_init=_init(np, ROWS, 0), col_init=_init(np, COLS, 50)) if shards == 1 else dict(
                row_init=[_init(np, 3, 0), _init(np, 2, 6)], col_init=[_init(np, 2, 50), _init(np, 2, 54)])
            model = tf.contrib.factorization.WALSModel(ROWS, COLS, DIM, num_row_shards=shards, num_col_shards=shards, **dict(factors, **more))
            row_steps = [model.update_row_factors(_sparse(tf, np, rows=rows, transpose=transpose), transpose) for rows in ([0, 3, 1], [4, 2])]
            col_steps = [model.update_col_factors(_sparse(tf, np, cols=cols, transpose=transpose), transpose) for cols in ([1, 2], [0, 3])]
            projected = [model.project_row_factors(_sparse(tf, np, rows=[1, 2], transpose=transpose), transpose),
                         model.project_col_factors(_sparse(tf, np, cols=[3], transpose=transpose), transpose, projection_weights=0.3)]
            found = []
            with tf.Session() as sess:
                sess.run(model.initialize_op)
                sess.run(model.worker_init)
                for _ in range(2):
                    sess.run(model.row_update_prep_gramian_op)
                    sess.run(model.initialize_row_update_op)
                    found += [value for step in row_steps for value in sess.run([step[0], step[2], step[3], step[4], step[1]])[:-1]]
                    found.append(sess.run(projected[0]))
                    sess.run(model.col_update_prep_gramian_op)
                    sess.run(model.initialize_col_update_op)
                    found += [value for step in col_steps for value in sess.run([step[0], step[2], step[3], step[4], step[1]])[:-1]]
                    found.append(sess.run(projected[1]))
                found += sess.run(model.row_factors + model.col_factors)
            names = [v.name for v in tf.global_variables() + tf.local_variables()]
            return [tf.constant(np.concatenate([np.ravel(value) for value in found]), name="values"), tf.constant(names, name="names")]
        return build

    yield "model", sweeps()
    yield "regularized", sweeps(regularization=0.5, unobserved_weight=0.3)
    yield "without weights", sweeps(row_weights=None, col_weights=None, unobserved_weight=1.0)
    yield "with weights", sweeps(row_weights=[0.1, 0.2, 0.3, 0.4, 0.5], col_weights=[1.0, 2.0, 3.0, 4.0])
    yield "transposed", sweeps(transpose=True, regularization=0.1)
    yield "in shards", sweeps(shards=2, regularization=0.1)
    yield "without caches", sweeps(use_factors_weights_cache=False, use_gramian_cache=False)
    yield "scoped", sweeps(use_scoped_vars=True)
    yield "negative weights", sweeps(row_weights=-1.0)
    yield "weights of one side", sweeps(row_weights=None)
    yield "too few weights", sweeps(row_weights=[[1.0], [2.0]])
    yield "a dense matrix", lambda: tf.contrib.factorization.WALSModel(ROWS, COLS, DIM).update_row_factors(tf.zeros([ROWS, COLS]))

    def estimator(**more):
        def build():
            import tempfile
            wals = tf.contrib.factorization.WALSMatrixFactorization
            model = wals(ROWS, COLS, DIM, row_init=_init(np, ROWS, 0), col_init=_init(np, COLS, 50), model_dir=tempfile.mkdtemp(), **more)

            def both(project_row=None):
                def inputs():
                    features = {wals.INPUT_ROWS: _sparse(tf, np), wals.INPUT_COLS: _sparse(tf, np, transpose=True)}
                    if project_row is not None:
                        features[wals.PROJECT_ROW] = tf.constant(project_row)
                    return features, None
                return inputs
            model.fit(input_fn=both(), steps=None if "max_sweeps" in more else 4)
            losses = [model.evaluate(input_fn=both(row), steps=1)["loss"] for row in (True, False)]
            return [tf.constant(model.get_row_factors()[0], name="rows"), tf.constant(model.get_col_factors()[0], name="cols"),
                    tf.constant(np.array(losses, np.float32), name="losses"), tf.constant(sorted(model.get_variable_names()), name="names"),
                    tf.constant(np.array([model.get_variable_value(name) for name in ("completed_sweeps", "global_step")]), name="counts")]
        return build
    yield "estimator", estimator(regularization_coeff=0.1)
    yield "estimator up to a sweep", estimator(max_sweeps=3)
