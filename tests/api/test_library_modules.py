"""The modules inside TensorFlow's libraries: each that is listed can be imported, and finds its names."""
from __future__ import annotations

import textwrap

import pytest

from penstock.api import library_modules as lib
from penstock.api._table import resolve
from support.process import python

pytestmark = pytest.mark.graph


def run(program: str) -> None:
    python("import penstock\npenstock.install_as_tensorflow()\n" + textwrap.dedent(program))


def test_all_can_be_imported():
    run("""
        import importlib
        from penstock.api import alias, library_modules as lib
        for package, names in lib.MODULES.items():
            for name in names.split():
                spaces = lib.namespaces(f"{package}.{name}")
                if all(alias._namespace(space) is not None for space in spaces):
                    importlib.import_module(f"tensorflow.{package}.{name}")
    """)


def test_names_are_found():
    run("""
        import tensorflow as tf
        from tensorflow.contrib.layers.python.layers import feature_column, layers, target_column
        from tensorflow.contrib.learn.python.learn.estimators import estimator, rnn_common, tensor_signature
        from tensorflow.contrib.learn.python.learn.utils import gc
        from tensorflow.contrib.distributions.python.ops.bijectors.exp import Exp
        from tensorflow.contrib.gan.python.losses.python import losses_impl, tuple_losses_impl
        from tensorflow.contrib.slim.python.slim.nets import resnet_v1
        from tensorflow.python.estimator.canned import head, metric_keys, optimizers
        from tensorflow.python.keras._impl import keras
        from tensorflow.python.layers import maxout
        from tensorflow.python.ops.distributions import normal
        assert layers.conv2d is tf.contrib.layers.conv2d and feature_column.real_valued_column is tf.contrib.layers.real_valued_column
        assert estimator.Estimator is tf.contrib.learn.Estimator and rnn_common.RNNKeys.STATE_PREFIX == "rnn_cell_state"
        from tensorflow.contrib.distributions.python.ops.bijectors import sinh_arcsinh
        assert sinh_arcsinh.SinhArcsinh is tf.contrib.distributions.bijectors.SinhArcsinh is not tf.contrib.distributions.SinhArcsinh
        from tensorflow.contrib.gan.python.features.python import clip_weights_impl
        assert clip_weights_impl.weight_clip is tf.contrib.gan.features.clip_variables
        from tensorflow.contrib.training.python.training import sequence_queueing_state_saver
        assert sequence_queueing_state_saver._SequenceInputWrapper(3, "key", {"a": [1.0]}, {"b": 1}).sequences["a"].shape == [1]
        from tensorflow.contrib.learn.python.learn.utils import export
        assert export.generic_signature_fn(tf.constant("x"), {}, tf.constant(1.0))[0].generic_signature.map["outputs"].tensor_name
        assert Exp is tf.contrib.distributions.bijectors.Exp and normal.Normal is tf.distributions.Normal
        assert losses_impl.minimax_generator_loss is not tuple_losses_impl.minimax_generator_loss is tf.contrib.gan.losses.minimax_generator_loss
        assert "minimax_generator_loss" in tuple_losses_impl.__all__ and tuple_losses_impl.losses_impl.__name__.endswith("gan.losses")
        assert resnet_v1.resnet_v1_50 is tf.contrib.slim.nets.resnet_v1.resnet_v1_50
        assert head._multi_class_head_with_softmax_cross_entropy_loss(3).loss_reduction == tf.losses.Reduction.SUM
        assert metric_keys.MetricKeys.LOSS_MEAN == "average_loss" and keras.layers.Dense is tf.keras.layers.Dense
        assert optimizers.get_optimizer_instance("SGD", 0.5)._learning_rate == 0.5
        assert maxout.maxout(tf.zeros([2, 6]), 3).shape.as_list() == [2, 3]
    """)


@pytest.mark.parametrize("name", ["contrib.layers.python.no_such", "contrib.layers.python.layers.no_such", "python.estimator.no_such"])
def test_unknown_modules(name):
    run(f"""
        try:
            import tensorflow.{name}
        except ModuleNotFoundError:
            pass
        else:
            raise AssertionError("found")
    """)


def test_unknown_names():
    run("""
        from tensorflow.contrib.layers.python.layers import layers
        try:
            layers.no_such_name
        except AttributeError as error:
            assert "has no attribute 'no_such_name' in Penstock" in str(error)
    """)


@pytest.mark.parametrize("origin", sorted({origin for names in lib.NAMES.values() for origin in names.values()}
                                          | {f"{source}:" for sources in lib.SOURCES.values() for source in sources.split()}))
def test_listed_origins_exist(origin):
    assert resolve(origin) is not None


