"""Corners of ``tf.contrib``: signatures of tensors, composable models, k-means of ``tf.contrib.learn``, clipping on a cluster, hyperparameters as
messages, resampling, bijectors with ``event_ndims`` of their own, names in old checkpoints, tables.
"""
from __future__ import annotations

import threading

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.distributions.event_shape import DistributionShape
from penstock.contrib.framework.printing import print_op
from penstock.contrib.layers.columns.varying import real_valued_var_len_column
from penstock.contrib.learn import tensor_signature
from penstock.contrib.learn.canned import composable, dynamic_rnn
from penstock.data.iterator_saveable import restore_iterator, save_iterator
from penstock.rnn import checkpoint_convert
from penstock.saved_model import signatures
from penstock.testing import bijectors as checks

bijectors = tf.contrib.distributions.bijectors
pytestmark = pytest.mark.process


def test_signatures_of_tensors():
    with tf.Graph().as_default():
        made = tensor_signature.create_signatures({"a": tf.zeros([3, 2]), "s": tf.SparseTensor([[0, 0]], [1.0], [1, 1])})
        assert tensor_signature.tensors_compatible({"a": tf.zeros([7, 2]), "s": tf.SparseTensor([[0, 0]], [2.0], [4, 1]), "more": 1}, made)
        assert not tensor_signature.tensors_compatible({"a": tf.zeros([7, 3]), "s": tf.zeros([1])}, made)
        assert tensor_signature.tensors_compatible(None, None) and not tensor_signature.tensors_compatible(tf.zeros([1]), made)
        placeholders = tensor_signature.create_placeholders_from_signatures(made)
        assert placeholders["a"].shape.as_list() == [None, 2] and isinstance(placeholders["s"], tf.SparseTensor)
        example = tf.train.Example(features=tf.train.Features(feature={"a": tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 5]))}))
        signature = tensor_signature.create_signatures({"a": tf.zeros([3, 2], tf.int32)})
        parsed = tensor_signature.create_example_parser_from_signatures(signature, [example.SerializeToString()])
        with tf.Session() as session:
            assert parsed["a"].dtype == tf.int32 and session.run(parsed["a"]).tolist() == [[4, 5]]


@pytest.mark.parametrize("make", [lambda: composable.LinearComposableModel(1), lambda: composable.DNNComposableModel(1, [4])])
def test_composable_models(make):
    model = make()
    with tf.Graph().as_default(), tf.Session() as session:
        logits = model.build_model({"x": tf.constant([[1.0], [2.0]])}, [tf.contrib.layers.real_valued_column("x")], is_training=True)
        loss = tf.reduce_mean(tf.square(logits - [[2.0], [4.0]]))
        step = model.get_train_step(loss)
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(20):
            session.run(step)
        assert session.run(loss) < before and {var.op.name.split("/")[0] for var in tf.trainable_variables()} == {model.get_scope_name()}


def test_kmeans_of_learn(tmp_path):
    points = np.array([[0.0, 0.0], [0.2, 0.0], [9.0, 9.0], [9.2, 9.0]], np.float32)
    kmeans = tf.contrib.learn.KMeansClustering(2, model_dir=str(tmp_path), initial_clusters=tf.contrib.learn.KMeansClustering.KMEANS_PLUS_PLUS_INIT,
                                               use_mini_batch=False, random_seed=3)

    def input_fn(epochs=None):
        return tf.train.limit_epochs(tf.constant(points), epochs), None
    kmeans.fit(input_fn=input_fn, steps=3)
    assert np.allclose(sorted(kmeans.clusters().tolist()), [[0.1, 0.0], [9.1, 9.0]])
    first, second, third, fourth = kmeans.predict_cluster_idx(input_fn=lambda: input_fn(1))
    assert first == second != third == fourth
    assert kmeans.score(input_fn=input_fn, steps=1) == pytest.approx(0.04, abs=1e-3)
    assert kmeans.transform(input_fn=lambda: input_fn(1)).shape == (4, 2)


