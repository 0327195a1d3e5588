"""tf.contrib.opt: weights and slots after three steps, dense and sparse, of variables of both kinds; names of variables."""


def _variables(tf, np, resource):
    dense = tf.get_variable("dense", initializer=tf.constant(np.cos(np.arange(6)).reshape(2, 3), tf.float32), use_resource=resource)
    table = tf.get_variable("table", initializer=tf.constant(np.sin(np.arange(8)).reshape(4, 2), tf.float32), use_resource=resource)
    rows = tf.gather(table, [1, 3, 1])
    return tf.reduce_sum(tf.square(dense) * [0.5, 1.0, 2.0]) + tf.reduce_sum(rows * rows * [[1.0], [0.5], [0.25]])


def _trained(tf, np, train_op):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(train_op)
        variables = tf.global_variables()
        names = [variable.name for variable in variables] + [op.name for op in tf.get_collection("train_op")]
        values = sess.run(variables)
    flat = np.concatenate([np.ravel(value).astype(np.float32) for value in values])
    return [tf.constant(names, name="names"), tf.constant(flat, name="values")]


def optimizers(tf, np):
    opt = tf.contrib.opt

    def case(make, resource, **more):
        def build():
            loss = _variables(tf, np, resource)
            step = tf.train.get_or_create_global_step()
            return _trained(tf, np, make().minimize(loss, global_step=step, **more))
        return build

    made = [("LazyAdam", lambda: opt.LazyAdamOptimizer(0.1)), ("Nadam", lambda: opt.NadamOptimizer(0.1)),
            ("Nadam named", lambda: opt.NadamOptimizer(0.1, beta1=0.8, name="mine")), ("AdaMax", lambda: opt.AdaMaxOptimizer(0.1)),
            ("LARS", lambda: opt.LARSOptimizer(0.1, eeta=0.5)), ("RegAdagrad", lambda: opt.RegAdagradOptimizer(0.1)),
            ("MovingAverage", lambda: opt.MovingAverageOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), average_decay=0.5)),
            ("Multitask", lambda: opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9)))]
    for name, make in made:
        for resource in (False, True):
            if name == "LARS" or (name == "Multitask" and resource):
                continue
            yield "{} {}".format(name, resource), case(make, resource)

    def decaying(make, resource, some=False):  # by a linear loss: in TensorFlow, it may be computed before or after the decay
        def build():
            dense = tf.get_variable("dense", initializer=tf.constant([1.0, -2.0]), use_resource=resource)
            table = tf.get_variable("table", initializer=tf.constant(np.sin(np.arange(8)).reshape(4, 2), tf.float32), use_resource=resource)
            loss = tf.reduce_sum(dense * [0.5, 2.0]) + tf.reduce_sum(tf.gather(table, [1, 3, 1]) * [[1.0], [0.5], [0.25]])
            more = {"decay_var_list": [table]} if some else {}
            return _trained(tf, np, make().minimize(loss, global_step=tf.train.get_or_create_global_step(), **more))
        return build

    for resource in (False, True):
        for name, make in [("AdamW", lambda: opt.AdamWOptimizer(0.1, 0.1)), ("MomentumW", lambda: opt.MomentumWOptimizer(0.1, 0.1, 0.9)),
                           ("MomentumW nesterov", lambda: opt.MomentumWOptimizer(0.1, 0.1, 0.9, use_nesterov=True)),
                           ("extended", lambda: opt.extend_with_decoupled_weight_decay(tf.train.AdagradOptimizer)(weight_decay=0.1,
                                                                                                                  learning_rate=0.1))]:
            yield "{} {}".format(name, resource), decaying(make, resource)
        yield "AdamW some {}".format(resource), decaying(lambda: opt.AdamWOptimizer(0.1, 0.1), resource, some=True)

    def dense_only(make, resource=False):
        def build():
            weights = tf.get_variable("dense", initializer=tf.constant(np.cos(np.arange(6)).reshape(2, 3), tf.float32), use_resource=resource)
            other = tf.get_variable("bias", initializer=tf.constant([0.0, 0.0, 0.0]), use_resource=resource)
            loss = tf.reduce_sum(tf.square(weights + other) * [0.5, 1.0, 2.0])
            return _trained(tf, np, make().minimize(loss, global_step=tf.train.get_or_create_global_step()))
        return build

    for resource in (False, True):
        yield "LARS {}".format(resource), dense_only(lambda: opt.LARSOptimizer(0.1, eeta=0.5), resource)
        yield "AddSign {}".format(resource), dense_only(lambda: opt.AddSignOptimizer(0.1), resource)
        yield "PowerSign {}".format(resource), dense_only(lambda: opt.PowerSignOptimizer(0.1, base=3.0), resource)
    yield "LARS skips", dense_only(lambda: opt.LARSOptimizer(0.1, eeta=0.5, skip_list=["bias"], use_nesterov=True))
    yield "LARS negative", lambda: opt.LARSOptimizer(0.1, momentum=-1.0)
    yield "AddSign decays", dense_only(lambda: opt.AddSignOptimizer(0.1, sign_decay_fn=lambda step: 1.0 / (1.0 + tf.cast(step, tf.float32))))

    def frozen_slots():
        weights = tf.get_variable("dense", initializer=tf.constant([1.0, 2.0]))
        optimizer = opt.RegAdagradOptimizer(0.1)
        first = optimizer.minimize(tf.reduce_sum(weights * weights))
        with optimizer.avoid_updating_slots(), tf.control_dependencies([first]):
            second = optimizer.minimize(tf.reduce_sum(weights))
        return _trained(tf, np, second)
    yield "RegAdagrad frozen slots", frozen_slots


