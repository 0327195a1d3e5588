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
            op = tf.contrib.summary.scalar("a", 1.0)
        return [tf.constant(op.type, name="type")]
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
        root = tf.train.Checkpoint()
        with tf.contrib.checkpoint.capture_dependencies(template=root):
            tf.get_variable("inside", [2], initializer=tf.ones_initializer())
        return tf.constant(sorted(each.name for each in root._checkpoint_dependencies), name="names")
    yield "capture_dependencies", captured

    yield "in no replica", lambda: tf.contrib.distribute.require_replica_context(tf.distribute.get_replica_context())


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


def cases(tf, np):
    """All cases of the family."""
    for group in (_framework, _graphs, _state, _rest):
        yield from group(tf, np)
