"""Names of the libraries that no other family uses, the last ones: code of AutoGraph, critical sections, state, writers, editing handlers."""
import tempfile


def _framework(tf, np):
    def critical():
        section, variable = tf.CriticalSection(name="section"), tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
        with tf.control_dependencies([variable.initializer]):
            first = section.execute(lambda: tf.identity(variable.assign_add(2.0)))
        return [tf.identity(first, name="first"), section.name]
    yield "CriticalSection", critical


def _graphs(tf, np):
    def inside():
        x = tf.constant(1.0, name="x")
        y, z = tf.add(x, 1.0, name="y"), tf.multiply(x, 2.0, name="z")
        editor = tf.contrib.graph_editor
        view, transformer = editor.sgv(y.op), editor.Transformer()
        seen = []

        def handler(info, op, new_inputs):
            seen.append("%s %s" % (op.name, editor.transform_op_if_inside_handler(info, z.op) is z.op))
            return editor.copy_op_handler(info, op, new_inputs)
        transformer.transform_op_handler = handler
        transformer(view, tf.get_default_graph(), "copy", "")
        return [tf.constant(sorted(each.name for each in tf.get_default_graph().get_operations()), name="names"), tf.constant(seen, name="seen"), z]
    yield "transform_op_if_inside_handler", inside


def _state(tf, np):
    def written():
        with tf.contrib.summary.create_summary_file_writer(tempfile.mkdtemp()).as_default(), tf.contrib.summary.always_record_summaries():
            tf.train.get_or_create_global_step()
            told = tf.contrib.summary.scalar("a", 1.0)
        return [tf.constant(getattr(told, "op", told).type, name="type")]
    yield "create_summary_file_writer", written

    class Counter(tf.contrib.checkpoint.PythonState if hasattr(tf.contrib.checkpoint, "PythonState") else tf.contrib.checkpoint.PythonStateWrapper):
        """State in Python."""

        def __init__(self):
            self.value = 3

        def serialize(self):
            return str(self.value)

        def deserialize(self, text):
            self.value = int(text)
    yield "PythonStateWrapper", lambda: [tf.constant(str(issubclass(Counter, tf.contrib.checkpoint.PythonStateWrapper)), name="told")]

    def captured():
        root = tf.make_template("scope", lambda: None)
        root()
        with tf.variable_scope(root.variable_scope), tf.contrib.checkpoint.capture_dependencies(template=root):
            tf.get_variable("inside", [2], initializer=tf.ones_initializer())
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            path = tf.train.Checkpoint(scope=root).save(tempfile.mkdtemp() + "/saved", session)
        return tf.constant(sorted(name for name, _ in tf.train.list_variables(path)), name="names")
    yield "capture_dependencies", captured

    def required():
        told = tf.contrib.distribute.require_replica_context(tf.distribute.get_replica_context())
        return tf.constant(str(told), name="told")
    yield "in no replica", required


def _rest(tf, np):
    def code():
        def double(x):
            while x < 10:
                x = x * 2
            return x
        tf.autograph.set_verbosity(0)
        text = tf.autograph.to_code(double)
        graph = tf.autograph.to_graph(double)(tf.constant(3))
        return [tf.identity(graph, name="result"), tf.constant([str("double" in text), str("while" in text)], name="told")]
    yield "to_code", code


