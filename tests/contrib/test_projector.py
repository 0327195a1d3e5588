"""``tf.contrib.tensorboard.plugins.projector`` and ``tf.contrib.memory_stats``."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process


def test_the_configuration_lies_beside_the_events(tmp_path):
    projector = tf.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "words:0", "names.tsv"
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text == 'embeddings {\n  tensor_name: "words:0"\n  metadata_path: "names.tsv"\n}\n'


def test_memory_of_the_process():
    stats = tf.contrib.memory_stats
    with tf.Graph().as_default(), tf.Session() as session:
        now, most, limit = session.run([stats.BytesInUse(), stats.MaxBytesInUse(), stats.BytesLimit()])
    assert 1 << 20 < now <= limit and 1 << 20 < most <= limit
    assert now.dtype == "int64"
