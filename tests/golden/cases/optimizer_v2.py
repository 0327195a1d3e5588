"""``tf.contrib.optimizer_v2``: three steps of each optimizer."""


def cases(tf, np):
    """Variables and names of slots, with dense gradients and rows."""
    def trained(name, *arguments, **options):
        def train():
            variables = [tf.get_variable("v", initializer=np.float32([1.0, 2.0]), use_resource=False),
                         tf.get_variable("w", initializer=np.float32([[1.0], [2.0], [3.0]]))]
            loss = tf.reduce_sum(variables[0] ** 2) + tf.reduce_sum(tf.gather(variables[1], [0, 2, 2]) ** 2)
            optimizer = getattr(tf.contrib.optimizer_v2, name)(*arguments, **options)
            with tf.Session() as session:
                step = optimizer.minimize(loss)
                session.run(tf.global_variables_initializer())
                for _ in range(3):
                    session.run(step)
                values = session.run(variables)
            return [tf.constant(value, name="value") for value in values] + [tf.constant(optimizer.get_slot_names(), tf.string, name="slots")]
        return train
    for name, arguments in (("Adam", [0.1]), ("Adagrad", [0.1]), ("Adadelta", [0.5]), ("GradientDescent", [0.1]), ("Momentum", [0.1, 0.9]),
                            ("RMSProp", [0.1])):
        yield name, trained(name + "Optimizer", *arguments)
    yield "RMSProp, centered", trained("RMSPropOptimizer", 0.1, momentum=0.5, centered=True)