def test_clipping_reads_after_the_step():
    with tf.Graph().as_default() as graph, tf.device("/job:worker"):
        with tf.device("/job:ps"):
            var = tf.Variable([[2.0, 3.0]])
        opt = tf.contrib.opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(3.0), {var: [1]}, 2.0)
        opt.apply_gradients([(tf.constant([[0.1, 0.1]]), var)])
    read = next(op for op in graph.get_operations() if op.type == "Identity" and op.name.startswith("VariableClipping/clip_"))
    assert read.colocation_groups() == [b"loc:@Variable"] and [op.name for op in read.control_inputs]  # on a worker it would be read before the step


def test_hyperparameters_as_messages():
    given = tf.contrib.training.HParams(a=1, b=2.5, c="x", d=[1, 2], e=True, f=["a", "b"], g=[0.5])
    assert tf.contrib.training.HParams(hparam_def=given.to_proto()).values() == given.values()
    assert tf.contrib.training.HParams.from_proto(given.to_proto()).e is True
    with pytest.raises(AssertionError):
        tf.contrib.training.HParams(hparam_def=1)
    with pytest.raises(ValueError, match="Unsupported parameter type"):
        tf.contrib.training.HParams(a=None).to_proto()


def test_resampled_elements_have_their_own_class():
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.range(400).shuffle(100, seed=2).map(lambda n: (n % 4, tf.as_string(n % 4)))
        data = data.apply(tf.contrib.data.rejection_resample(lambda label, _: label, [0.7, 0.1, 0.1, 0.1], [0.25] * 4, seed=1))
        element = data.make_one_shot_iterator().get_next()
        pairs = [session.run(element) for _ in range(50)]
        assert all(label == element[0] and str(label).encode() == element[1] for label, element in pairs)


def test_event_ndims_of_bijectors():
    with tf.Graph().as_default(), tf.Session() as session:
        x = np.array([[[1.5, 2.0], [2.0, 3.0]]])
        chain = bijectors.Chain([bijectors.Exp(event_ndims=1), bijectors.Softplus(event_ndims=1)])
        np.testing.assert_allclose(session.run(chain.forward_log_det_jacobian(x)), x.sum(axis=2))
        np.testing.assert_allclose(session.run(chain.inverse_log_det_jacobian(x, event_ndims=0)), -np.log(x - 1))
        assert session.run(bijectors.Sigmoid().inverse_log_det_jacobian(0.5)) == pytest.approx(np.log(4))
        with session.as_default():
            checks.assert_scalar_congruency(bijectors.Exp(), -1.0, 1.0, rtol=0.05)
            checks.assert_bijective_and_finite(bijectors.Softplus(event_ndims=0), np.linspace(-3.0, 3.0, 5), np.linspace(0.1, 4.0, 5))
            with pytest.raises(AssertionError):
                checks.assert_strictly_monotonic(np.array([1.0, 3.0, 2.0]))
        shape = DistributionShape(1, 0)
        assert session.run(shape.make_batch_of_event_sample_matrices(tf.zeros([5, 3]))[0]).shape == (3, 1, 5)


def test_names_in_old_checkpoints(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        for name in ("rnn/basic_lstm_cell/weights", "rnn/basic_lstm_cell/biases", "other"):
            tf.Variable(1.0, name=name)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "old"))
    variables, changed = checkpoint_convert.convert_names(str(tmp_path / "old"), str(tmp_path / "new"))
    assert changed == {"rnn/basic_lstm_cell/weights": "rnn/basic_lstm_cell/kernel", "rnn/basic_lstm_cell/biases": "rnn/basic_lstm_cell/bias"}
    assert set(variables) == {name for name, _ in tf.train.list_variables(str(tmp_path / "new"))} == {*changed.values(), "other"}


