"""tf.contrib.framework: variables by kind and scope, values from arrays and checkpoints, checks of tensors, errors."""
import os
import shutil
import tempfile


def _names(tf):
    """Variables and collections, as a tensor."""
    parts = []
    for key in ("variables", "trainable_variables", "model_variables", "local_variables", "regularization_losses", "mine", "global_step"):
        parts += [key] + [element.name for element in tf.get_collection(key)]
    return tf.constant(parts, name="names")


def _listed(tf, variables):
    return tf.constant([v.op.name for v in variables] or ["none"], name="listed")


def variables(tf, np):
    """Making and finding them."""
    framework = tf.contrib.framework

    def made():
        with tf.variable_scope("a"):
            w = framework.variable("w", [2], initializer=tf.ones_initializer(), collections=["mine", "variables"])
            m = framework.model_variable("m", [2], initializer=tf.zeros_initializer(), regularizer=tf.contrib.layers.l2_regularizer(0.1),
                                         device="/cpu:0")
            frozen = framework.model_variable("f", [1], trainable=False, initializer=tf.zeros_initializer())
        local, everywhere = framework.local_variable(tf.constant(3.0), name="l"), framework.global_variable([1, 2])
        framework.add_model_variable(w)
        framework.add_model_variable(w)
        with tf.variable_scope("a", reuse=True):
            again = framework.model_variable("m", [2])
        return [_names(tf), tf.identity(w), tf.identity(m), tf.identity(local), tf.identity(everywhere), tf.constant([m.device, frozen.device]),
                tf.constant(again is m)]

    def scoped():
        with tf.Graph().as_default():  # which is not run: there are no such devices
            with framework.arg_scope([framework.variable, framework.model_variable], device="/job:ps/task:1", collections=["mine", "variables"]):
                v = framework.variable("v", [])
                m = framework.model_variable("m", [], device="/job:ps/task:2")
            names = [element.name for key in ("variables", "model_variables", "mine") for element in tf.get_collection(key)]
        return tf.constant([v.device, m.device] + names)

    def _model():
        for scope in ("A", "B"):
            with tf.variable_scope(scope):
                for name in ("a", "b"):
                    framework.model_variable(name, [1], initializer=tf.zeros_initializer())
        framework.local_variable(tf.constant(1.0), name="A/local")

    def found(call):
        def build():
            _model()
            return _listed(tf, call())
        return build

    f = framework
    for name, call in [
            ("get_variables", lambda: f.get_variables()), ("get_variables scope", lambda: f.get_variables("A")),
            ("get_variables suffix", lambda: f.get_variables(suffix="a")), ("get_variables both", lambda: f.get_variables("B", "b")),
            ("get_model_variables", lambda: f.get_model_variables("B")), ("get_local_variables", lambda: f.get_local_variables()),
            ("get_trainable_variables", lambda: f.get_trainable_variables(suffix="b")),
            ("get_variables_by_suffix", lambda: f.get_variables_by_suffix("a", "B")),
            ("get_variables_by_name", lambda: f.get_variables_by_name("a")),
            ("get_variables_by_name scope", lambda: f.get_variables_by_name("a", "B")),
            ("get_unique_variable", lambda: [f.get_unique_variable("B/a")]), ("get_variables_to_restore", lambda: f.get_variables_to_restore()),
            ("get_variables_to_restore parts", lambda: f.get_variables_to_restore(["A", "B/b"], ["A/a"])),
            ("filter_variables", lambda: f.filter_variables(f.get_variables(), ["a"], ["B"])),
            ("filter_variables match", lambda: f.filter_variables(f.get_variables(), ["a", "A"], reg_search=False)),
            ("error: get_unique_variable none", lambda: [f.get_unique_variable("C")]),
            ("error: get_unique_variable many", lambda: [f.get_unique_variable("A")]),
            ("error: include", lambda: f.get_variables_to_restore("A")), ("error: exclude", lambda: f.get_variables_to_restore(exclude="A"))]:
        yield name, found(call)

    def steps():
        step = framework.get_or_create_global_step()
        return [_names(tf), tf.constant([framework.get_global_step() is step, framework.assert_or_get_global_step() is step,
                                         framework.assert_or_get_global_step(global_step_tensor=step) is step])]

    def chooser():
        deal, fixed = framework.VariableDeviceChooser(num_tasks=2), framework.VariableDeviceChooser(device_type="GPU", device_index=1, replica=3)
        return tf.constant([deal(None) for _ in range(3)] + [fixed(None)])

    def names_of_parts():
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
            parts = list(tf.get_variable("w", [4]))
        return tf.constant([framework.get_variable_full_name(v) for v in parts + [framework.variable("v", [])]])

    yield "made", made
    yield "arg_scope of variables", scoped
    yield "global step", steps
    yield "error: global step twice", lambda: [framework.create_global_step() for _ in range(2)]
    yield "error: assert_global_step", lambda: framework.assert_global_step(tf.constant(1.0))
    yield "VariableDeviceChooser", chooser
    yield "get_variable_full_name", names_of_parts


