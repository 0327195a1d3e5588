"""`penstock cache --warm`: what it compiles is what programs need."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.cli import cache as command
from penstock.cli import warming
from penstock.native.calls import Code
from penstock.native.config import config
from penstock.native.machine import cache, target

pytestmark = pytest.mark.process


def test_a_network_of_other_sizes_finds_its_kernels(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(Code, "_known", {})
    monkeypatch.setattr(warming, "_MODELS", {"dense layers": warming._dense})
    monkeypatch.setattr(warming, "_OPTIMIZERS", {"Adam": warming._OPTIMIZERS["Adam"]})
    mode = config.mode
    assert command.main(["--warm"]) == 0
    assert config.mode == mode
    printed = capsys.readouterr().out
    assert "dense layers, Adam" in printed and f"{len(cache.entries())} kernels" in printed

    monkeypatch.setattr(Code, "_known", {})  # as in another process
    monkeypatch.setattr(config, "mode", "eager")
    compiled: list[str] = []
    generate = target._generate
    monkeypatch.setattr(target, "_generate", lambda text: compiled.append(text) or generate(text))
    x, y = tf.placeholder(tf.float32, [None, 500]), tf.placeholder(tf.int32, [None])
    hidden = x
    for index, units in enumerate((200, 150)):
        hidden = tf.nn.relu(tf.matmul(hidden, tf.get_variable(f"w{index}", [hidden.shape[-1], units])) + tf.get_variable(f"b{index}", [units]))
    logits = tf.matmul(hidden, tf.get_variable("w", [150, 10])) + tf.get_variable("b", [10])
    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        compiled.clear()  # initializers are not among what is made ahead
        session.run(train, {x: np.ones((70, 500)), y: np.zeros(70, np.int32)})
    assert len(compiled) < len(Code._known) / 4, "nearly all are there"


@pytest.mark.graph
@pytest.mark.parametrize("model", warming._MODELS)
def test_the_models_build(model):
    with tf.Graph().as_default():
        loss, feeds = warming._MODELS[model]()
        assert loss.shape.rank == 0 and feeds
        assert all(gradient is not None for gradient in tf.gradients(loss, tf.trainable_variables()))
