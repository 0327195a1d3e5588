"""Lookups and updates over padded ids by native code, beside NumPy; kernels of many tables side by side."""
import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from penstock.native.table import side_by_side

OPTIMIZERS = {"Adagrad": lambda: tf.train.AdagradOptimizer(0.1), "Ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
              "Momentum": lambda: tf.train.MomentumOptimizer(0.01, 0.9, use_nesterov=True)}


def trained(optimizer, widths, batches, resource=False):
    """Losses and tables after a few steps; there is a table per width."""
    with tf.Graph().as_default(), tf.Session() as session:
        random = np.random.RandomState(0)
        ids = tf.sparse_placeholder(tf.int64, [None, 3])
        tables = [tf.get_variable(f"table{k}", initializer=random.rand(100, width).astype(np.float32), use_resource=resource)
                  for k, width in enumerate(widths)]
        rows = [tf.nn.safe_embedding_lookup_sparse(table, ids, combiner=("mean", "sum", "sqrtn")[k % 3]) for k, table in enumerate(tables)]
        loss = tf.reduce_sum(tf.square(tf.concat(rows, 1)))
        train = optimizer().minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], {ids: batch})[0] for batch in batches]
        return losses, session.run(tables)


def batches():
    """Of 60 examples: some with one id each, some with none, invalid ones, and several."""
    random = np.random.RandomState(1)
    yield tf.SparseTensorValue(np.stack([np.arange(60), np.zeros(60)], 1).astype(np.int64), random.randint(0, 100, 60), [60, 3])
    for count in (40, 130, 7, 0):
        places = np.sort(random.choice(180, count, replace=False))
        yield tf.SparseTensorValue(np.stack([places // 3, places % 3], 1), random.randint(-3, 100, count), [60, 3])


@pytest.mark.parametrize("optimizer, resource", [("Adagrad", False), ("Ftrl", False), ("Momentum", False), ("Ftrl", True)])
def test_as_numpy(optimizer, resource, monkeypatch):
    given = list(batches())
    losses, tables = trained(OPTIMIZERS[optimizer], [1, 8, 17, 1, 8, 5], given, resource)
    monkeypatch.setattr(config, "mode", "off")
    expected, expected_tables = trained(OPTIMIZERS[optimizer], [1, 8, 17, 1, 8, 5], given, resource)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for table, other in zip(tables, expected_tables):
        np.testing.assert_allclose(table, other, rtol=1e-5, atol=1e-6)


def test_tables_side_by_side_give_the_same_bits(monkeypatch):
    given = list(batches())[:2]
    monkeypatch.setattr(side_by_side, "_WORK", 1)
    merged = trained(OPTIMIZERS["Adagrad"], [1, 8, 17, 1, 8, 5], given)
    monkeypatch.setattr(side_by_side, "_FEWEST", 1 << 30)
    alone = trained(OPTIMIZERS["Adagrad"], [1, 8, 17, 1, 8, 5], given)
    np.testing.assert_array_equal(merged[0], alone[0])
    for table, other in zip(merged[1], alone[1]):
        np.testing.assert_array_equal(table, other)


def test_which_of_several_lookups_fails(monkeypatch):
    monkeypatch.setattr(side_by_side, "_WORK", 1)
    ids = [tf.sparse_placeholder(tf.int64, [None, 1]) for _ in range(5)]
    tables = [tf.Variable(tf.ones([10 + k, 3])) for k in range(5)]
    total = tf.add_n([tf.nn.safe_embedding_lookup_sparse(table, each, name=f"lookup{k}") for k, (table, each) in enumerate(zip(tables, ids))])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = {each: tf.SparseTensorValue([[0, 0], [1, 0]], [3, 12 if k == 2 else 4], [2, 1]) for k, each in enumerate(ids)}
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"12 is not in \[0, 12\)(.|\n)*lookup2"):
                session.run(total, feeds)
