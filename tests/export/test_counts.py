"""Exported models whose results have as many rows as the step finds out: boxes that are left over, positions where a condition holds."""
from __future__ import annotations

import json
import platform
import subprocess

import numpy as np
import pytest

import penstock as tf
from penstock.export.failures import CannotExport
from penstock.graph import raw_ops
from support.exported import Loaded, needs_compiler, needs_linker, needs_program

pytestmark = [pytest.mark.process, pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 CPU")]


def some_boxes(seed, count):
    """Boxes that overlap each other, some with their corners exchanged or without an area, and scores, some of them equal or no numbers."""
    rng = np.random.RandomState(seed)
    centre, size = rng.rand(count, 2) * 4, rng.rand(count, 2) + 0.1
    boxes = np.concatenate([centre - size, centre + size], 1).astype(np.float32)
    boxes[::5] = boxes[::5][:, [2, 3, 0, 1]]
    boxes[3::11, 2] = boxes[3::11, 0]
    scores = np.round(rng.rand(count), 1).astype(np.float32)
    scores[4::13] = np.nan
    return boxes, scores


def call(made, inputs, expected, rows, counts):
    """The outputs of a model, cut to their counts: ``rows`` is how many each has room for, ``counts`` which count belongs to it, or None."""
    outputs = [np.full((most, *np.shape(value)[1:]) if which is not None else np.shape(value), 77, np.asarray(value).dtype)
               for value, most, which in zip(expected, rows, counts)]
    told = [np.zeros((), np.int32) for _ in range(1 + max(each for each in counts if each is not None))]
    assert Loaded(made).status("run", [*inputs, *outputs, *told]) == 0
    return [output if which is None else output[:int(told[which])] for output, which in zip(outputs, counts)]


@needs_compiler
@pytest.mark.parametrize("count, most", [(60, 10), (6, 10), (40, 3), (1, 1), (20, 0)])
def test_boxes_that_are_left_over(tmp_path, count, most):
    boxes, scores = tf.placeholder(tf.float32, [count, 4], name="boxes"), tf.placeholder(tf.float32, [count], name="scores")
    chosen = tf.image.non_max_suppression(boxes, scores, most, 0.4, 0.15)
    best = tf.gather(boxes, chosen)
    fetches = {"chosen": chosen, "best": best, "doubled": tf.gather(scores, chosen) * 2 + 1, "area": tf.reduce_prod(best, 1),
               "number": tf.shape(chosen)[0], "elements": tf.size(best), "shape": tf.shape(best, out_type=tf.int64)}
    values = some_boxes(count, count)
    with tf.Session() as session:
        made = tf.export(fetches, {"boxes": boxes, "scores": scores}, tmp_path, session=session, kind="object")
        expected = session.run(list(fetches.values()), {boxes: values[0], scores: values[1]})
    counted = [0] * (len(fetches) - 3) + [None] * 3
    for got, wanted in zip(call(made, values, expected, [most] * len(fetches), counted), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


@needs_compiler
def test_every_form_of_the_op(tmp_path):
    boxes, scores = tf.placeholder(tf.float32, [30, 4]), tf.placeholder(tf.float32, [30])
    padded = raw_ops.NonMaxSuppressionV4(boxes, scores, 40, np.float32(0.5), np.float32(0.2), pad_to_max_output_size=True)
    fetches = [raw_ops.NonMaxSuppression(boxes, scores, 40, iou_threshold=0.3), raw_ops.NonMaxSuppressionV2(boxes, scores, 40, np.float32(0.3)),
               raw_ops.NonMaxSuppressionV4(boxes, scores, 40, np.float32(0.3), np.float32(0.2))[0]]
    values = some_boxes(2, 30)
    with tf.Session() as session:
        made = tf.export([*fetches, *padded], [boxes, scores], tmp_path, session=session, kind="object")
        expected = session.run([*fetches, padded[0][:padded[1]], padded[1]], dict(zip((boxes, scores), values)))
    for got, wanted in zip(call(made, values, expected, [40] * 5, [0, 1, 2, 3, None]), expected):
        np.testing.assert_array_equal(got, wanted)


@needs_compiler
def test_padded_boxes_of_each_image_of_a_batch(tmp_path):
    boxes, scores = tf.placeholder(tf.float32, [2, 30, 4]), tf.placeholder(tf.float32, [2, 30])
    def pick(each):
        return tuple(tf.image.non_max_suppression_padded(*each, 5, 0.4, pad_to_max_output_size=True))

    chosen, number = tf.map_fn(pick, (boxes, scores), dtype=(tf.int32, tf.int32))
    values = [np.stack(each) for each in zip(some_boxes(3, 30), some_boxes(4, 30))]
    with tf.Session() as session:
        made = tf.export([chosen, number], [boxes, scores], tmp_path, session=session, kind="object")
        expected = session.run([chosen, number], dict(zip((boxes, scores), values)))
    outputs = [np.zeros((2, 5), np.int32), np.zeros(2, np.int32)]
    assert Loaded(made).status("run", [*values, *outputs]) == 0
    np.testing.assert_array_equal(outputs[0], expected[0])
    np.testing.assert_array_equal(outputs[1], expected[1])


@needs_compiler
def test_positions_and_masks(tmp_path):
    x = tf.placeholder(tf.float32, [5, 4], name="x")
    fetches = [tf.where(x > 0), tf.boolean_mask(x, x[:, 0] > 0), tf.boolean_mask(x, x > 0.5), tf.where(tf.cast(x, tf.int32)),
               tf.nn.softmax(tf.matmul(tf.boolean_mask(x, x[:, 1] > 0), tf.constant(np.arange(8.0, dtype=np.float32).reshape(4, 2)))),
               tf.reshape(tf.boolean_mask(x, x[:, 2] > 0), [-1, 2, 2]) + 1.0]
    values = np.random.RandomState(1).randn(5, 4).astype(np.float32)
    with tf.Session() as session:
        made = tf.export(fetches, x, tmp_path, session=session, kind="object")
        expected = session.run(fetches, {x: values})
    for got, wanted in zip(call(made, [values], expected, [20, 5, 20, 20, 5, 5], range(6)), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    header = made.files["header"].read_text()
    assert "of which the first" in header and "int32_t *" in header


@needs_compiler
def test_a_threshold_that_is_none_is_a_status(tmp_path):
    boxes, scores, most = tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [], name="most")
    chosen = tf.image.non_max_suppression(boxes, scores, 2, most, name="pick")
    with tf.Session() as session:
        model = Loaded(tf.export(chosen, [boxes, scores, most], tmp_path, session=session, kind="object"))
    arrays = [*some_boxes(0, 3), np.float32([1.5]), np.zeros(2, np.int32), np.zeros((), np.int32)]
    assert "pick" in model.message(model.status("run", arrays))


def refused(tmp_path, fetches, feeds, **options):
    with tf.Session() as session, pytest.raises((CannotExport, tf.errors.InvalidArgumentError)) as caught:
        tf.export(fetches, feeds, tmp_path, session=session, kind="object", **options)
    return str(caught.value)


def test_what_would_take_the_padding_for_values_is_refused(tmp_path):
    x = tf.placeholder(tf.float32, [5, 4], name="x")
    kept, others = tf.boolean_mask(x, x[:, 0] > 0), tf.boolean_mask(x, x[:, 1] > 0)
    for name, tensor in [("total", tf.reduce_sum(kept, name="total")), ("joined", tf.concat([kept, others], 0, name="joined")),
                         ("turned", tf.transpose(kept, name="turned")), ("both", tf.add(kept, others, name="both")),
                         ("column", tf.add(kept[:, :1], tf.ones([5, 1]), name="column")), ("flat", tf.reshape(kept, [-1], name="flat")),
                         ("best", tf.nn.top_k(kept[:, 0], 1, name="best")[0])]:
        message = refused(tmp_path, tensor, x)
        assert "rows of which only some count" in message and "test_counts.py" in message, name


def test_a_count_for_each_piece_of_a_batch_is_refused(tmp_path):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    assert "cut into pieces" in refused(tmp_path, tf.boolean_mask(x, x[:, 0] > 0), x, any_batch=True)


def test_a_bound_that_is_computed_in_the_step_is_refused(tmp_path):
    boxes, scores, most = tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.float32, [3]), tf.placeholder(tf.int32, [])
    assert "computed in the step" in refused(tmp_path, tf.image.non_max_suppression(boxes, scores, most), [boxes, scores, most])


_NODE = """
import { load } from "./model.js";
const model = await load();
const { chosen, chosen_count } = model.run({ boxes: [0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3], scores: [0.5, 0.9, 0.7] });
console.log(JSON.stringify([[...chosen], [...chosen_count]]));
"""


@needs_linker
@needs_program("node", "apt install nodejs")
def test_webassembly_in_node(tmp_path):
    boxes, scores = tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.float32, [3])
    with tf.Session() as session:
        tf.export({"chosen": tf.image.non_max_suppression(boxes, scores, 3)}, {"boxes": boxes, "scores": scores}, tmp_path, session=session,
                  target="wasm32")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "main.js").write_text(_NODE)
    done = subprocess.run(["node", "main.js"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[1, 2, 0], [2]]