def wrappers(tf, np):
    opt = tf.contrib.opt

    def clipping(resource, dims):
        def build():
            loss = _variables(tf, np, resource)
            dense, table = tf.trainable_variables()
            optimizer = opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(0.1), {dense: [1], table: dims}, 0.3)
            return _trained(tf, np, optimizer.minimize(loss))
        return build

    for resource in (False, True):
        for dims in ([1], [0, 1]):
            yield "VariableClipping {} {}".format(resource, dims), clipping(resource, dims)

    def stale():
        loss = tf.square(tf.get_variable("v", initializer=2.0))
        step = tf.train.get_or_create_global_step()
        return _trained(tf, np, opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(0.1), 0).minimize(loss, global_step=step))
    yield "DropStaleGradient", stale

    def clipped():
        first, second = tf.constant([3.0, 4.0], name="a"), tf.constant([0.0, 0.0], name="b")
        pairs, norm = opt.clip_gradients_by_global_norm([(first, "x"), (second, "y"), (None, "z")], clip_norm=1.0)
        return [[pair[0] for pair in pairs], norm]
    yield "clip_gradients_by_global_norm", clipped
    yield "Multitask of no optimizer", lambda: opt.MultitaskOptimizerWrapper("adam")

    def early_saver():
        return opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1)).swapping_saver()
    yield "swapping_saver before apply_gradients", early_saver


def loss_scales(tf, np):
    mixed = tf.contrib.mixed_precision

    def steps(make, factors):
        def build():
            factor = tf.placeholder(tf.float32, [])
            weight = tf.get_variable("weight", initializer=tf.constant([1.0, -2.0]))
            manager = make()
            step = tf.train.get_or_create_global_step()
            optimizer = mixed.LossScaleOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), manager)
            train_op = optimizer.minimize(tf.reduce_sum(weight * weight) * factor, global_step=step)
            scale = manager.get_loss_scale()
            found = []
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for each in factors:
                    sess.run(train_op, {factor: each})
                    found.append(np.concatenate([np.ravel(value).astype(np.float32) for value in sess.run([weight, scale, step])]))
            return [tf.constant([v.name for v in tf.global_variables()], name="names"), tf.constant(np.concatenate(found), name="values")]
        return build

    ups_and_downs = [1.0, 1.0, 0.5, np.inf, 1.0, np.nan, np.inf, 1.0, 1.0, 1.0, np.inf, np.inf, np.inf, np.inf]
    yield "loss scale fixed", steps(lambda: mixed.FixedLossScaleManager(8.0), [1.0, 0.5, np.inf, 1.0])
    yield "loss scale exponential", steps(lambda: mixed.ExponentialUpdateLossScaleManager(8.0, 3), ups_and_downs)
    yield "loss scale ratios", steps(lambda: mixed.ExponentialUpdateLossScaleManager(2.0, 2, 1, incr_ratio=3, decr_ratio=0.25), ups_and_downs)
    yield "loss scale below 1", lambda: mixed.FixedLossScaleManager(0.5)


def cases(tf, np):
    for family in (optimizers, wrappers, loss_scales):
        yield from family(tf, np)