def test_the_tables_agree():
    listed = {f"{package}.{name}" for package, names in lib.MODULES.items() for name in names.split()}
    assert lib.SOURCES.keys() | lib.NAMES.keys() <= listed


def test_programs_of_tests_in_imperative_style():
    run("""
        from tensorflow.python.eager import test
        import tensorflow as tf

        class Values(test.TestCase):
            def test_value(self):
                self.assertAllEqual(tf.constant([1, 2]).numpy(), [1, 2])
        import __main__
        __main__.Values = Values
        try:
            test.main()
        except SystemExit as end:
            assert not end.code
    """)


def test_private_names_of_operations():
    run("""
        import numpy as np
        import tensorflow as tf
        from tensorflow.contrib.factorization.python.ops import gen_factorization_ops
        from tensorflow.python.ops import sparse_ops
        from tensorflow.python.ops.distributions import kullback_leibler
        handle = sparse_ops._add_sparse_to_tensors_map(tf.SparseTensor([[1]], [5], [2]))
        many = sparse_ops._add_many_sparse_to_tensors_map(tf.SparseTensor([[0, 1]], [5], [1, 2]), shared_name="rows")
        other = sparse_ops._add_sparse_to_tensors_map(tf.sparse_placeholder(tf.int32), shared_name="rows")
        with tf.Session() as session:
            taken = sparse_ops._take_many_sparse_from_tensors_map(handle.op, [session.run(handle)])
            assert session.run(taken.indices).tolist() == [[0, 1]]
            handles = [*session.run(many), session.run(other, {other.op.inputs[0]: [[0, 0]], other.op.inputs[1]: [1], other.op.inputs[2]: [1, 1]})]
            try:
                session.run(sparse_ops._take_many_sparse_from_tensors_map(other.op, handles))
            except tf.errors.InvalidArgumentError as error:
                assert "rank prior to SparseTensor[1] was: 2 but rank of SparseTensor[1] is: 3" in error.message
            else:
                raise AssertionError
            a, b = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32([[1, 0, 2], [0, 1, 3]])
            product = gen_factorization_ops.masked_matmul(a, b, [[2, 1], [0, 2]], False, False)
            assert session.run(product).tolist() == [6, 8]
        found = kullback_leibler._registered_kl(tf.distributions.Normal, tf.distributions.Normal)
        assert callable(found) and kullback_leibler._registered_kl(int, int) is None
    """)


def test_private_names_of_libraries():
    run("""
        import os, tempfile
        import numpy as np
        import tensorflow as tf
        from tensorflow.contrib.distributions.python.ops.vector_student_t import _VectorStudentT
        from tensorflow.contrib.training.python.training.resample import _repeat_range
        from tensorflow.python.estimator.inputs.queues import feeding_functions
        from tensorflow.python.ops.distributions import special_math
        from tensorflow.python.summary import plugin_asset
        student = _VectorStudentT(df=2.0, loc=[1.0, 2.0], scale_tril=[[1.0, 0.0], [1.0, 3.0]])
        with tf.Session() as session:
            # z is (-2, -1): the product of two densities of Student's with 2 degrees of freedom, over the determinant of the scale
            density = np.prod([(2 + z * z) ** -1.5 for z in (-2.0, 0.0)]) / 3
            np.testing.assert_allclose(session.run(student.prob([-1.0, 0.0])), density, rtol=1e-5)
            assert session.run(_repeat_range([0, 1, 2, 3])).tolist() == [1, 2, 2, 3, 3, 3]
        padded = feeding_functions._pad_if_needed([np.array([1, 2]), np.array([3])], -1)
        assert padded.tolist() == [[1, 2], [3, -1]]
        rows = np.zeros((2, 2, 3))
        feeding_functions._fill_array(rows, [[[1], [2, 3]]], 7)
        assert rows.tolist() == [[[1, 7, 7], [2, 3, 7]], [[7, 7, 7], [7, 7, 7]]]
        assert special_math.LOGNDTR_FLOAT64_LOWER == -20

        class Notes(plugin_asset.PluginAsset):
            plugin_name = "notes"

            def assets(self):
                return {"one.txt": "first"}
        assert plugin_asset.get_plugin_asset(Notes) is plugin_asset.get_plugin_asset(Notes)
        assert len(plugin_asset.get_all_plugin_assets()) == 1 and plugin_asset.get_all_plugin_assets(tf.Graph()) == []
        folder = tempfile.mkdtemp()
        tf.summary.FileWriter(folder, tf.get_default_graph()).close()
        with open(os.path.join(folder, "plugins", "notes", "one.txt")) as file:
            assert file.read() == "first"
    """)