def _values(tf, np):
    contrib = tf.contrib

    def with_gradient(function, shape):
        def compute():
            x = tf.constant(np.sin(np.arange(np.prod(shape))).astype(np.float32).reshape(shape))
            y = function(x)
            return [y, tf.gradients(tf.reduce_sum(tf.square(y)), x)[0]]
        return compute

    pool = contrib.slim.pool
    yield "pool", with_gradient(lambda x: pool(x, [2, 2], "MAX", stride=2, scope="p"), [1, 5, 4, 2])
    yield "pool dilated", with_gradient(lambda x: pool(x, [2, 2], "AVG", padding="VALID", dilation_rate=2), [1, 5, 4, 2])
    yield "pool dilated and padded", with_gradient(lambda x: pool(x, [2, 2], "AVG", padding="SAME", dilation_rate=2), [1, 5, 4, 2])
    yield "pool of one axis", with_gradient(lambda x: pool(x, 2, "AVG", padding="SAME", outputs_collections="out"), [1, 3, 4])
    yield "pool of channels first", lambda: str(pool(tf.ones([1, 2, 4, 4]), [2, 2], "MAX", data_format="NCHW", padding="VALID").shape)
    yield "pool of another kind", lambda: pool(tf.ones([1, 4, 4, 2]), [2, 2], "MIN")

    def bijector(make, shape):
        def compute():
            x, b = tf.constant(np.arange(np.prod(shape), dtype=np.float32).reshape(shape)), make(contrib.distributions.bijectors)
            y = b.forward(x)
            return [y, b.inverse(tf.identity(y)), b.forward_log_det_jacobian(x, b.forward_min_event_ndims), b.forward_event_shape(x.shape)]
        return compute

    yield "Identity", bijector(lambda bijectors: bijectors.Identity(), [2, 3])
    yield "Permute", bijector(lambda bijectors: bijectors.Permute([2, 0, 1]), [2, 3])
    yield "Permute of what is no permutation", bijector(lambda bijectors: bijectors.Permute([2, 0, 2], validate_args=True), [2, 3])
    yield "Reshape", bijector(lambda bijectors: bijectors.Reshape([3, -1], [6]), [2, 6])
    yield "Reshape of another size", bijector(lambda bijectors: bijectors.Reshape([4], [6]), [2, 6])

    def bypassed():
        y = tf.add(tf.constant(1.0, name="x"), 1.0, name="y")
        z = tf.multiply(y, 3.0, name="z")
        contrib.graph_editor.bypass(contrib.graph_editor.sgv(y.op).remap_inputs([0]))
        return [z, z.op.inputs[0].name]
    yield "bypass", bypassed
    yield "trace", lambda: tf.constant(str(tf.autograph.trace("told")), name="told")


def _summaries(tf, np):
    summary = tf.contrib.summary

    def of(make):
        def inside():
            tf.train.get_or_create_global_step()
            with summary.create_file_writer(tempfile.mkdtemp()).as_default(), summary.always_record_summaries():
                op = make()
            op = getattr(op, "op", op)
            return tf.constant(["%s %s" % (op.type, op.name)] + ["%s %s" % (each.op.type, each.dtype.name) for each in op.inputs], name="op")
        return inside

    yield "contrib.summary.image", of(lambda: summary.image("i", tf.zeros([1, 2, 2, 3]), max_images=1))
    yield "contrib.summary.audio", of(lambda: summary.audio("a", tf.zeros([1, 8]), 100, 1))
    yield "contrib.summary.graph", of(lambda: summary.graph(tf.constant(b""), step=tf.constant(3, tf.int64)))


def _loops(tf, np):
    training = tf.contrib.training

    def trained():
        tf.set_random_seed(3)
        w = tf.get_variable("w", [2], initializer=tf.random_uniform_initializer())
        op = training.create_train_op(tf.reduce_sum(tf.square(w)), tf.train.GradientDescentOptimizer(0.1))
        folder = tempfile.mkdtemp()
        loss = training.train(op, folder, hooks=[tf.train.StopAtStepHook(5)], save_summaries_steps=None)
        with tf.Graph().as_default():
            w = tf.get_variable("w", [2])
            value, update = tf.metrics.mean(tf.reduce_sum(w))
            path = training.wait_for_new_checkpoint(folder)
            results = training.evaluate_once(path, eval_ops=update, final_ops={"mean": value, "w": w}, hooks=[training.StopAfterNEvalsHook(2)])
        return [tf.constant(each) for each in (loss, results["mean"], results["w"])]
    yield "train and evaluate_once", trained

    def batches(make):
        def read():
            number = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
            which, outputs = make(number)
            rows = []
            with tf.train.MonitoredSession() as session:
                while not session.should_stop():
                    rows.append([np.asarray(each).tolist() for each in session.run([which] + list(outputs))])
            return tf.constant(sorted(map(str, rows)), name="rows")
        return read

    yield "bucket", batches(lambda number: training.bucket(
        [number, tf.square(number)], tf.mod(number, 2), 2, 2, num_threads=1, allow_smaller_final_batch=True))
    yield "bucket_by_sequence_length", batches(lambda number: training.bucket_by_sequence_length(
        tf.mod(number, 5) + 1, [tf.fill([tf.mod(number, 5) + 1], number)], 2, [3], num_threads=1, dynamic_pad=True, allow_smaller_final_batch=True))


def cases(tf, np):
    """All cases of the family."""
    for group in (_framework, _graphs, _state, _values, _summaries, _loops, _rest):
        yield from group(tf, np)
