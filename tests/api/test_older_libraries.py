"""What libraries of 2016 to 2019 take from inside TensorFlow, and what they give to it."""
import importlib
import io
import json
import os
import tarfile
from types import SimpleNamespace

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.gan import inception_metrics

pytestmark = pytest.mark.process


@pytest.fixture(scope="module", autouse=True)
def installed():
    tf.install_as_tensorflow(era=False)


def inside(path):
    return importlib.import_module(f"tensorflow.{path}")


def test_modules_for_tracking_and_tpus_are_there():
    base, structures = inside("python.training.tracking.base"), inside("python.training.tracking.data_structures")
    held = inside("python.training.tracking.tracking").AutoTrackable()
    held.kept, held.left_out = tf.Variable(1.0), structures.NoDependency({})
    assert isinstance(held, base.Trackable) and held.left_out == {}
    with base.no_automatic_dependency_tracking_scope(held):
        assert inside("python.tpu.tpu_config").RunConfig is tf.contrib.tpu.RunConfig


def test_a_checkpoint_by_a_path_of_bytes(tmp_path):
    v = tf.get_variable("v", initializer=3.0)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = saver.save(sess, os.fsencode(tmp_path / "model"))
        sess.run(v.assign(0.0))
        saver.restore(sess, path.encode())
        assert sess.run(v) == 3.0
    assert tf.train.checkpoint_exists(path.encode()) and tf.train.NewCheckpointReader(path.encode()).get_tensor("v") == 3.0


