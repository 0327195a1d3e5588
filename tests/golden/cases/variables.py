"""Variables of both kinds: the names, types and colocation of their ops, their values, scopes, partitions and initializers."""


def cases(tf, np):
    """(name, function) pairs."""
    def listing():
        """All ops of the graph in order: name, type, inputs, control inputs, colocation groups and device, as one string tensor."""
        graph = tf.get_default_graph()
        lines = ["%s %s (%s) ^(%s) %s %s" % (
            op.name, op.type, ", ".join(t.name for t in op.inputs), ", ".join(c.name for c in op.control_inputs),
            b" ".join(op.colocation_groups()).decode(), op.device) for op in graph.get_operations()]
        return tf.constant(lines, name="listing")

    def graph_of(build):
        def function():
            build()
            return listing()
        return function

    def names_of(build):
        """The names that ``build`` gives, as a tensor."""
        return lambda: tf.constant([str(name) for name in build()], name="names")

    def after(writes, *reads):
        """What ``reads`` give after the ``writes`` have run one after the other, from the initial values."""
        steps = []
        for write in writes:
            with tf.control_dependencies(steps[-1:]):
                steps.append(write().op)
        with tf.control_dependencies(steps[-1:]):
            return [read() for read in reads]

    kinds = [("ref", False), ("resource", True)]

    # --- the ops of a variable ---------------------------------------------------------------------------------------
    for kind, res in kinds:
        def variable(value=(1.0, 2.0), res=res, **kwargs):
            return tf.Variable(value, use_resource=res, name=kwargs.pop("name", "v"), **kwargs)

        yield kind + " ops of a value", graph_of(lambda v=variable: v())
        yield kind + " ops of a tensor", graph_of(lambda v=variable: v(tf.ones([2])))
        yield kind + " ops of a callable", graph_of(lambda v=variable: v(lambda: tf.zeros([2]), dtype=tf.float32))
        yield kind + " ops of an array", graph_of(lambda v=variable: v(np.arange(3)))
        yield kind + " two of one name", graph_of(lambda v=variable: [v(), v()])
        yield kind + " without a name", graph_of(lambda res=res: tf.Variable(1.0, use_resource=res))
        yield kind + " in a name scope", graph_of(lambda v=variable: [scope(tf, "a", v), scope(tf, "a", v)])
        yield kind + " in control dependencies", graph_of(lambda v=variable: controlled(tf, v))
        yield kind + " on a device", graph_of(lambda v=variable: on_device(tf, v))
        yield kind + " read_value", graph_of(lambda v=variable: v().read_value())
        yield kind + " assign", graph_of(lambda v=variable: v().assign([3.0, 4.0]))
        yield kind + " assign function", graph_of(lambda v=variable: tf.assign(v(), [3.0, 4.0], name="set"))
        yield kind + " assign_add", graph_of(lambda v=variable: v().assign_add([3.0, 4.0]))
        yield kind + " assign_sub", graph_of(lambda v=variable: tf.assign_sub(v(), [3.0, 4.0]))
        yield kind + " scatter function", graph_of(lambda v=variable: tf.scatter_update(v(), [0], [5.0]))
        yield kind + " scatter method", graph_of(lambda v=variable: v().scatter_sub(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))))
        yield kind + " scatter nd", graph_of(lambda v=variable: tf.scatter_nd_add(v(), [[0]], [5.0]))
        yield kind + " slice", graph_of(lambda v=variable: v()[0])
        yield kind + " slice assign", graph_of(lambda v=variable: v()[0:1].assign([3.0]))
        yield kind + " operators", graph_of(lambda v=variable: 1.0 - (v() + 1.0) * v(name="w"))
        yield kind + " right operand", graph_of(lambda v=variable: tf.ones([2]) * v())
        yield kind + " comparison", graph_of(lambda v=variable: v() > 0.0)
        yield kind + " unary", graph_of(lambda v=variable: [-v(), abs(v(name="w"))])
        yield kind + " is initialized", graph_of(lambda v=variable: tf.is_variable_initialized(v()))
        yield kind + " ops of count_up_to", graph_of(lambda v=variable: v(0).count_up_to(3))
        yield kind + " ops of gather", graph_of(lambda v=variable: tf.gather(v(), [1]))
        yield kind + " init op", graph_of(lambda v=variable: [v(), v(), tf.global_variables_initializer()])
        yield kind + " get_variable", graph_of(lambda res=res: tf.get_variable("v", [2, 3], use_resource=res))
        yield kind + " get_variable zeros", graph_of(lambda res=res: tf.get_variable("v", [2], tf.int32, use_resource=res))
        yield kind + " get_variable from a value", graph_of(lambda res=res: tf.get_variable("v", initializer=[1.0, 2.0], use_resource=res))
        yield kind + " get_variable with a type", graph_of(
            lambda res=res: tf.get_variable("v", dtype=tf.float32, initializer=[1.0, 2.0], use_resource=res))
        yield kind + " get_variable from a function", graph_of(
            lambda res=res: tf.get_variable("v", initializer=lambda: tf.ones([2]), use_resource=res))
        yield kind + " get_variable regularized", graph_of(
            lambda res=res: tf.get_variable("v", [2], regularizer=lambda w: tf.square(w), use_resource=res))
        yield kind + " get_variable in scopes", graph_of(lambda res=res: nested(tf, res))
        yield kind + " partitioned", graph_of(
            lambda res=res: tf.identity(tf.get_variable("p", [5, 2], partitioner=tf.fixed_size_partitioner(2), use_resource=res)))
        yield kind + " caching device", graph_of(lambda v=variable: v(caching_device="/cpu:0") + 1.0)

    yield "partitioned from a tensor", graph_of(
        lambda: tf.get_variable("p", initializer=tf.zeros([3]), partitioner=tf.fixed_size_partitioner(3)))
    yield "partitioned in one part", graph_of(
        lambda: tf.identity(tf.get_variable("p", [3], partitioner=tf.fixed_size_partitioner(1))))
    yield "partitioned assign", graph_of(
        lambda: tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(2)).assign(tf.zeros([4])))
    yield "create_partitioned_variables", graph_of(
        lambda: tf.create_partitioned_variables([4, 2], [2, 1], tf.zeros([4, 2]), name="parts"))
    for name, initializer in [
            ("normal", lambda: tf.random_normal_initializer(seed=1)), ("truncated", lambda: tf.truncated_normal_initializer(seed=1)),
            ("uniform", lambda: tf.random_uniform_initializer(-1, 1, seed=1)), ("glorot normal", lambda: tf.glorot_normal_initializer(seed=1)),
            ("orthogonal", lambda: tf.orthogonal_initializer(seed=1)), ("identity", lambda: tf.initializers.identity()),
            ("unit scaling", lambda: tf.uniform_unit_scaling_initializer(seed=1)), ("constant", lambda: tf.constant_initializer([1, 2, 3])),
            ("class", lambda: tf.zeros_initializer)]:
        yield "ops of initializer " + name, graph_of(lambda i=initializer: tf.get_variable("v", [3, 3], initializer=i()))

    # --- values ------------------------------------------------------------------------------------------------------
    start = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    for kind, res in kinds:
        def table(res=res, dtype=np.float32):
            return tf.Variable(start.astype(dtype), use_resource=res, name="table")

        def changed(write, make=table):
            def function():
                variable = make()
                return after([lambda: write(variable)], variable.read_value)
            return function

        yield kind + " value of assign", changed(lambda v: tf.assign(v, np.zeros((3, 2), np.float32)))
        yield kind + " value of assign_add", changed(lambda v: v.assign_add(np.ones((3, 2), np.float32)))
        yield kind + " value of assign_sub", changed(lambda v: v.assign_sub(np.ones((3, 2), np.float32)))
        for how in ["update", "add", "sub", "mul", "div", "min", "max"]:
            scatter = getattr(tf, "scatter_" + how)
            yield kind + " value of scatter_" + how, changed(lambda v, s=scatter: s(v, [2, 0], [[2.0, 4.0], [8.0, 0.5]]))
            if how != "update":
                yield kind + " row twice in scatter_" + how, changed(lambda v, s=scatter: s(v, [1, 1], [[2.0, 4.0], [8.0, 0.5]]))
            yield kind + " scalar in scatter_" + how, changed(lambda v, s=scatter: s(v, [2, 0], 2.0))
        yield kind + " matrix of indices", changed(lambda v: tf.scatter_update(v, [[0], [2]], [[[9.0, 9.0]], [[8.0, 8.0]]]))
        yield kind + " one index", changed(lambda v: tf.scatter_add(v, 1, [1.0, 2.0]))
        yield kind + " integer division", changed(
            lambda v: tf.scatter_div(v, [0, 1], [[-2, 2], [2, -3]]), lambda t=table: t(dtype=np.int32))
        yield kind + " scatter_nd_update elements", changed(lambda v: tf.scatter_nd_update(v, [[0, 1], [2, 0]], [8.0, 9.0]))
        yield kind + " scatter_nd_add rows", changed(lambda v: tf.scatter_nd_add(v, [[1], [1]], [[8.0, 9.0], [1.0, 1.0]]))
        yield kind + " scatter_nd_sub", changed(lambda v: tf.scatter_nd_sub(v, [[0]], [[8.0, 9.0]]))
        yield kind + " bad index", changed(lambda v: tf.scatter_update(v, [3], [[1.0, 1.0]]))
        yield kind + " bad nd index", changed(lambda v: tf.scatter_nd_update(v, [[0, 2]], [1.0]))
        yield kind + " bad shape of updates", changed(lambda v: tf.scatter_update(v, [0, 1], [[1.0, 1.0]]))
        yield kind + " batch_scatter_update", changed(lambda v: tf.batch_scatter_update(v, [[0], [1], [0]], [[8.0], [9.0], [7.0]]))
        for key_name, key, value in [("row", 1, [8.0, 9.0]), ("column", np.s_[:, 1], [7.0, 8.0, 9.0]), ("element", np.s_[2, 0], 5.0),
                                     ("backwards", np.s_[::-2, :], [[7.0, 8.0], [9.0, 10.0]]), ("new axis", np.s_[0:1, None, 1], [[4.0]])]:
            yield kind + " assign to " + key_name, changed(lambda v, k=key, x=value: v[k].assign(x))
        yield kind + " bad slice assignment", changed(lambda v: v[0].assign(tf.placeholder_with_default([1.0], None)))
        yield kind + " bad assignment", changed(lambda v: v.assign([1.0]))
        yield kind + " gather", lambda t=table: tf.gather(t(), [2, 0, 0])
        yield kind + " gather_nd", lambda t=table: tf.gather_nd(t(), [[2, 1], [0, 0]])
        yield kind + " gather gradient", lambda t=table: gradient_of(tf, t(), lambda v: tf.gather(v, [2, 0, 0]) ** 2)
        yield kind + " gather_nd gradient", lambda t=table: gradient_of(tf, t(), lambda v: tf.gather_nd(v, [[2, 1], [0, 0]]) ** 2)
        yield kind + " gradient", lambda t=table: gradient_of(tf, t(), lambda v: v * v + v)
        yield kind + " matmul", lambda t=table: tf.matmul(t(), [[1.0], [2.0]])
        yield kind + " shape", lambda t=table: tf.shape(t())
        yield kind + " stack", lambda t=table: tf.stack([t(), t()])
        yield kind + " boolean mask", lambda t=table: t()[tf.constant([True, False, True])]
        yield kind + " count_up_to", lambda res=res: tf.Variable(7, use_resource=res).count_up_to(9)
        yield kind + " count at its limit", lambda res=res: tf.Variable(9, use_resource=res).count_up_to(9)
        yield kind + " strings", lambda res=res: tf.Variable(["a", "bc"], use_resource=res).read_value()
        yield kind + " partitioned value", lambda res=res: tf.identity(tf.get_variable(
            "p", initializer=tf.range(5.0), partitioner=tf.fixed_size_partitioner(2), use_resource=res))

    yield "initial value that depends on a variable", lambda: dependent(tf)
    yield "initialized_value before its time", lambda: tf.Variable(3.0, collections=[]).initialized_value() * 2.0
    yield "unknown shape", lambda: tf.Variable(tf.placeholder_with_default([1.0], None))
    yield "shape not validated", lambda: tf.Variable(tf.placeholder_with_default([1.0], None), validate_shape=False).read_value()
    yield "uninitialized", lambda: tf.Variable(3.0, collections=[]).read_value()
    yield "uninitialized resource", lambda: tf.Variable(3.0, collections=[], use_resource=True).read_value()
    yield "report_uninitialized_variables", lambda: (tf.Variable(3.0, collections=["metric_variables"], name="v"),
                                                     tf.report_uninitialized_variables(tf.get_collection("metric_variables")))[1]
    for name, initializer in [
            ("normal", lambda: tf.random_normal_initializer(5.0, 2.0, seed=1)), ("truncated", lambda: tf.truncated_normal_initializer(seed=1)),
            ("uniform", lambda: tf.random_uniform_initializer(-1, 1, seed=1)), ("glorot normal", lambda: tf.glorot_normal_initializer(seed=1)),
            ("glorot uniform", lambda: tf.glorot_uniform_initializer(seed=1)), ("unit scaling", lambda: tf.uniform_unit_scaling_initializer(seed=1)),
            ("fan_out uniform", lambda: tf.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=1)),
            ("untruncated", lambda: tf.variance_scaling_initializer(2.0, "fan_avg", "untruncated_normal", seed=1)),
            ("he_normal", lambda: tf.initializers.he_normal(1)), ("lecun_uniform", lambda: tf.initializers.lecun_uniform(1)),
            ("orthogonal", lambda: tf.orthogonal_initializer(2.0, seed=1)), ("constant", lambda: tf.constant_initializer([1, 2, 3])),
            ("ones", lambda: tf.ones_initializer())]:
        for shape in [[4, 3], [2, 3, 4, 5], [3, 7]]:
            yield "values of %s %s" % (name, shape), lambda i=initializer, s=shape: i()(s)
    yield "values of identity", lambda: tf.initializers.identity(2.0)([3, 4])

    # --- names and errors of scopes ----------------------------------------------------------------------------------
    def get(name="v", shape=(), **kwargs):
        return tf.get_variable(name, list(shape), **kwargs).name

    def in_scope(build, *args, **kwargs):
        with tf.variable_scope(*args, **kwargs):
            return build()

    yield "scope names", names_of(lambda: [in_scope(get, "a"), in_scope(lambda: in_scope(get, "b"), "a"), in_scope(get, "a/c")])
    yield "op names in scopes", names_of(lambda: [in_scope(lambda: tf.constant(1.0).name, "a") for _ in range(3)])
    yield "default names", names_of(lambda: [in_scope(get, None, "d") for _ in range(3)])
    yield "default names inside", names_of(lambda: [in_scope(lambda: [in_scope(get, None, "d"), in_scope(get, None, "d")], "a")])
    yield "AUTO_REUSE", names_of(lambda: [in_scope(get, "a", reuse=tf.AUTO_REUSE) for _ in range(2)])
    yield "no sharing", names_of(lambda: [in_scope(get, "a") for _ in range(2)])
    yield "nothing to share", names_of(lambda: [in_scope(get, "a", reuse=True)])
    yield "other shape", names_of(lambda: [get(), in_scope(lambda: get(shape=[2]), "", reuse=True)])
    yield "other type", names_of(lambda: [get(), in_scope(lambda: get(dtype=tf.int32), "", reuse=True)])
    yield "reuse without a name", names_of(lambda: [in_scope(get, None, "d", reuse=True)])
    yield "no name at all", names_of(lambda: [in_scope(get, None)])
    yield "wrong name", names_of(lambda: [in_scope(get, 3)])
    yield "constant with a shape", names_of(lambda: [get(initializer=tf.zeros([]))])
    yield "types that do not match", names_of(lambda: [tf.get_variable("v", initializer=tf.zeros([]), dtype=tf.int32).name])
    yield "no initializer for complex", names_of(lambda: [get(dtype=tf.complex64)])
    yield "no auxiliary name scope", names_of(
        lambda: [in_scope(lambda: tf.constant(1.0).name, "a", auxiliary_name_scope=False), in_scope(get, "a", auxiliary_name_scope=False)])
    yield "scope object", names_of(lambda: again(tf, get))
    yield "template", lambda: templates(tf)
    yield "custom getters nest", lambda: getters(tf)
    yield "variable creators nest", names_of(lambda: creators(tf))
    yield "collections", names_of(lambda: collections(tf))
    yield "partitions by size", names_of(lambda: [
        tf.variable_axis_size_partitioner(64)(shape=tf.TensorShape([7, 30]), dtype=tf.float32),
        tf.variable_axis_size_partitioner(512, max_shards=2)(shape=tf.TensorShape([7, 30]), dtype=tf.string),
        tf.min_max_variable_partitioner(10, 0, 64)(shape=tf.TensorShape([7, 30]), dtype=tf.float32),
        tf.min_max_variable_partitioner(3, 1, 400)(shape=tf.TensorShape([7, 30]), dtype=tf.float32),
        tf.fixed_size_partitioner(4, axis=1)(shape=tf.TensorShape([7, 3]), dtype=tf.float32)])
    yield "save slices", names_of(lambda: [
        part._save_slice_info.spec for part in tf.get_variable("p", [7, 2], partitioner=tf.fixed_size_partitioner(3))])
    yield "proto", names_of(lambda: [tf.Variable(1.0, name="v").to_proto(), tf.Variable(1.0, name="r", use_resource=True).to_proto()])


