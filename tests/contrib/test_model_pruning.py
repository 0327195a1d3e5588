"""``tf.contrib.model_pruning`` beyond its golden cases: a model trains with its masks, and is stripped of them."""
from __future__ import annotations

import numpy as np

import penstock as tf
from support.process import python

pruning = tf.contrib.model_pruning


def _model():
    inputs = tf.placeholder(tf.float32, [None, 8], name="inputs")
    hidden = pruning.masked_fully_connected(inputs, 16, scope="hidden")
    return inputs, pruning.masked_fully_connected(hidden, 1, activation_fn=None, scope="outputs")


def test_masks_follow_the_schedule_while_a_model_trains_and_can_be_stripped(tmp_path):
    tf.set_random_seed(3)
    inputs, outputs = _model()
    x = np.random.RandomState(0).randn(64, 8).astype(np.float32)
    y = x[:, :1] - 2 * x[:, 1:2]
    feeds = {inputs: x}
    loss = tf.losses.mean_squared_error(tf.constant(y), outputs)
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(.02).minimize(loss, global_step=step)
    spec = pruning.get_pruning_hparams().parse("pruning_frequency=5,target_sparsity=.75,sparsity_function_end_step=60")
    update = pruning.Pruning(spec, global_step=step).conditional_mask_update_op()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(loss, feeds)
        for _ in range(150):
            sess.run(train, feeds)
            sess.run(update)
        after = sess.run(loss, feeds)
        assert sess.run(pruning.get_weight_sparsity()) == [0.75, 0.75]
        assert after < before / 10
        wanted = sess.run(outputs, feeds)
        tf.train.Saver().save(sess, str(tmp_path / "model"))
    frozen = pruning.graph_def_from_checkpoint(str(tmp_path), [outputs.op.name])
    stripped = pruning.strip_pruning_vars_fn(frozen, [outputs.op.name])
    assert any(node.name.endswith("mask") for node in frozen.node)
    assert not any(node.name.endswith(("mask", "threshold", "hidden/weights")) for node in stripped.node)
    with tf.Graph().as_default(), tf.Session() as sess:
        result, = tf.import_graph_def(stripped, return_elements=[outputs.name], name="")
        np.testing.assert_allclose(sess.run(result, {"inputs:0": x}), wanted, rtol=1e-6)


def test_the_loop_updates_masks_after_each_step(tmp_path):
    x = tf.constant(np.random.RandomState(1).randn(16, 8).astype(np.float32))
    outputs = pruning.masked_fully_connected(x, 4)
    loss = tf.losses.mean_squared_error(tf.zeros([16, 4]), outputs)
    train_op = tf.contrib.slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(.1))
    updates = tf.get_variable("updates", [], tf.int32, tf.zeros_initializer(), trainable=False)
    pruning.train(train_op, str(tmp_path), tf.assign_add(updates, 1), number_of_steps=4, save_summaries_secs=0)
    assert tf.train.load_variable(str(tmp_path), "updates") == 4


def test_modules_inside_of_the_library():
    python("""
        import penstock
        penstock.install_as_tensorflow()
        from tensorflow.contrib import model_pruning
        from tensorflow.contrib.model_pruning.python import learning, pruning, strip_pruning_vars_lib
        from tensorflow.contrib.model_pruning.python.layers import core_layers, layers, rnn_cells

        assert pruning.Pruning is model_pruning.Pruning and pruning.apply_mask is model_pruning.apply_mask
        assert core_layers.MaskedFullyConnected.__name__ == "MaskedFullyConnected" and core_layers.MASK_COLLECTION == "masks"
        assert layers.masked_conv2d is model_pruning.masked_conv2d and rnn_cells.MaskedLSTMCell is model_pruning.MaskedLSTMCell
        assert learning.train is model_pruning.train
        assert strip_pruning_vars_lib.strip_pruning_vars_fn is model_pruning.strip_pruning_vars_fn""")