def restored(tf, np):
    """Values from arrays and from checkpoints."""
    framework = tf.contrib.framework

    def with_checkpoint(use):
        def build():
            folder = tempfile.mkdtemp()
            try:
                with tf.Graph().as_default(), tf.Session() as sess:
                    tf.get_variable("a/w", initializer=tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]))
                    tf.get_variable("a/b", initializer=tf.constant([9, 8]))
                    sess.run(tf.global_variables_initializer())
                    path = tf.train.Saver().save(sess, os.path.join(folder, "model"))
                return [tf.constant(value, name="value") for value in use(path)]
            finally:
                shutil.rmtree(folder)
        return build

    def ran(sess, *functions):
        for function in functions:
            function(sess)
        return sess.run(tf.global_variables())

    def by_fn(path):
        with tf.variable_scope("a"):
            tf.get_variable("w", [4, 2])
            tf.get_variable("b", [2], tf.int32)
        with tf.Session() as sess:
            return ran(sess, framework.assign_from_checkpoint_fn(path, tf.global_variables()))

    def by_map(path):
        w, c = tf.get_variable("w", [4, 2]), tf.get_variable("c", initializer=tf.constant(5))
        assign, feeds = framework.assign_from_checkpoint(path, {"a/w": w})
        with tf.Session() as sess:
            sess.run(c.initializer)
            return ran(sess, lambda sess: sess.run(assign, feeds))

    def parts(path):
        with tf.variable_scope("a", partitioner=tf.fixed_size_partitioner(2)):
            pieces = list(tf.get_variable("w", [4, 2]))
        assign, feeds = framework.assign_from_checkpoint(path, pieces)
        with tf.Session() as sess:
            return ran(sess, lambda sess: sess.run(assign, feeds))

    def missing(path):
        with tf.variable_scope("a"):
            tf.get_variable("b", [2], tf.int32)
            x = tf.get_variable("x", initializer=tf.constant(3.5))
        restore = framework.assign_from_checkpoint_fn(path, tf.global_variables(), ignore_missing_vars=True)
        nothing = framework.assign_from_checkpoint_fn(path, [x], ignore_missing_vars=True)
        with tf.Session() as sess:
            return ran(sess, lambda sess: sess.run(x.initializer), restore) + [nothing is None]

    def reshaped(path):
        with tf.variable_scope("a"):
            tf.get_variable("w", [2, 4])
        with tf.Session() as sess:
            return ran(sess, framework.assign_from_checkpoint_fn(path, tf.global_variables(), reshape_variables=True))

    def contents(path):
        reader = framework.load_checkpoint(path)
        return [[name for name, _ in framework.list_variables(path)], [shape for _, shape in framework.list_variables(path)][1],
                framework.load_variable(path, "a/b"), reader.get_tensor("a/w")]

    def initialised(path):
        with tf.Graph().as_default(), tf.Session() as sess:
            with tf.variable_scope("b"):
                tf.get_variable("w", [4, 2])
                tf.get_variable("b", [2], tf.int32)
            framework.init_from_checkpoint(path, {"a/": "b/"})
            return ran(sess, lambda sess: sess.run(tf.global_variables_initializer()))

    def wrong_shape(path):
        with tf.variable_scope("a"):
            tf.get_variable("w", [4, 3])
        return framework.assign_from_checkpoint(path, tf.global_variables())

    for name, use in [("assign_from_checkpoint_fn", by_fn), ("assign_from_checkpoint map", by_map), ("assign_from_checkpoint parts", parts),
                      ("assign_from_checkpoint_fn missing", missing), ("assign_from_checkpoint_fn reshaped", reshaped), ("contents", contents),
                      ("init_from_checkpoint", initialised), ("error: assign_from_checkpoint shape", wrong_shape),
                      ("error: assign_from_checkpoint missing", lambda path: framework.assign_from_checkpoint(path, [tf.get_variable("x", [1])])),
                      ("error: assign_from_checkpoint_fn nothing", lambda path: framework.assign_from_checkpoint_fn(path, []))]:
        yield name, with_checkpoint(use)

    def values():
        tf.get_variable("w", [2])
        tf.get_variable("w2", [2, 2])
        assign, feeds = framework.assign_from_values({"w": np.array([1.0, 2.0]), "w2": np.arange(4.0)})
        with tf.Session() as sess:
            sess.run(assign, feeds)
            first = sess.run(tf.global_variables())
            framework.assign_from_values_fn({"w2": np.ones(4)})(sess)
            return [tf.constant(value, name="value") for value in first + sess.run(tf.global_variables())] + [
                tf.constant(sorted(fed.name for fed in feeds), name="feeds")]

    yield "assign_from_values", values
    yield "error: assign_from_values", lambda: framework.assign_from_values({"w": np.array([1.0])})