def test_iterators_are_saved_by_operations(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.Dataset.range(10).make_initializable_iterator()
        element, path = iterator.get_next(), str(tmp_path / "place")
        save, restore = save_iterator(iterator._iterator_resource, path), restore_iterator(iterator._iterator_resource, path)
        session.run(iterator.initializer)
        assert [session.run(element) for _ in range(3)] == [0, 1, 2]
        session.run(save)
        assert session.run(element) == 3
        session.run(restore)
        assert session.run(element) == 3


def test_tables():
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, default_value=-1, empty_key=0)
        session.run(table.insert(tf.constant([11, 12], tf.int64), tf.constant([1, 2], tf.int64)))
        assert session.run(table.lookup(tf.constant([12, 13], tf.int64))).tolist() == [2, -1]
        tf.contrib.lookup.index_table_from_tensor(np.array([], dtype=np.str_), num_oov_buckets=1)
        with pytest.raises(tf.errors.InvalidArgumentError, match="keys and values cannot be empty tensors"):
            session.run(tf.tables_initializer())


def test_signals_of_unknown_rank():
    with tf.Graph().as_default(), tf.Session() as session:
        signal = np.sin(np.arange(64.0)).astype(np.float32)
        given, known = tf.placeholder(tf.float32), tf.contrib.signal.stft(signal, 16, 8, 16)
        spectrum = tf.contrib.signal.stft(given, 16, 8, 16)
        both = session.run([known, spectrum], {given: signal})
        np.testing.assert_allclose(*both, rtol=1e-5, atol=1e-5)
        assert session.run(tf.strided_slice(given, tf.zeros_like(tf.shape(given)), [3]), {given: signal}).tolist() == signal[:3].tolist()


def test_small_things(capfd):
    with tf.Graph().as_default(), tf.Session() as session:
        printed = print_op(tf.SparseTensor([[0, 1]], [3.0], [1, 2]), message="here: ")
        assert session.run(tf.sparse_tensor_to_dense(printed)).tolist() == [[0.0, 3.0]] and "Type: SparseTensor (float32)" in capfd.readouterr().err
        column = real_valued_var_len_column("x", default_value=-1)
        assert session.run(tf.contrib.layers.input_from_feature_columns({"x": tf.constant([[1, 2]])}, [column])).tolist() == [[1.0, 2.0]]
        with pytest.raises(ValueError, match="default_value must be provided when is_sparse=False"):
            real_valued_var_len_column("x")
        activations = tf.constant(np.arange(12.0).reshape(2, 3, 2))
        assert session.run(dynamic_rnn.select_last_activations(activations, tf.constant([1, 3]))).tolist() == [[0.0, 1.0], [10.0, 11.0]]
        signature = signatures.predict_signature_def({"a": tf.zeros([2], tf.float32)}, {"b": tf.zeros([3], tf.int64)})
        assert signatures.get_signature_def_input_shapes(signature) == {"a": tf.TensorShape([2])}
        assert signatures.get_signature_def_output_types(signature) == {"b": tf.int64}
        with pytest.raises(ValueError, match="No SignatureDef with key 'x' found in MetaGraphDef"):
            signatures.get_signature_def_by_key(tf.MetaGraphDef(), "x")
        coordinator, thread = tf.train.Coordinator(), threading.Thread(target=print)
        coordinator.request_stop()
        coordinator.join([thread])  # it was never started


def test_pool_of_contrib_layers():
    images = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    with tf.Session() as session:
        pooled = session.run(tf.contrib.layers.pool(images, [2, 2], "AVG", stride=2))
    assert pooled.reshape(-1).tolist() == [2.5, 4.5, 10.5, 12.5]