def scope(tf, name, build):
    """Builds in a name scope."""
    with tf.name_scope(name):
        return build()


def controlled(tf, build):
    """A variable does not wait for the control dependencies around it, a read does."""
    with tf.control_dependencies([tf.no_op()]):
        return build().read_value()


def on_device(tf, build):
    """Everything of a variable is beside it."""
    with tf.device("/cpu:0"):
        variable = build()
    with tf.device("/job:localhost"):
        return [variable.read_value(), variable.assign_add([1.0, 1.0]), variable + 1.0, tf.identity(variable)]


def nested(tf, resource):
    """Name scopes concern ops, not ``get_variable``."""
    with tf.variable_scope("a", use_resource=resource), tf.name_scope("n"), tf.variable_scope("b"):
        return tf.get_variable("v", [2]) + 1.0


def gradient_of(tf, variable, function):
    """The gradient with respect to the variable, dense."""
    return tf.convert_to_tensor(tf.gradients(function(variable), variable)[0])


def dependent(tf):
    """A variable that is computed from another one, initialized in any order."""
    a = tf.Variable(2.0, name="a")
    b = tf.Variable(a * 3.0, name="b")
    return [a.read_value(), b.read_value()]


def again(tf, get):
    """A scope that is entered again as an object."""
    with tf.variable_scope("a") as first:
        names = [get()]
        with tf.variable_scope("b"):
            with tf.variable_scope(first, reuse=True):
                names += [get(), tf.constant(1.0).name, tf.get_variable_scope().original_name_scope]
    with tf.variable_scope(first):
        names += [get("w"), tf.constant(1.0).name]
    with tf.variable_scope(first, auxiliary_name_scope=False), tf.name_scope(first.original_name_scope):
        names += [tf.constant(1.0).name]
    return names