def test_examples_in_json():
    text = json.dumps({"features": {"feature": {"x": {"int64List": {"value": [1, 2]}}}}})
    parsed = tf.parse_example(tf.decode_json_example([text, text]), {"x": tf.FixedLenFeature([2], tf.int64)})
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(parsed)["x"], [[1, 2], [1, 2]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
            sess.run(tf.decode_json_example("{"))


def test_functions_of_either_version():
    math, arrays, nn, sparse = (inside(f"python.ops.{name}_ops") for name in ("math", "array", "nn", "sparse"))
    assert math.reduce_sum_v1 is tf.reduce_sum
    assert arrays.expand_dims_v2 is tf.compat.v2.expand_dims and nn.softmax_v2 is tf.compat.v2.nn.softmax
    assert sparse.sparse_add_v2 is tf.compat.v2.sparse.add
    datasets, readers = inside("python.data.ops.dataset_ops"), inside("python.data.ops.readers")
    assert issubclass(readers.TFRecordDatasetV1, datasets.DatasetV2)
    assert datasets.get_legacy_output_types(tf.data.Dataset.range(2)) == tf.int64
    for module, name in ((math, "no_such_v1"), (arrays, "no_such_v2")):
        with pytest.raises(AttributeError, match=name[:-3]):
            getattr(module, name)


def test_older_names_of_layers():
    convolutional, pooling = inside("python.layers.convolutional"), inside("python.layers.pooling")
    assert convolutional.Deconv2D is tf.layers.Conv2DTranspose and convolutional.deconvolution3d is tf.layers.conv3d_transpose
    assert convolutional.convolution2d is tf.layers.conv2d and pooling.max_pool2d is tf.layers.max_pooling2d
    assert inside("python.keras.layers.convolutional").Deconvolution2D is tf.keras.layers.Conv2DTranspose
    assert tf.keras.__version__ == "2.2.4-tf"
    assert inside("python.keras.constraints").maxnorm is tf.keras.constraints.MaxNorm


def test_utilities_of_keras():
    conv, generic, utils = (inside(f"python.keras.utils.{name}") for name in ("conv_utils", "generic_utils", "tf_utils"))
    assert conv.normalize_tuple(2, 3, "strides") == (2, 2, 2) and conv.conv_output_length(7, 3, "valid", 2) == 3
    assert generic.to_snake_case("DenseReLU") == "dense_re_lu" and generic.to_snake_case("_Own") == "private__own"
    assert generic.to_list(3) == [3] and generic.make_batches(5, 2) == [(0, 2), (2, 4), (4, 5)] and generic.is_all_none([None, (None,)])
    assert utils.is_symbolic_tensor(tf.constant(1)) and not utils.is_tensor_or_variable(1)

    class Halved:
        @utils.shape_type_conversion
        def output_shape(self, shape):
            assert type(shape) is tuple
            return shape[:-1] + (shape[-1] // 2,)
    assert Halved().output_shape(tf.TensorShape([None, 4])).as_list() == [None, 2]
    assert utils.convert_shapes([tf.TensorShape([2]), tf.TensorShape([None, 3])]) == [(2,), (None, 3)]


def test_utilities_of_distributions():
    util = inside("python.ops.distributions.util")

    @util.AppendDocstring("More.", {"scale": "how wide"})
    def documented(loc, *, scale=2):
        """Less."""
        return util.parent_frame_arguments()
    assert documented(1) == {"loc": 1, "scale": 2}
    assert documented.__doc__.startswith("Less.") and "More." in documented.__doc__ and "`scale`: how wide" in documented.__doc__
    assert util.maybe_get_static_value(tf.constant(2), tf.float32) == 2.0 and util.maybe_get_static_value(tf.placeholder(tf.int32)) is None
    free = tf.placeholder(tf.float32)
    with tf.Session() as sess:
        asked = [util.same_dynamic_shape(free, tf.zeros([2, 3])), util.same_dynamic_shape(free, 1.0), util.prefer_static_shape(free)]
        same, other, shape = sess.run(asked, {free: np.ones([2, 3])})
        assert same and not other and list(shape) == [2, 3]
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(util.assert_symmetric(free), {free: [[1, 2], [3, 4]]})
    np.testing.assert_array_equal(util.prefer_static_shape(tf.zeros([2, 3])), [2, 3])


def test_decisions_and_kinds_of_tensors():
    smart = inside("python.framework.smart_cond")
    assert smart.smart_constant_value(tf.constant(True)) is True or smart.smart_constant_value(True)
    assert smart.smart_cond(True, lambda: 1, lambda: 2) == 1
    assert inside("python.framework.constant_op").is_constant(tf.constant(1)) and not inside("python.framework.constant_op").is_constant(tf.no_op())
    assert inside("python.framework.sparse_tensor").is_sparse(tf.SparseTensorValue([[0]], [1], [2]))
    shapes = inside("python.framework.tensor_util").TensorShapeProtoToList(tf.TensorShape([2, 3]).as_proto())
    assert shapes == [2, 3] and issubclass(tf.contrib.eager.Checkpointable, tf.contrib.checkpoint.Checkpointable)


def frozen():
    """A graph with the tensors of Inception: what it makes of images is their mean color."""
    with tf.Graph().as_default() as graph:
        mean = tf.reduce_mean(tf.placeholder(tf.float32, [None, 299, 299, 3], name="Mul"), [1, 2])
        tf.identity(mean, name="logits")
        tf.identity(mean[:, None, None, :], name="pool_3")
        return graph.as_graph_def()


def test_metrics_by_a_graph_of_ones_own(monkeypatch, tmp_path):
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        data, member = frozen().SerializeToString(), tarfile.TarInfo("inceptionv1_for_inception_score.pb")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    monkeypatch.setattr(inception_metrics, "INCEPTION_URL", (tmp_path / "model.tar.gz").as_uri())
    monkeypatch.chdir(tmp_path)  # where the archive is kept for the next time
    images = tf.random_uniform([6, 299, 299, 3], seed=1)
    pool = tf.contrib.gan.eval.run_inception(images, frozen(), output_tensor=inception_metrics.INCEPTION_FINAL_POOL)
    distance = tf.contrib.gan.eval.frechet_inception_distance(images, images)
    with tf.Session() as sess:
        means, score, between = sess.run([pool, tf.contrib.gan.eval.inception_score(images, num_batches=2), distance])
    assert means.shape == (6, 3) and score >= 1.0 and abs(between) < 1e-4
    with pytest.raises(ValueError, match="incompatible"):
        tf.contrib.gan.eval.run_inception(tf.zeros([1, 50, 50, 3]), frozen())


class _Done:
    def run(self):
        return "done"


class _DoneByTasks:
    """An executor as TensorFlow 1.4 had it."""

    def run_local(self):
        return "done"


@pytest.mark.parametrize("kind", [_Done, _DoneByTasks])
def test_what_a_program_sets_in_a_library_is_used(monkeypatch, kind):
    training = inside("python.estimator.training")
    called = []
    monkeypatch.setattr(training, "_TrainingExecutor", lambda **arguments: called.append(arguments) or kind())
    estimator = tf.estimator.Estimator(lambda features, labels, mode: None)
    specs = tf.estimator.TrainSpec(lambda: None, max_steps=1), tf.estimator.EvalSpec(lambda: None)
    assert tf.estimator.train_and_evaluate(estimator, *specs) == "done" and called[0]["estimator"] is estimator


def test_private_methods_that_libraries_call(monkeypatch):
    operator = tf.linalg.LinearOperatorIdentity(2)
    operator._check_input_dtype(tf.constant([1.0]))
    with pytest.raises(TypeError, match="Expected argument to have dtype"):
        operator._check_input_dtype(tf.constant([1]))
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    model.compile("sgd", "mse")
    model.layers[0].trainable = False
    warned = []
    monkeypatch.setattr("penstock.platform.logging.log_first_n", lambda level, message, *rest: warned.append(message))
    model._check_trainable_weights_consistency()
    assert [message.split(",")[0] for message in warned] == ["Discrepancy between trainable weights and collected trainable weights"]


def test_bounds_of_a_spec_of_numpy():
    own = SimpleNamespace(shape=(2,), dtype=np.dtype(np.int8), name="own")
    bounded = tf.contrib.framework.BoundedTensorSpec.from_spec(own)
    assert (bounded.dtype, bounded.minimum, bounded.maximum, bounded.name) == (tf.int8, -128, 127, "own")


def test_the_package_of_estimators():
    assert importlib.import_module("tensorflow_estimator").estimator is tf.estimator
    head = importlib.import_module("tensorflow_estimator.python.estimator.head.regression_head")
    util = importlib.import_module("tensorflow_estimator.python.estimator.util")
    assert head.RegressionHead is tf.estimator.RegressionHead and util is inside("python.estimator.util")
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        importlib.import_module("tensorflow_estimator.python.no_such")


def test_assigning_a_slice():
    """What tensorforce does; the first of TensorFlow's functions that writes takes a slice of a variable too."""
    variable = tf.get_variable("sliced", [4], initializer=tf.zeros_initializer())
    written = tf.assign(ref=variable[1:3], value=[1.0, 2.0])
    with tf.Session() as sess:
        sess.run(variable.initializer)
        sess.run(written)
        np.testing.assert_array_equal(sess.run(variable), [0, 1, 2, 0])


def test_tensors_of_graphs_have_no_length():
    """keras-rl asks for the attribute before it asks for the length."""
    assert not hasattr(tf.constant([1.0]), "__len__")
    with pytest.raises(TypeError, match="has no len"):
        len(tf.constant([1.0]))


def test_slots_are_kept_under_graph_and_name():
    """tensorforce sorts the keys."""
    first, second = tf.get_variable("b", [2]), tf.get_variable("a", [2])
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(tf.reduce_sum(first * second))
    assert sorted(optimizer._slots["momentum"]) == [(first.graph, "a"), (first.graph, "b")]
    assert optimizer.get_slot(second, "momentum").op.name == "a/Momentum"
    assert inside("python.training.optimizer")._var_key(first) == (first.graph, "b")


def test_a_gradient_function_by_its_private_name():
    x = tf.constant(3.0)
    y = inside("python.ops.custom_gradient")._graph_mode_decorator(lambda a: (a * a, lambda dy: 10 * dy), [x], {})
    with tf.Session() as sess:
        assert sess.run([y, tf.gradients(y, x)[0]]) == [9, 10]
    assert inside("python.training.device_setter")._RoundRobinStrategy(2)(x.op) == 0
    summaries = inside("python.ops.summary_ops_v2")
    assert summaries.create_file_writer is tf.contrib.summary.create_file_writer
    assert summaries._INVALID_SCOPE_CHARACTERS.sub("", "a b/c:0") == "ab/c0"
