"""tf.contrib.opt: optimizers that precondition by matrices, that count by a global step, and that average the models of workers."""


def _state(tf, np, sess):
    variables = sorted(set(tf.global_variables() + tf.local_variables()), key=lambda variable: variable.name)
    values = [np.ravel(value).astype(np.float32) for value in sess.run(variables)]
    return [variable.name for variable in variables], np.concatenate(values)


def _stepped(tf, np, train_op, steps, first=None):
    """Names of all variables, and their values after each step."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        if first is not None:
            sess.run(first)
        found = []
        for _ in range(steps):
            sess.run(train_op)
            names, values = _state(tf, np, sess)
            found.append(values)
    keys = [(key, [v.name for v in tf.get_collection(key)]) for key in ("variables", "local_variables", "trainable_variables")]
    return [tf.constant(names, name="names"), tf.constant(np.stack(found), name="values"), tf.constant(repr(keys), name="keys")]


def _loss(tf, np, resource=False, sparse=True):
    dense = tf.get_variable("dense", initializer=tf.constant(np.cos(np.arange(6)).reshape(2, 3), tf.float32), use_resource=resource)
    loss = tf.reduce_sum(tf.square(dense) * [0.5, 1.0, 2.0]) + tf.reduce_sum(dense[0] * dense[1])
    if sparse:
        table = tf.get_variable("table", initializer=tf.constant(np.sin(np.arange(8)).reshape(4, 2), tf.float32), use_resource=resource)
        rows = tf.gather(table, [1, 3, 1])
        loss += tf.reduce_sum(rows * rows * [[1.0], [0.5], [0.25]])
    return loss


def matrices(tf, np):
    opt = tf.contrib.opt

    def case(make, resource=False, sparse=True, steps=4):
        def build():
            step = tf.train.get_or_create_global_step()
            return _stepped(tf, np, make(step).minimize(_loss(tf, np, resource, sparse), global_step=step), steps)
        return build

    for resource in (False, True):
        yield "Shampoo {}".format(resource), case(lambda step: opt.ShampooOptimizer(step, learning_rate=0.1), resource)
        yield "AdamGS {}".format(resource), case(lambda step: opt.AdamGSOptimizer(step, 0.1), resource)
        yield "LazyAdamGS {}".format(resource), case(lambda step: opt.LazyAdamGSOptimizer(step, 0.1), resource)
        yield "GGT {}".format(resource), case(lambda step: opt.GGTOptimizer(0.1, window=3, svd_eps=0.1), resource, sparse=False, steps=6)
    yield "Shampoo with momentum", case(lambda step: opt.ShampooOptimizer(step, gbar_decay=0.5, gbar_weight=0.5, learning_rate=0.1))
    yield "Shampoo that forgets", case(lambda step: opt.ShampooOptimizer(step, mat_gbar_decay=0.9, mat_gbar_weight=0.2, learning_rate=0.1))
    yield "Shampoo of diagonals", case(lambda step: opt.ShampooOptimizer(step, max_matrix_size=1, learning_rate=0.1))
    yield "Shampoo of some diagonals", case(lambda step: opt.ShampooOptimizer(step, max_matrix_size=2, learning_rate=0.1))
    yield "Shampoo now and then", case(lambda step: opt.ShampooOptimizer(step, svd_interval=2, precond_update_interval=2, learning_rate=0.1))
    yield "Shampoo by iteration", case(lambda step: opt.ShampooOptimizer(step, use_iterative_root=True, learning_rate=0.1))
    yield "Shampoo by functions", case(lambda step: opt.ShampooOptimizer(step, learning_rate=lambda at: 0.1 / at, gbar_weight=lambda at: at))
    yield "GGT with defaults", case(lambda step: opt.GGTOptimizer(), sparse=False, steps=2)
    yield "AdamGS without a step", case(lambda step: opt.AdamGSOptimizer(learning_rate=0.1))

    def vector():
        weight = tf.get_variable("weight", initializer=[1.0, -2.0, 3.0])
        scalar = tf.get_variable("one", initializer=[0.5])
        loss = tf.reduce_sum(weight * weight * [1.0, 2.0, 0.5]) + tf.reduce_sum(scalar * scalar)
        return _stepped(tf, np, opt.ShampooOptimizer(learning_rate=0.1).minimize(loss), 3)
    yield "Shampoo of vectors", vector


def averaging(tf, np):
    opt = tf.contrib.opt

    def model(getter, partitioner=None):
        with tf.variable_scope("", custom_getter=getter, partitioner=partitioner):
            weight = tf.get_variable("weight", [4, 2], initializer=tf.constant_initializer(np.cos(np.arange(8))))
            other = tf.get_variable("other", [], initializer=tf.zeros_initializer(), trainable=False, collections=["variables"])
        with tf.variable_scope("", custom_getter=getter, partitioner=partitioner, reuse=True):
            again = tf.get_variable("weight", [4, 2])
        return tf.reduce_sum(tf.square(tf.convert_to_tensor(weight)) * [1.0, 0.5]) + 0.0 * tf.reduce_sum(tf.convert_to_tensor(again)) + other

    def elastic(inner=lambda tf: tf.train.GradientDescentOptimizer(0.1), partitioner=None, **more):
        def build():
            getter = opt.ElasticAverageCustomGetter("/cpu:0")
            loss, step = model(getter, partitioner), tf.train.get_or_create_global_step()
            optimizer = opt.ElasticAverageOptimizer(inner(tf), 2, getter, communication_period=2, **more)
            train_op = optimizer.minimize(loss, global_step=step)
            return _stepped(tf, np, train_op, 5, optimizer.get_init_op(0))
        return build
    yield "elastic averaging", elastic()
    yield "elastic averaging by rates", elastic(moving_rate=0.3, rho=0.7)
    yield "elastic averaging with momentum", elastic(lambda tf: tf.train.MomentumOptimizer(0.1, 0.9))
    yield "elastic averaging with Adam", elastic(lambda tf: tf.train.AdamOptimizer(0.1), rho=0.5)

    def agn(inner=lambda tf: tf.train.GradientDescentOptimizer(0.1)):
        def build():
            getter = opt.AGNCustomGetter("/cpu:0")
            loss, step = model(getter), tf.train.get_or_create_global_step()
            optimizer = opt.AGNOptimizer(inner(tf), 2, getter, communication_period=2)
            train_op = optimizer.minimize(loss, global_step=step)
            return _stepped(tf, np, train_op, 5, optimizer.get_init_op(0))
        return build
    yield "AGN", agn()
    yield "AGN with momentum", agn(lambda tf: tf.train.MomentumOptimizer(0.1, 0.9))

    def model_average(global_step=True, **more):
        def build():
            getter = opt.ModelAverageCustomGetter("/cpu:0")
            with tf.variable_scope("", custom_getter=getter):
                weight = tf.get_variable("weight", initializer=tf.constant([1.0, -2.0]))
            step = tf.train.get_or_create_global_step()
            optimizer = opt.ModelAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 1, True, getter, interval_steps=2)
            train_op = optimizer.minimize(tf.reduce_sum(weight * weight), global_step=step if global_step else None)
            return _stepped(tf, np, train_op, 5, optimizer.get_init_op())
        return build
    yield "model averaging", model_average()
    yield "model averaging without a step", model_average(global_step=False)

    yield "swapping_saver without its getter", lambda: opt.ElasticAverageOptimizer(
        tf.train.GradientDescentOptimizer(0.1), 2, opt.ElasticAverageCustomGetter("")).swapping_saver()


def cases(tf, np):
    for family in (matrices, averaging):
        yield from family(tf, np)