def templates(tf):
    """Calls of one template share, two templates do not."""
    def scaled(x):
        return x * tf.get_variable("k", [], initializer=tf.constant_initializer(3.0))

    one, two = tf.make_template("t", scaled), tf.make_template("t", scaled)
    return [one(1.0), one(2.0), two(1.0), tf.constant([v.name for v in tf.global_variables()])]


def getters(tf):
    """The getter of the inner scope is called first, and calls that of the outer one."""
    def plus(getter, *args, **kwargs):
        return getter(*args, **kwargs) + 1.0

    def times(getter, *args, **kwargs):
        return getter(*args, **kwargs) * 10.0

    with tf.variable_scope("a", custom_getter=plus), tf.variable_scope("b", custom_getter=times):
        return tf.get_variable("v", [], initializer=tf.constant_initializer(4.0))


def creators(tf):
    """The innermost creator is asked first."""
    def named(suffix):
        def create(next_creator, **kwargs):
            kwargs["name"] = kwargs["name"] + suffix
            return next_creator(**kwargs)
        return create

    with tf.variable_creator_scope(named("_outer")), tf.variable_creator_scope(named("_inner")):
        return [tf.Variable(1.0, name="v").name, tf.get_variable("w", []).name]


def collections(tf):
    """Who is where."""
    tf.Variable(1.0, name="a")
    tf.Variable(1.0, name="b", trainable=False)
    tf.Variable(1.0, name="c", collections=["mine"])
    tf.get_local_variable("d", [])
    tf.get_variable("e", [], trainable=False, collections=["mine"])
    keys = ["variables", "trainable_variables", "local_variables", "mine"]
    return [key + " " + v.name for key in keys for v in tf.get_collection(key)]