def test_affine_bijectors_that_are_told_their_event_as_up_to_1_6():
    affine = tf.contrib.distributions.bijectors.Affine
    with tf.Session() as session:
        scalar = affine(shift=-1.0, scale_identity_multiplier=2.0, event_ndims=0)
        assert session.run(scalar.event_ndims) == 0
        assert session.run(affine(shift=[1.0]).event_ndims) == 1
        np.testing.assert_allclose(session.run(scalar.inverse_log_det_jacobian([1.0, 2.0, 3.0])), -np.log(2.0), rtol=1e-6)
        vector = affine(shift=[1.0, -1.0], scale_diag=[2.0, 1.0])
        for _ in range(2):  # each with a placeholder of its own: the second does not ask for the first
            place = tf.placeholder(tf.float32)
            value = session.run(vector.inverse_log_det_jacobian(place), {place: [1.0, 1.0]})
            np.testing.assert_allclose(value, -np.log(2.0), rtol=1e-6)
    with pytest.raises(ValueError, match="only scale argument"):
        affine(scale_diag=[1.0], event_ndims=0)
    with pytest.raises(ValueError, match="was not 0 or 1"):
        affine(event_ndims=2)


@pytest.mark.parametrize(("shards", "index"), [(0, 0), (-2, 1), (2, -1), (2, 2)])
def test_shards_that_are_not_there_are_refused_at_once(shards, index):
    for error in (ValueError, tf.errors.InvalidArgumentError):
        with pytest.raises(error, match="must be >="):
            tf.data.Dataset.range(10).shard(shards, index)


def test_weights_of_a_recurrent_layer_are_those_of_its_cell():
    layer = tf.keras.layers.GRU(3, kernel_constraint="nonneg")
    layer.build((None, None, 2))
    assert layer.kernel is layer.cell.kernel
    assert layer.bias is layer.cell.bias
    model = tf.keras.Sequential([layer])
    assert model.model is model


def test_mel_weights_in_half_precision():
    with tf.Session() as session:
        weights = session.run(tf.signal.linear_to_mel_weight_matrix(dtype=tf.float16))
    assert weights.dtype == np.float16
    assert weights.max() <= 1


def test_what_a_state_saver_says_of_wrong_sequences():
    """TensorFlow 1.15's own messages."""
    length, key = tf.placeholder(tf.int32), tf.placeholder(tf.string)
    first, state = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [])
    saver = tf.contrib.training.SequenceQueueingStateSaver(
        batch_size=1, num_unroll=17, input_length=length, input_key=key, input_context={}, initial_states={"s": state},
        input_sequences={"a": first, "b": tf.placeholder_with_default(np.zeros(34, np.float32), [None])})
    with tf.Session() as sess:
        for steps, message in ((3, "padded_length:0 should be a multiple of: 17, but saw value: 3. Consider setting pad=True."),
                               (17, "Dimension 0 of tensor labeled sorted_sequences_b should be: 17, shape received: 34")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                sess.run(saver.prefetch_op, {length: 1, key: "k", first: np.zeros([steps, 5]), state: 1.0})
    with pytest.raises(ValueError, match=r"Rank check failed for \S*convert_s:0: Shape \(1, 1\) must have rank 1"):
        saver.next_batch.save_state("s", np.zeros([1, 1]))


def test_exports_of_estimators_without_the_newer_option():
    class Older:
        def export_savedmodel(self, export_dir_base, serving_input_fn, assets_extra, as_text, checkpoint_path, default_output_alternative_key):
            return b"/made"
    strategy = tf.contrib.learn.make_export_strategy(lambda: None, exports_to_keep=None)
    assert strategy.export(Older(), "/base") == b"/made"


def test_inputs_of_another_graph_than_the_one_that_is_given():
    values = [tf.constant(0.0), tf.constant(1.0)]
    assert tf.contrib.framework.get_graph_from_inputs(values, tf.get_default_graph()) is values[0].graph
    with pytest.raises(ValueError, match="not from the passed-in graph"):
        tf.contrib.framework.get_graph_from_inputs(values, tf.Graph())
    with tf.Graph().as_default():
        values.append(tf.constant(2.0))
    with pytest.raises(ValueError, match="must be from the same graph"):
        tf.contrib.framework.get_graph_from_inputs(values)


def test_a_serialized_tensor_is_a_scalar():
    serialized = tf.placeholder(tf.string)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected `serialized` to be a scalar, got shape: \[1\]"):
        session.run(tf.parse_tensor(serialized, tf.uint16), {serialized: ["x"]})
