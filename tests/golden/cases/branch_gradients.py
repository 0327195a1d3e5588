"""Gradients of tables of which the branches of conditionals gather rows: IndexedSlices, and seeds after them."""


def _branches(tf):
    """{name: (what is computed of the table if the predicate holds, and otherwise)}."""
    def rows(table):
        return tf.gather(table, [1, 1, 3])

    def others(table):
        return tf.gather(table, tf.constant([0, 2, 3], tf.int64))

    def product(table):
        return tf.matmul(tf.ones([3, 5]), table)

    def nothing(table):
        return tf.zeros([3, 2])

    return {"rows in one": (rows, nothing), "rows in the other": (nothing, others), "rows in both": (rows, rows), "other rows": (rows, others),
            "a product in the other": (rows, product), "a product in one": (product, nothing), "rows twice": (lambda t: rows(t) + rows(t), nothing),
            "nested": (lambda t: tf.cond(tf.reduce_sum(t) > 0.0, lambda: rows(t), lambda: others(t)), nothing),
            "rows and a product": (lambda t: rows(t) + product(t), rows)}


def _table(tf, np, use_resource):
    return tf.get_variable("table", [5, 2], initializer=tf.constant_initializer(np.arange(10.0).reshape(5, 2)), use_resource=use_resource)


def cases(tf, np):
    """Values and indices for both values of the predicate; seeds after gradients of variables."""
    for name, (first, second) in _branches(tf).items():
        for taken in (True, False):
            def through_a_tensor(first=first, second=second, taken=taken):
                tf.set_random_seed(1)
                table = tf.constant(np.arange(10.0).reshape(5, 2), tf.float32)
                result = tf.cond(tf.placeholder_with_default(taken, []), lambda: first(table), lambda: second(table))
                grad = tf.gradients(tf.reduce_sum(result * result), table)[0]
                parts = [grad.values, grad.indices, grad.dense_shape] if isinstance(grad, tf.IndexedSlices) else [grad]
                seed = tf.compat.v1.random.get_seed(None)[1]
                return [tf.identity(part) for part in parts], tf.global_norm([grad]), tf.constant(seed, name="seed")
            yield f"{name}, {taken}", through_a_tensor
        for use_resource in (False, True):
            def seed_after(first=first, second=second, use_resource=use_resource):
                tf.set_random_seed(1)
                table = _table(tf, np, use_resource)
                result = tf.cond(tf.placeholder_with_default(True, []), lambda: first(table), lambda: second(table))
                grad = tf.gradients(tf.reduce_sum(result * result), table)[0]
                tf.clip_by_global_norm([grad], 0.5)
                seed = tf.compat.v1.random.get_seed(None)[1]
                return tf.constant(seed, name="seed"), tf.constant(isinstance(grad, tf.IndexedSlices), name="sparse")
            yield f"{name}, seed, {'resource' if use_resource else 'variable'}", seed_after
