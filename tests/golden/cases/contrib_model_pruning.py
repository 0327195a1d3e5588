"""tf.contrib.model_pruning: names, masks and thresholds over the steps of training, layers and cells with masks."""


def _weights(tf, np, shape=(4, 4)):
    return tf.get_variable("w", initializer=tf.constant(np.cos(1.7 * np.arange(np.prod(shape))).reshape(shape), tf.float32))


def cases(tf, np):
    pruning = tf.contrib.model_pruning

    def over_steps(text, shape=(4, 4), steps=9):
        def build():
            weights = _weights(tf, np, shape)
            with tf.variable_scope("layer"):
                masked = pruning.apply_mask(weights, tf.get_variable_scope())
            step = tf.train.get_or_create_global_step()
            model = pruning.Pruning(pruning.get_pruning_hparams().parse(text), global_step=step)
            update = model.conditional_mask_update_op()
            model.add_pruning_summaries()
            advance = tf.assign_add(step, 1)
            seen = []
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for _ in range(steps):
                    sess.run(update)
                    seen.append(sess.run([pruning.get_thresholds()[0], tf.reduce_sum(pruning.get_masks()[0]), pruning.get_weight_sparsity()[0]]))
                    sess.run(advance)
                mask, result = sess.run([pruning.get_masks()[0], masked])
            names = [variable.name for variable in tf.global_variables()]
            names += [each.op.name for key in ("masks", "thresholds", "masked_weights", "kernel") for each in tf.get_collection(key)]
            names += [each.op.name for each in tf.get_collection("summaries")]
            values = {"steps": np.array(seen), "mask": mask, "masked": result, "names": names}
            return {name: tf.constant(value, name=name) for name, value in values.items()}
        return build

    schedule = "begin_pruning_step=1,end_pruning_step=20,pruning_frequency=2,initial_sparsity=.1,target_sparsity=.7,sparsity_function_end_step=6"
    yield "plain", over_steps(f"name=p,{schedule}")
    yield "decayed", over_steps(f"{schedule},threshold_decay=.25")
    yield "ends", over_steps("pruning_frequency=1,end_pruning_step=3,sparsity_function_end_step=8,target_sparsity=.9")
    yield "blocks", over_steps(f"{schedule},block_height=2,block_width=2")
    yield "blocks of unequal extents", over_steps(f"{schedule},block_height=3,block_width=2,block_pooling_function=MAX", shape=(4, 7))
    yield "four axes", over_steps(schedule, shape=(3, 3, 2, 2))
    yield "sparsity of a weight", over_steps(f"{schedule},weight_sparsity_map=[w:0.35]")

    def wrong(text):
        return lambda: pruning.Pruning(pruning.get_pruning_hparams().parse(text)).mask_update_op()

    for text in ("begin_pruning_step=-1", "begin_pruning_step=3,end_pruning_step=2", "sparsity_function_begin_step=-1", "threshold_decay=1.0",
                 "sparsity_function_begin_step=100", "initial_sparsity=1.0", "target_sparsity=-.5"):
        yield f"wrong {text}", wrong(text)

    def defaults():
        return {name: tf.constant(value) for name, value in pruning.get_pruning_hparams().values().items()}

    yield "defaults", defaults

    def layers():
        tf.set_random_seed(1)
        images = tf.constant(np.sin(np.arange(50.)).reshape(1, 5, 5, 2), tf.float32)
        hidden = pruning.masked_conv2d(images, 3, [3, 3], stride=2)
        return _described(pruning.masked_fully_connected(tf.reshape(hidden, [1, 27]), 4, scope="last"))

    def cells():
        tf.set_random_seed(1)
        inputs = [tf.constant([[1., -2., .5]])] * 2
        one, _ = tf.nn.static_rnn(pruning.MaskedBasicLSTMCell(3), inputs, dtype=tf.float32, scope="one")
        two, _ = tf.nn.static_rnn(pruning.MaskedLSTMCell(3, use_peepholes=True), inputs, dtype=tf.float32, scope="two")
        return _described(one[-1], two[-1])

    def _described(*results):
        names = [variable.name + "*" * (variable in set(tf.trainable_variables())) for variable in tf.global_variables()]
        names += [each.op.name for key in ("masks", "thresholds", "masked_weights", "kernel") for each in tf.get_collection(key)]
        return [*results, tf.constant(names)]

    yield "layers", layers
    yield "cells", cells
