"""tf.contrib.checkpoint: keys of checkpoints, drawings of their objects, containers and their errors."""


def cases(tf, np):
    checkpoint = tf.contrib.checkpoint

    def saved(make):
        def build():
            import os
            import tempfile
            root, train_op = make()
            manager = tf.train.Checkpoint(root=root)
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                if train_op is not None:
                    sess.run(train_op)
                path = manager.save(os.path.join(tempfile.mkdtemp(), "model"), session=sess)
            keys = sorted(name for name, _ in tf.train.list_variables(path))
            kinds = [type(each).__name__ for each in checkpoint.list_objects(root) if "Variable" not in type(each).__name__]
            children = sorted(child.local_name for node in checkpoint.object_metadata(path).nodes for child in node.children)
            drawing = sorted(line.split(" ", 1)[1] if line.startswith("N_") and "->" not in line else "edge" + line.partition("[")[2]
                             for line in checkpoint.dot_graph_from_checkpoint(path).splitlines())
            return [tf.constant(each, name="told") for each in (keys, children, drawing, len(kinds))]
        return build

    def variable(value, name):
        return tf.Variable(value, name=name, use_resource=True)

    def own():
        root = checkpoint.Checkpointable()
        root.weight = variable([1.0, 2.0], "weight")
        root.hidden = checkpoint.NoDependency(variable(1.0, "hidden"))
        root.inner = checkpoint.Checkpointable()
        root.inner.more = variable(3, "more")
        return root, None
    yield "objects", saved(own)

    def containers():
        root = checkpoint.Checkpointable()
        root.items = checkpoint.List([variable(1.0, "a"), variable(2.0, "b")])
        root.items.append(checkpoint.Mapping(x=variable(3.0, "c")))
        root.named = checkpoint.UniqueNameTracker()
        for name in ("layer", "layer", "other", "layer"):
            root.named.track(variable(0.5, name), name)
        return root, None
    yield "containers", saved(containers)

    def optimizer():
        root = checkpoint.Checkpointable()
        root.weight = variable([1.0, 2.0], "weight")
        root.optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        return root, root.optimizer.minimize(tf.reduce_sum(root.weight * root.weight))
    yield "slots", saved(optimizer)

    def arrays():
        root = checkpoint.Checkpointable()
        root.arrays = checkpoint.NumpyState()
        root.arrays.x = np.ones([2, 3])
        root.arrays.y = np.float32(2.0)
        root.weight = variable(1.0, "weight")
        return root, None
    yield "arrays", saved(arrays)

    def split():
        root, weight = checkpoint.Checkpointable(), variable([1.0, 2.0], "weight")
        parts = checkpoint.split_dependency(["a", "b"], [tf.float32] * 2, lambda buffer: buffer.update(zip("ab", tf.unstack(weight))),
                                            lambda buffer: weight.assign([buffer["a"], buffer["b"]]), device="/cpu:0")
        root.first, root.second = parts["a"], parts["b"]
        return root, None
    yield "split", saved(split)

    def template():
        root = checkpoint.Checkpointable()
        inner = tf.make_template("inner", lambda: tf.get_variable("v", [2], use_resource=True))
        outer = tf.make_template("outer", lambda: inner() + tf.get_variable("w", [2], use_resource=True))
        outer()
        outer()
        root.template = outer
        return root, None
    yield "templates", saved(template)

    yield "a key of another type", lambda: checkpoint.Mapping({1: tf.Variable(1.0)})

    def twice():
        named = checkpoint.Mapping(x=tf.Variable(1.0))
        named["x"] = tf.Variable(2.0)
    yield "a key again", twice
    yield "a number with a name", lambda: checkpoint.UniqueNameTracker().track(1.0, "x")

    def by_name():
        import os
        import tempfile
        tf.Variable(1.0, name="v")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            path = tf.train.Saver().save(sess, os.path.join(tempfile.mkdtemp(), "model"))
        return checkpoint.object_metadata(path)
    yield "a checkpoint of names", by_name
