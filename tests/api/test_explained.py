"""Names that need a TPU or TensorRT exist, and say what to do instead; NCCL's sums are those of CPUs."""
from __future__ import annotations

import importlib

import pytest

import penstock as tf
from penstock.api.explained import REASONS


def test_calls_explain_themselves():
    with pytest.raises(tf.errors.UnimplementedError, match=r"infeed_dequeue moves tensors .* there is none"):
        tf.contrib.tpu.infeed_dequeue(tf.float32, [1])
    with pytest.raises(tf.errors.UnimplementedError, match="TensorRT"):
        tf.contrib.tensorrt.create_inference_graph(None, [])
    with pytest.raises(tf.errors.UnimplementedError, match="MirroredStrategy trains on CPUs"):
        tf.distribute.experimental.TPUStrategy()
    with pytest.raises(tf.errors.UnimplementedError, match="AdamParameters describes an embedding table"):
        tf.tpu.experimental.AdamParameters(0.1)
    with pytest.raises(tf.errors.UnimplementedError, match="`penstock export MODEL` compiles"):
        tf.lite.TFLiteConverter.from_session(None, [], [])
    with pytest.raises(tf.errors.UnimplementedError, match="Interpreter belongs to TensorFlow Lite"):
        tf.contrib.lite.Interpreter(model_path="model.tflite")
    tf.install_as_tensorflow(era=False)
    namespaces = (tf.contrib.tensorrt, tf.contrib.tpu, tf.contrib.distribute, tf.contrib.summary, tf.tpu.experimental,
                  tf.estimator.tpu.experimental, tf.lite, tf.lite.experimental,
                  importlib.import_module("tensorflow.python.ops.collective_ops"))
    for name in REASONS:
        assert any(REASONS[name] in getattr(namespace, name).__doc__ for namespace in namespaces if hasattr(namespace, name))


def test_reductions_over_devices():
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        tensors = []
        for index, values in enumerate(([1.0, 5.0], [3.0, 2.0])):
            with tf.device(f"/cpu:{index}"):
                tensors.append(tf.constant(values))
        nccl = tf.contrib.nccl
        total = nccl.all_sum(tensors)
        assert [each.device for each in total] == [each.device for each in tensors]
        got = session.run([total, nccl.all_prod(tensors), nccl.all_min(tensors), nccl.all_max(tensors), nccl.reduce_sum(tensors)])
    assert [[each.tolist() for each in pair] for pair in got[:4]] == [[[4, 7]] * 2, [[3, 10]] * 2, [[1, 2]] * 2, [[3, 5]] * 2]
    assert got[4].tolist() == [4, 7]
    with pytest.raises(ValueError, match="Must pass >0 tensors"):
        tf.contrib.nccl.all_sum([])


def test_names_of_the_core():
    """tf.tpu and tf.xla are what tf.contrib has."""
    assert tf.tpu.rewrite is tf.contrib.tpu.rewrite and tf.tpu.CrossShardOptimizer is tf.contrib.tpu.CrossShardOptimizer
    with tf.Graph().as_default(), tf.Session() as session, tf.xla.experimental.jit_scope():
        assert session.run(tf.xla.experimental.compile(lambda x: x + 1.0, [tf.constant(1.0)])) == [2.0]


def test_computations_for_tpus():
    tpu = tf.contrib.tpu
    with tf.Graph().as_default(), tf.Session() as session:
        doubled = tpu.shard(lambda x: x * 2, [tf.constant([[1.0], [2.0], [3.0], [4.0]])], num_shards=2)
        copies = tpu.replicate(lambda x, y: x + y, [[1.0, tf.constant(2.0)], [3.0, tf.constant(4.0)]])
        assert session.run(doubled)[0].ravel().tolist() == [2, 4, 6, 8] and session.run(copies) == [[3.0], [7.0]]
    assert tpu.outside_compilation(max, 1, 2) == 2 and tpu.core(1) == "device:TPU_REPLICATED_CORE:1"
