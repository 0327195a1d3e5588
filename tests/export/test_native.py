"""Exported models on this machine, called from C."""
from __future__ import annotations

import ctypes
import platform
import subprocess

import numpy as np
import pytest

import penstock as tf
from penstock.export.model import export_file
from support.exported import Loaded, needs_compiler, run_program

pytestmark = [pytest.mark.process, needs_compiler, pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 CPU")]


def export(session, tmp_path, fetches, feeds, **options):
    return tf.export(fetches, feeds, tmp_path, session=session, kind="object", **options)


def classifier(batch=None):
    """A small perceptron."""
    x = tf.placeholder(tf.float32, [batch, 20], name="x")
    hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("w1", [20, 33])) + tf.get_variable("b1", [33]))
    return x, tf.nn.softmax(tf.matmul(hidden, tf.get_variable("w2", [33, 10], use_resource=True)))


def network():
    """Convolutions of several kinds, batch norm, pooling."""
    x = tf.placeholder(tf.float32, [None, 12, 12, 3], name="images")
    layer = tf.layers.conv2d(x, 8, 3, padding="same")
    layer = tf.nn.relu6(tf.layers.batch_normalization(layer, training=False))
    layer = tf.nn.depthwise_conv2d(layer, tf.get_variable("depthwise", [3, 3, 8, 2]), [1, 2, 2, 1], "SAME")
    layer = tf.nn.max_pool(tf.nn.relu(layer), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return x, tf.layers.dense(tf.reshape(layer, [-1, 3 * 3 * 16]), 5, activation=tf.nn.tanh)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3"])
def test_perceptron_in_a_c_program(tmp_path, cpu):
    x, y = classifier()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made = export(session, tmp_path, y, x, batch=[1, 4], name="mlp", cpu=cpu)
        values = np.random.RandomState(0).randn(4, 20).astype(np.float32)
        expected = session.run(y, {x: values})
    np.testing.assert_allclose(run_program(made, values, (4, 10), batch=4), expected, rtol=1e-5, atol=1e-6)


def test_simulated_quantization(tmp_path):
    x = tf.placeholder(tf.float32, [3, 4], name="x")
    bounds = tf.get_variable("low", initializer=-1.0), tf.get_variable("high", initializer=[2.0, 0.5, 1.0, 3.0])
    layer = tf.quantization.fake_quant_with_min_max_vars(x, bounds[0], 1.5, num_bits=4)
    layer = tf.quantization.fake_quant_with_min_max_vars_per_channel(layer * 2, -bounds[1], bounds[1])
    y = tf.quantization.fake_quant_with_min_max_args(layer, -1, 2, narrow_range=True)
    values = np.random.RandomState(0).randn(3, 4).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made = export(session, tmp_path, y, x, name="fake")
        expected = session.run(y, {x: values})
    np.testing.assert_allclose(Loaded(made).run("run", [values], [(3, 4)])[0], expected, rtol=1e-6)


def test_header_is_also_for_cpp(tmp_path):
    x, y = classifier()
    counter = tf.get_variable("count/total", [3], initializer=tf.zeros_initializer())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made = export(session, tmp_path, {"y": y, "new": tf.assign_add(counter, [1.0, 2.0, 3.0])}, {"class": x})
    source = tmp_path / "check.cpp"
    source.write_text('#include "model.h"\nstatic_assert(sizeof(model) == MODEL_BYTES && alignof(model) == 64, "");\n'
                      "int run(model *m, const float *x, float *y, float *n) { return model_run(m, 1, x, y, n) + (int)m->count_total[2]; }\n")
    subprocess.run(["g++", "-std=c++11", "-Wall", "-Werror", "-fsyntax-only", source], check=True)
    assert made.code_bytes < 500_000


def test_network_for_several_batches(tmp_path):
    x, y = network()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():  # batch norm that does something
            session.run(variable.assign(np.random.RandomState(1).uniform(0.2, 1, variable.shape.as_list())))
        loaded = Loaded(export(session, tmp_path, y, x, batch=[1, 3]))
        values = np.random.RandomState(0).randn(3, 12, 12, 3).astype(np.float32)
        expected = session.run(y, {x: values})
    (found,) = loaded.run("run", [values], [(3, 5)], batch=3)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    (first,) = loaded.run("run", [values[1:2]], [(1, 5)], batch=1)
    np.testing.assert_allclose(first, expected[1:2], rtol=1e-4, atol=1e-5)
    assert loaded.message(loaded.status("run", [values, found], 2)) == "no table for this batch size"


def test_any_batch_is_cut_into_those_that_there_are(tmp_path):
    x, y = classifier()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        loaded = Loaded(export(session, tmp_path, y, x, batch=[1, 4], any_batch=True))
        values = np.random.RandomState(0).randn(11, 20).astype(np.float32)
        expected = session.run(y, {x: values})
    (found,) = loaded.run("run", [values], [(11, 10)], batch=11)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert loaded.status("run", [values, found], 0) == 0
    assert loaded.status("run", [values, found], -1) == -1


def test_rows_that_depend_on_each_other_do_not_take_any_batch(tmp_path):
    x = tf.placeholder(tf.float32, [None, 4])
    y = x - tf.reduce_mean(x, axis=0)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="rows of the batch depend on each other"):
        export(session, tmp_path, y, x, batch=[1, 4], any_batch=True)


