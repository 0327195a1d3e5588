"""Lookups and sparse updates over all ids: the same bits as over the distinct ones, with shapes that stay."""
import numpy as np
import pytest

import penstock as tf
from penstock.program.ir import prune
from penstock.program.passes.identities import remove_identities
from penstock.program.passes.lookups import merge_lookups

OPTIMIZERS = {"Adagrad": lambda: tf.train.AdagradOptimizer(0.1), "Ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
              "Momentum": lambda: tf.train.MomentumOptimizer(0.01, 0.9), "RMSProp": lambda: tf.train.RMSPropOptimizer(0.01),
              "Adam": lambda: tf.train.AdamOptimizer(0.01), "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.01)}
PADDED = {"Adagrad", "Ftrl", "Momentum", "RMSProp"}


class Model:
    """One lookup in a table of 50 rows, and a step that trains it."""

    def __init__(self, optimizer, combiner="mean", default_id=None):
        random = np.random.RandomState(0)
        self.ids = tf.sparse_placeholder(tf.int64, [None, 4])
        self.table = tf.Variable(random.rand(50, 5).astype(np.float32))
        self.embedded = tf.nn.safe_embedding_lookup_sparse(self.table, self.ids, combiner=combiner, default_id=default_id)
        self.loss = tf.reduce_sum(tf.square(tf.matmul(self.embedded, random.rand(5, 3).astype(np.float32))))
        self.train = OPTIMIZERS[optimizer]().minimize(self.loss)

    def types(self):
        """The ops of the step after the pass."""
        program = prune([self.loss], [self.train], [self.ids.indices, self.ids.values, self.ids.dense_shape])
        return [node.definition.type for node in merge_lookups(remove_identities(program.copy())).nodes]

    def trained(self, passes, steps=4):
        """Losses and the table after some steps over batches of 8 examples, some without ids, some with invalid ones."""
        config = tf.ConfigProto()
        config.graph_options.optimizer_options.opt_level = 0 if passes else -1
        random, losses = np.random.RandomState(1), []
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for step in range(steps):
                places = np.sort(random.choice(28, random.randint(5, 14), replace=False))
                batch = tf.SparseTensorValue(np.stack([places // 4, places % 4], 1), random.randint(-2, 6 if step % 2 else 50, len(places)), [8, 4])
                losses.append(session.run([self.loss, self.train], {self.ids: batch})[0])
            return np.array(losses), session.run(self.table)


@pytest.mark.parametrize("combiner, default_id", [("sum", None), ("mean", None), ("sqrtn", 3)])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_same_bits(optimizer, combiner, default_id):
    model = Model(optimizer, combiner, default_id)
    for plain, merged in zip(model.trained(False), model.trained(True)):
        np.testing.assert_array_equal(plain, merged)


@pytest.mark.parametrize("optimizer", sorted(PADDED))
def test_no_shape_depends_on_ids(optimizer):
    types = Model(optimizer).types()
    assert not {"Unique", "SparseFillEmptyRows", "Where", "SparseReshape"} & set(types)
    assert types.count("_LookupIds") == types.count("_LookupRows") == types.count(f"_PaddedSparseApply{optimizer}") == 1


def test_updates_of_a_plain_gather_sum_all_rows():
    table, ids = tf.Variable(np.ones([9, 2], np.float32)), tf.placeholder(tf.int32, [None])
    train = tf.train.AdagradOptimizer(0.5, initial_accumulator_value=1.0).minimize(tf.reduce_sum(tf.gather(table, ids)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(train, {ids: [3, 3, 5]})
        expected = np.ones([9, 2])
        expected[3] -= 0.5 * 2 / np.sqrt(5) + 0.5 * 2 / np.sqrt(9)
        expected[5] -= 0.5 / np.sqrt(2) + 0.5 / np.sqrt(3)
        np.testing.assert_allclose(session.run(table), expected, rtol=1e-6)
        with pytest.raises(tf.errors.InvalidArgumentError, match="-4"):
            session.run(train, {ids: [3, -4, 5]})
    program = prune([], [train], [ids])
    assert "Unique" not in [node.definition.type for node in merge_lookups(program.copy()).nodes]


def test_what_is_fed_in_between_counts():
    model = Model("Adagrad")
    filler = next(op for op in tf.get_default_graph().get_operations() if op.type == "SparseFillEmptyRows")
    kept = filler.inputs[1]
    batch = tf.SparseTensorValue([[0, 0], [1, 0]], [1, 2], [2, 4])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            rows, table = session.run([model.embedded, model.table], {model.ids: batch, kept: [7, 8]})
            np.testing.assert_array_equal(rows, table[[7, 8]])


def test_inner_values_can_be_fetched():
    model = Model("Ftrl")
    distinct = next(op for op in tf.get_default_graph().get_operations() if op.type == "Unique").outputs[0]
    batch = tf.SparseTensorValue([[0, 0], [0, 1], [1, 0]], [4, 2, 4], [2, 4])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            assert session.run([distinct, model.train], {model.ids: batch})[0].tolist() == [4, 2]


def test_an_id_that_the_table_lacks():
    model = Model("Ftrl")
    batch = tf.SparseTensorValue([[0, 0], [1, 0]], [4, 50], [2, 4])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"50 is not in \[0, 50\)"):
                session.run(model.train, {model.ids: batch})
