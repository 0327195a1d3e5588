"""What cannot leave Python says so: which op, why, and where it was made."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.cli.main import main
from penstock.export import linking
from penstock.export.failures import CannotExport

pytestmark = pytest.mark.process


def refused(tmp_path, fetches, feeds, **options):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(CannotExport) as caught:
            tf.export(fetches, feeds, tmp_path, session=session, kind="object", **options)
    return caught.value


def test_ops_without_native_code_are_all_named(tmp_path):
    x = tf.placeholder(tf.float32, [3], name="x")
    text = tf.as_string(x, name="text")
    called = tf.py_func(lambda value: value, [x], tf.float32, name="called")
    error = refused(tmp_path, [text, called], x)
    assert isinstance(error, tf.errors.UnimplementedError)
    assert {name for name, _, _ in error.reasons} == {"text", "called"}
    assert "text (AsString)" in str(error) and "test_refusals.py" in str(error)


def test_random_numbers_are_refused_but_not_dropout_that_drops_nothing(tmp_path):
    x = tf.placeholder(tf.float32, [2, 50], name="x")
    rate = tf.placeholder_with_default(0.0, [], name="rate")
    dropped = tf.nn.dropout(tf.nn.relu(x), rate=rate)
    with tf.Session() as session:
        tf.export(dropped, x, tmp_path, session=session, kind="object")
    error = refused(tmp_path, dropped, [x, rate])
    assert any("generator" in why for _, _, why in error.reasons)


def test_a_result_whose_shape_depends_on_a_condition_is_refused_but_not_its_sum(tmp_path):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    part = tf.exp(tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: x[:2]), name="part")
    assert refused(tmp_path, part, x).reasons == [("part", "Exp", "its shape depends on a condition that is computed in the step")]
    with tf.Session() as session:
        tf.export(tf.reduce_sum(part), x, tmp_path, session=session, kind="object")


def test_shapes_that_are_not_known(tmp_path):
    x = tf.placeholder(tf.float32, [None, None], name="x")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="only the first axis"):
            tf.export(x * 2, x, tmp_path, session=session, kind="object")
        tf.export(x * 2, x, tmp_path, session=session, kind="object", shapes={"x": [None, 4]})


def test_a_feed_that_is_given_twice(tmp_path, capsys):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = x * 2
    with tf.Session() as session:
        for feeds in ({"a": x, "b": x}, [x, "x:0"]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="x:0 is fed twice, as"):
                tf.export(y, feeds, tmp_path, session=session, kind="object")
    (tmp_path / "graph.pb").write_bytes(y.graph.as_graph_def().SerializeToString())
    assert main(["export", str(tmp_path / "graph.pb"), "-o", str(tmp_path / "out"), "--input", "x", "--input", "x:0", "--kind", "object"]) == 1
    assert "x:0 is fed twice" in capsys.readouterr().err


def test_feeds_of_a_frozen_graph_whose_names_end_alike_are_all_there(tmp_path, capsys):
    with tf.name_scope("a"):
        first = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("b"):
        second = tf.placeholder(tf.float32, [2], name="x")
    total = tf.add(first, second, name="total")
    (tmp_path / "graph.pb").write_bytes(total.graph.as_graph_def().SerializeToString())
    assert main(["export", str(tmp_path / "graph.pb"), "-o", str(tmp_path / "out"), "--kind", "object"]) == 0, capsys.readouterr().err
    assert "int model_run(model *model, const float *x, const float *x_2, float *total);" in (tmp_path / "out" / "model.h").read_text()


def test_arguments_that_make_no_sense(tmp_path):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.Session() as session:
        for options, what in (({"kind": "exe"}, "kind"), ({"weights": "no"}, "weights"), ({"batch": 0}, "positive"), ({"batch": "3"}, "batch='3'"),
                              ({"batch": [1, 2.5]}, "a list of sizes"), ({"shapes": {"y": [1, 2]}}, "no feed 'y'; there are x")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=what):
                tf.export(x * 2, x, tmp_path, session=session, **{"kind": "object", **options})
        with pytest.raises(ValueError, match="no target 'vax'"):
            tf.export(x * 2, x, tmp_path, session=session, target="vax")


def test_entry_points_that_make_no_sense(tmp_path):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.Session() as session:
        for fetches, feeds, what in (([], x, "fetches nothing"), ({"run": x * 2}, None, r"not a pair \(fetches, feeds\)")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=what):
                tf.export(fetches, feeds, tmp_path, session=session, kind="object")
        with pytest.raises(tf.errors.UnimplementedError, match=r"x \(Placeholder\): it is needed, and is not among the feeds"):
            tf.export(x * 2, [], tmp_path, session=session, kind="object")


def test_types_that_a_target_has_no_instructions_for(tmp_path):
    x = tf.placeholder(tf.float16, [2], name="x")
    with tf.Session() as session, pytest.raises(tf.errors.UnimplementedError, match=r"mul \(Mul\): Const: the CPU has no conversions of float16"):
        tf.export(x * 2, x, tmp_path, session=session, kind="object", target="wasm32")


def test_without_a_linker_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    x = tf.placeholder(tf.float32, [2], name="x")
    monkeypatch.setattr(linking, "has_linker", lambda: False)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match=r"pip install 'penstock\[export\]'; --kind object"):
        tf.export(x * 2, x, tmp_path, session=session)
    assert main(["export", str(tmp_path / "nothing.pb"), "-o", str(tmp_path), "--target", "vax"]) == 1
    assert "nothing.pb" in capsys.readouterr().err


def test_variable_without_a_value(tmp_path):
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.get_variable("v", [2])
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        tf.export(x * v, x, tmp_path, session=session, kind="object")
    assert np.size(list(tmp_path.iterdir())) == 0
