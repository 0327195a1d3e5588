"""``tf.wrap_function``: values, structures and parts of wrapped functions."""


def cases(tf, np):
    """In graphs, with variables and updates."""
    def function(x, y=None):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=True)
        with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
            total = tf.reduce_sum(x, name="total")
        return {"product": x * v, "total": total}

    def run(fetch):
        def case():
            wrapped = tf.wrap_function(function, [tf.TensorSpec([None, 2], tf.float32)])
            x = tf.constant([[1.0, 2.0]])
            with tf.Session() as session:
                part = fetch(wrapped, x)
                session.run(tf.global_variables_initializer())
                values = [session.run(part) for _ in range(3)]
                product = session.run(wrapped.prune(wrapped.inputs[0], wrapped.outputs[0])(x))
            flat = [leaf for value in values for leaf in ([value[key] for key in sorted(value)] if isinstance(value, dict) else [value])]
            return [tf.constant(leaf, name="value") for leaf in flat] + [tf.constant(product, name="product")]
        return case
    yield "one output", run(lambda wrapped, x: wrapped.prune(wrapped.inputs[0], wrapped.outputs[1])(x))
    yield "names", run(lambda wrapped, x: wrapped.prune([wrapped.inputs[0].name], {"t": "total:0"})(x))
    yield "from the middle", run(lambda wrapped, x: wrapped.prune("total:0", "total:0")(x[0, 1]))
    yield "an output only", run(lambda wrapped, x: wrapped.prune(wrapped.inputs[0], wrapped.structured_outputs["product"])(x))

    def facts():
        wrapped = tf.wrap_function(function, [tf.TensorSpec([None, 2], tf.float32)])
        return tf.constant([str(fact) for fact in (
            [v.name for v in wrapped.graph.variables], [v.name for v in tf.global_variables()], sorted(wrapped.structured_outputs),
            wrapped.output_shapes["product"], wrapped.output_dtypes["total"], len(wrapped.inputs), len(wrapped.captured_inputs))], name="facts")
    yield "facts", facts

    def refused(feeds, fetches):
        def case():
            wrapped = tf.wrap_function(function, [tf.TensorSpec([None, 2], tf.float32)])
            wrapped.prune(feeds, fetches)
        return case
    yield "a feed that is not there", refused("nope:0", "total:0")
    yield "a fetch that is not there", refused([], "nope:0")
    yield "a fetch of a number", refused([], 3)