def test_a_model_that_writes_variables_does_not_take_any_batch(tmp_path):
    x, total = tf.placeholder(tf.float32, [None, 4]), tf.get_variable("total", [4], initializer=tf.zeros_initializer())
    y = x + total.assign_add(tf.reduce_sum(x, 0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="it would write total once for each"):
            export(session, tmp_path, y, x, batch=[1, 4], any_batch=True)
        np.testing.assert_array_equal(session.run(total), np.zeros(4))


@pytest.mark.parametrize("columns", [1, 10, 77])
def test_a_row_times_a_matrix(tmp_path, columns):
    x = tf.placeholder(tf.float32, [1, 37], name="x")
    product = tf.matmul(x, tf.get_variable("w", [37, columns]))
    fetches = {"plain": product, "more": tf.nn.relu(product + tf.get_variable("b", [columns]))}
    values = np.random.RandomState(0).randn(1, 37).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        loaded = Loaded(export(session, tmp_path, fetches, x))
        expected = session.run(list(fetches.values()), {x: values})
    for found, right in zip(loaded.run("run", [values], [(1, columns)] * 2), expected):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


def test_recurrent_network_runs_its_loop(tmp_path):
    x = tf.placeholder(tf.float32, [None, 7, 5], name="x")
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(6), x, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        loaded = Loaded(export(session, tmp_path, {"outputs": outputs, "state": state}, x, batch=2))
        values = np.random.RandomState(0).randn(2, 7, 5).astype(np.float32)
        expected = session.run([outputs, state], {x: values})
    for _ in range(2):  # the second step finds nothing of the first
        found = loaded.run("run", [values], [(2, 7, 6), (2, 6)], batch=2)
        for one, other in zip(found, expected):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_model_that_is_not_initialised_or_was_moved_says_so(tmp_path):
    x, y = classifier(2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made = export(session, tmp_path, y, x, threads=2)
    loaded = Loaded(made)
    values = np.ones((2, 20), np.float32)
    (found,) = loaded.run("run", [values], [(2, 10)])
    content = ctypes.string_at(loaded.at, made.model_bytes)
    for before in (b"", b"\xee" * made.model_bytes, content):  # zeros, anything, a model that was elsewhere
        memory = ctypes.create_string_buffer(before, made.model_bytes + 64)
        loaded.at = ctypes.addressof(memory)  # wherever malloc puts it
        assert loaded.status("start", []) == loaded.status("run", [values, found]) == -3
        assert "call model_init with its address first" in loaded.message(-3)
        loaded.init()
        np.testing.assert_array_equal(loaded.run("run", [values], [(2, 10)])[0], found)


def test_variables_stay_in_the_model(tmp_path):
    x = tf.placeholder(tf.float32, [3], name="x")
    total = tf.get_variable("total", initializer=[1.0, 2.0, 3.0], use_resource=True)
    average = tf.Variable([0.0], name="average")
    scale = tf.Variable(2.0, name="scale")
    with tf.control_dependencies([total.assign_add(scale * x)]):
        summed = tf.identity(total.read_value())
    entries = {"add": (summed, x), "read": (total.read_value() * 1.0, []), "reset": (tf.assign(average, [5.0]), [])}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        loaded = Loaded(export(session, tmp_path, entries, None))
    one = np.ones(3, np.float32)
    np.testing.assert_array_equal(loaded.run("add", [one], [(3,)])[0], [3, 4, 5])
    np.testing.assert_array_equal(loaded.run("add", [one], [(3,)])[0], [5, 6, 7])
    np.testing.assert_array_equal(loaded.run("read", [], [(3,)])[0], [5, 6, 7])
    assert loaded.run("reset", [], [(1,)])[0] == 5
    loaded.init()
    np.testing.assert_array_equal(loaded.run("read", [], [(3,)])[0], [1, 2, 3])


def test_weights_beside_the_code(tmp_path):
    x, y = classifier(2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made = export(session, tmp_path, y, x, weights="beside")
        values = np.random.RandomState(0).randn(2, 20).astype(np.float32)
        expected = session.run(y, {x: values})
    content = made.files["weights"].read_bytes()
    assert len(content) == made.weights_bytes and made.files["object"].stat().st_size < made.code_bytes + 1000
    np.testing.assert_allclose(Loaded(made, content).run("run", [values], [(2, 10)])[0], expected, rtol=1e-5, atol=1e-6)


def test_a_bad_index_is_a_status_with_a_message(tmp_path):
    table = tf.get_variable("table", [5, 4])
    ids = tf.placeholder(tf.int32, [3], name="ids")
    rows = tf.nn.embedding_lookup(table, ids, name="rows")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        loaded = Loaded(export(session, tmp_path, rows, ids))
        expected = session.run(rows, {ids: [4, 0, 1]})
    np.testing.assert_array_equal(loaded.run("run", [np.array([4, 0, 1], np.int32)], [(3, 4)])[0], expected)
    status = loaded.status("run", [np.array([4, 5, 1], np.int32), np.zeros((3, 4), np.float32)])
    assert status > 0 and "rows (" in loaded.message(status)


def test_each_of_several_checks_is_a_status_with_a_message(tmp_path):
    x = tf.placeholder(tf.float32, [3], name="x")
    checked = [tf.check_numerics(tf.log(x), "log", name="first"), tf.check_numerics(1 / (x - 1), "quotient", name="second")]
    with tf.Session() as session:
        loaded = Loaded(export(session, tmp_path, checked[0] + checked[1], x))
    np.testing.assert_allclose(loaded.run("run", [np.array([2, 3, 4], np.float32)], [(3,)])[0], np.log([2, 3, 4]) + [1, 1 / 2, 1 / 3], rtol=1e-6)
    for values, name in (([2, 3, -1], "first"), ([2, 3, 1], "second")):
        status = loaded.status("run", [np.array(values, np.float32), np.zeros(3, np.float32)])
        assert status > 0 and f"{name} (" in loaded.message(status)


def test_results_that_are_known_and_feeds_that_are_fetched(tmp_path):
    x = tf.placeholder(tf.float32, [2], name="x")
    unused = tf.placeholder(tf.float32, [2], name="unused")
    with tf.Session() as session:
        loaded = Loaded(export(session, tmp_path, {"known": tf.constant([3.0, 4.0]), "same": x, "twice": x}, [x, unused]))
    given = np.array([1, 2], np.float32)
    known, same, twice = loaded.run("run", [given, given], [(2,), (2,), (2,)])
    np.testing.assert_array_equal(known, [3, 4])
    np.testing.assert_array_equal(same, given)
    np.testing.assert_array_equal(twice, given)


def test_frozen_graph_and_saved_model(tmp_path):
    x, y = classifier()
    values = np.random.RandomState(0).randn(1, 20).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = session.run(y, {x: values})
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"y": y})
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, [y.op.name])
    (tmp_path / "frozen.pb").write_bytes(frozen.SerializeToString())
    from penstock.cli.main import main
    for model in ("saved", "frozen.pb"):
        folder = tmp_path / f"{model}.out"
        assert main(["export", str(tmp_path / model), "-o", str(folder), "--kind", "object", "--name", "net"]) == 0
        from penstock.export.model import export_file
        made = export_file(str(tmp_path / model), folder, kind="object", name="net")
        np.testing.assert_allclose(Loaded(made).run("run", [values], [(1, 10)], batch=1)[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weights", ["inside", "beside"])
def test_quantised_weights_are_a_quarter_as_large(tmp_path, weights):
    x = tf.placeholder(tf.float32, [1, 16, 16, 32], name="x")
    layer = tf.nn.relu(tf.layers.conv2d(x, 48, 3, padding="same"))  # which Winograd's way may take
    layer = tf.nn.depthwise_conv2d(layer, tf.get_variable("depthwise", [5, 5, 48, 1]), [1, 2, 2, 1], "SAME")
    y = tf.layers.dense(tf.reshape(tf.nn.relu(layer), [1, -1]), 10)
    values = np.random.RandomState(0).randn(1, 16, 16, 32).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain = export(session, tmp_path / "plain", y, x, weights=weights)
        small = export(session, tmp_path / "small", y, x, weights=weights, quantize=True)
        expected = session.run(y, {x: values})
        for variable in tf.trainable_variables():  # what 8 bits can stand for
            value = session.run(variable)
            if value.size >= 1024:
                flat = value.reshape(-1, 48 if "depthwise" in variable.name else value.shape[-1])
                scale = np.abs(flat).max(0) / 127
                session.run(variable.assign((np.rint(flat / scale) * scale).reshape(value.shape)))
        rounded = session.run(y, {x: values})
    contents = [made.files["weights"].read_bytes() if weights == "beside" else None for made in (plain, small)]
    found = Loaded(small, contents[1]).run("run", [values], [(1, 10)])[0]
    np.testing.assert_allclose(found, rounded, rtol=1e-4, atol=1e-4)
    assert 0 < np.abs(found - expected).max() < 0.05 * np.abs(expected).max()
    np.testing.assert_allclose(Loaded(plain, contents[0]).run("run", [values], [(1, 10)])[0], expected, rtol=1e-4, atol=1e-4)
    assert small.weights_bytes < 0.35 * plain.weights_bytes


def _recurrent():
    x, lengths = tf.placeholder(tf.float32, [None, 7, 5], name="x"), tf.placeholder(tf.int32, [None], name="lengths")
    training = tf.placeholder_with_default(False, [], name="training")
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(6), x, lengths, dtype=tf.float32)
    hidden = tf.layers.batch_normalization(state.h, training=training)
    return x, lengths, tf.layers.dense(tf.layers.dropout(hidden, 0.5, training=training), 3, name="last"), outputs


def test_a_saved_model_with_loops_and_branches(tmp_path):
    """Files have these as Switch, Merge, Enter, ...; its assertion about lengths is one about shapes, which holds."""
    x, lengths, y, outputs = _recurrent()
    values, counts = np.random.RandomState(0).randn(2, 7, 5).astype(np.float32), np.array([3, 7], np.int32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = session.run([outputs, y], {x: values, lengths: counts})
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x, "lengths": lengths}, {"outputs": outputs, "y": y})
    loaded = Loaded(export_file(str(tmp_path / "saved"), tmp_path / "out", kind="object", batch=2))
    for found, right in zip(loaded.run("run", [counts, values], [(2, 7, 6), (2, 3)], batch=2), expected):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)