def tensors(tf, np):
    """Shapes, sums, decisions, functions of Python."""
    framework = tf.contrib.framework
    x = lambda: tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
    open_x = lambda: tf.placeholder_with_default([[1.0, 2.0], [3.0, 4.0]], [None, 2], name="x")

    yield "reduce_sum_n", lambda: framework.reduce_sum_n([x(), tf.constant([5.0], name="y")])
    yield "reduce_sum_n of one", lambda: framework.reduce_sum_n([x()])
    yield "with_shape", lambda: framework.with_shape([2, 2], x())
    yield "with_shape at run time", lambda: framework.with_shape([2, 2], open_x())
    yield "with_shape scalar", lambda: framework.with_shape([], tf.constant([3.0], name="y"))
    yield "with_shape of a tensor", lambda: framework.with_shape(tf.constant([2, 2]), x())
    yield "with_same_shape", lambda: framework.with_same_shape(x(), open_x())
    yield "remove_squeezable_dimensions", lambda: framework.remove_squeezable_dimensions(tf.ones([2, 1]), tf.ones([2]))
    yield "assert_scalar_int", lambda: framework.assert_scalar_int(tf.constant(3))
    yield "is_tensor", lambda: tf.constant([framework.is_tensor(each) for each in (x(), tf.Variable(1.0), 3, np.ones(2), [x()],
                                                                                  tf.SparseTensor([[0]], [1.0], [1]))])
    yield "smart_cond", lambda: [framework.smart_cond(True, lambda: x() + 1.0, lambda: x()),
                                    tf.constant(framework.smart_constant_value(tf.constant(False)))]
    yield "smart_case", lambda: [tf.identity(framework.smart_case(
        [(tf.constant(False), lambda: tf.constant(1)), (tf.constant(True), lambda: tf.constant(2))], default=lambda: tf.constant(3)), name="r")]
    yield "sorting", lambda: [tf.identity(each, name="r") for each in (
        framework.sort(tf.constant([3, 1, 2])), framework.argsort(tf.constant([3, 1, 2]), direction="DESCENDING"))]
    yield "get_placeholders", lambda: tf.constant([t.name for _ in [tf.placeholder(tf.float32, name="p"), tf.placeholder(tf.int32)]
                                                   for t in framework.get_placeholders(tf.get_default_graph())])
    yield "names", lambda: tf.constant([framework.prepend_name_scope("x", "a"), framework.strip_name_scope("a/x", "a"),
                                         framework.get_name_scope() or "none"])

    def python():
        def split(a, b, scale):
            return {"sum": a + b, "parts": (a * scale, b * scale)}

        made = framework.py_func(split, args=(tf.constant(3.0), tf.constant([1.0, 2.0])), kwargs={"scale": tf.constant(2.0)},
                                 output_types={"sum": tf.float32, "parts": (tf.float32, tf.float32)},
                                 output_shapes={"sum": [2], "parts": ([], [2])})
        return {"sum": tf.identity(made["sum"]), "first": tf.identity(made["parts"][0]), "second": tf.identity(made["parts"][1])}

    yield "py_func", python

    def specs():
        spec = framework.TensorSpec([None, 2], tf.int32, name="s")
        bounded = framework.BoundedTensorSpec([2], tf.float32, 0.0, [1.0, 2.0])
        return tf.constant([str(spec.is_compatible_with(tf.constant([[1, 2]]))), str(spec.is_compatible_with(tf.constant([[1.0, 2.0]]))),
                            str(spec == framework.TensorSpec([None, 2], tf.int32, name="s")), spec.name, str(bounded.minimum), str(bounded.maximum),
                            framework.TensorSpec.from_tensor(x()).name, repr(spec)])

    yield "TensorSpec", specs

    def zeroed():
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        with tf.Session() as sess:
            sess.run(framework.zero_initializer(v))
            return tf.constant(sess.run(v))

    yield "zero_initializer", zeroed

    for name, call in [
            ("reduce_sum_n", lambda: framework.reduce_sum_n([])), ("with_shape", lambda: framework.with_shape([3, 2], x())),
            ("with_shape rank", lambda: framework.with_shape([[2]], x())), ("with_shape type", lambda: framework.with_shape(np.array([2.0]), x())),
            ("with_shape sparse", lambda: framework.with_shape([1], tf.SparseTensor([[0]], [1.0], [1]))),
            ("with_shape in the step", lambda: framework.with_shape([3, 2], open_x())),
            ("assert_scalar_int", lambda: framework.assert_scalar_int(tf.constant(3.0))),
            ("get_placeholders", lambda: framework.get_placeholders(3)), ("py_func", lambda: framework.py_func(lambda: 1, 3, output_types=tf.int32)),
            ("smart_cond", lambda: framework.smart_cond("yes", lambda: 1, lambda: 2))]:
        yield "error: " + name, call


def cases(tf, np):
    """All of them."""
    for part in (variables, restored, tensors):
        yield from part(tf, np)