def test_a_frozen_graph_with_branches(tmp_path):
    x = tf.placeholder(tf.float32, [2, 6], name="x")
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2 + tf.get_variable("b", [6]), lambda: tf.nn.relu(x))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), [y.op.name])
        (tmp_path / "frozen.pb").write_bytes(frozen.SerializeToString())
        values = np.random.RandomState(0).randn(2, 6).astype(np.float32)
        expected = {sign: session.run(y, {x: values * sign}) for sign in (1, -1)}
    loaded = Loaded(export_file(str(tmp_path / "frozen.pb"), tmp_path / "out", kind="object"))  # what nothing takes is fetched: no pivots
    for sign, right in expected.items():
        np.testing.assert_allclose(loaded.run("run", [values * np.float32(sign)], [(2, 6)])[0], right, rtol=1e-5)


def test_an_assertion_is_checked(tmp_path):
    x = tf.placeholder(tf.float32, [3], name="x")
    with tf.control_dependencies([tf.Assert(tf.reduce_sum(x) > 0, ["it is", x], name="positive")]):
        y = x * 2
    with tf.Session() as session:
        loaded = Loaded(export(session, tmp_path, y, x))
    good = np.ones(3, np.float32)
    np.testing.assert_array_equal(loaded.run("run", [good], [(3,)])[0], [2, 2, 2])
    status = loaded.status("run", [-good, np.empty(3, np.float32)])
    assert status != 0 and "positive/Assert" in loaded.message(status)


def test_an_embedding_of_an_imported_graph(tmp_path):
    ids = tf.placeholder(tf.int32, [2, 4], name="ids")
    y = tf.nn.embedding_lookup(tf.get_variable("table", [9, 5], use_resource=True), ids)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"ids": ids}, {"y": y})
        values = np.array([[0, 8, 3, 3], [1, 2, 0, 7]], np.int32)
        expected = session.run(y, {ids: values})
    loaded = Loaded(export_file(str(tmp_path / "saved"), tmp_path / "out", kind="object"))
    np.testing.assert_array_equal(loaded.run("run", [values], [(2, 4, 5)])[0], expected)
