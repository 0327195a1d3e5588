"""`penstock debug --browser` in a real browser: `make browser`."""
from __future__ import annotations

import textwrap

import pytest

from support.browser import nameless, served

PROGRAM = """
    import numpy as np
    import tensorflow as tf

    np.random.seed(0)
    tf.set_random_seed(1)
    images = tf.placeholder(tf.float32, [None, 12, 12, 1], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    with tf.name_scope("hidden"):
        flat = tf.reshape(images, [-1, 144])
        weights = tf.get_variable("weights", [144, 10], initializer=tf.truncated_normal_initializer(stddev=0.1))
        hidden = tf.matmul(flat, weights)


    def shrink(i, value):
        return i + 1, tf.multiply(value, 0.5, name="halved")


    _, small = tf.while_loop(lambda i, value: i < 3, shrink, [tf.constant(0), hidden])
    with tf.name_scope("loss"):
        scores = tf.nn.softmax(small)
        chosen = tf.reduce_sum(scores * tf.one_hot(labels, 10), axis=1)
        loss = -tf.reduce_mean(tf.log(chosen))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(8):
            batch = np.random.rand(16, 12, 12, 1)
            digits = np.arange(16) % 10
            if step == 5:
                digits[3] = 12  # not a digit: its probability is 0, and the logarithm of that is not finite
            _, value = sess.run([train, loss], {images: batch, labels: digits})
            print("step", step, "loss %.6f" % value)
    raise SystemExit("that was the last step")
"""


@pytest.fixture
def address(tmp_path):
    (tmp_path / "prog.py").write_text(textwrap.dedent(PROGRAM).lstrip())
    with served("debug", "--browser", "--no-open", str(tmp_path / "prog.py")) as (address, _):
        yield address


def status(page, text):
    page.locator("#status").get_by_text(text).wait_for()


def test_a_planted_nan_is_found(address, page):
    page.goto(address)
    status(page, "Stopped before the run")
    page.locator("#nan").check()
    page.locator("#go").click()
    page.locator("#found").get_by_text("NaN or infinity first in loss/Log").wait_for()
    assert "loss = -tf.reduce_mean(tf.log(chosen))" in page.locator("#found").inner_text()
    assert "Run 7" in page.locator("#run").inner_text()
    assert page.locator("#source li.current").inner_text().strip() == "loss = -tf.reduce_mean(tf.log(chosen))"
    page.locator("#operation .broken").get_by_text("-inf").wait_for()
    page.locator(".op.current[data-name='loss/Log']").wait_for(state="attached")
    page.locator("#values button").get_by_text("images:0").click()
    page.locator("#operation .images canvas").first.wait_for()
    page.locator("#operation .histogram").first.wait_for()
    page.locator("#values button").get_by_text("loss/Log:0").click()
    page.locator("#operation .broken").first.wait_for()
    page.evaluate("scrollTo(0, 0)")


def test_steps_lines_loops_and_changes(address, page):
    page.goto(address)
    status(page, "Stopped before the run")
    page.locator("#finish").click()
    status(page, "The run has ended; these are its values")
    page.keyboard.press("s")
    status(page, "Stopped before the run")
    page.get_by_text("Run 2", exact=False).first.wait_for()
    page.locator("#source li.made").filter(has_text='name="halved"').click()
    page.locator("#breakpoints").get_by_text("line prog.py:").wait_for()
    page.locator("#go").click()
    status(page, "Stopped after while/add")
    page.locator("#go").click()
    status(page, "Stopped after while/halved")
    assert page.locator("#inside").inner_text() == "inside the loop, iteration 0"
    page.locator(".op[data-name='while/halved']").wait_for(state="attached")
    page.get_by_label("Another value for while/halved:0").fill("0")
    page.get_by_role("button", name="Change").click()
    page.get_by_text("The program goes on with this value.").wait_for()
    assert float(page.locator("#operation .value td").first.inner_text()) == 0  # what is shown is what it goes on with
    page.locator("#step").click()
    page.wait_for_function("!document.getElementById('status').textContent.includes('while/halved ')")
    page.locator("#breakpoints button").click()
    page.get_by_text("None. Choose an operation").wait_for()
    page.locator("#go").click()
    page.get_by_text("that was the last step").wait_for()


def test_a_breakpoint_on_a_node(address, page):
    """Set and taken away where the node is drawn; the program stops behind it in every run, and nowhere else."""
    page.goto(address)
    status(page, "Stopped before the run")
    assert page.locator("#breakpoint").is_hidden()
    page.locator("#finish").click()
    status(page, "The run has ended")
    page.locator("#go").focus()
    page.keyboard.press("s")
    page.get_by_text("Run 2", exact=False).first.wait_for()
    box = page.locator("#graph .op[data-name='hidden/MatMul']")
    box.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Break here").click()
    page.locator("#breakpoints").get_by_text("node hidden/MatMul").wait_for()
    page.locator("#graph .op.stops[data-name='hidden/MatMul']").wait_for()
    for run in (2, 3):
        page.locator("#go").click()
        status(page, "Stopped after hidden/MatMul")
        page.get_by_text(f"Run {run}:", exact=False).first.wait_for()
        assert page.locator("#source li.current").inner_text().strip() == "hidden = tf.matmul(flat, weights)"
    page.locator("#operation").get_by_text("[16,10], from").wait_for()
    page.get_by_role("button", name="Do not break here").click()
    page.get_by_text("None. Choose an operation").wait_for()
    assert page.locator("#graph .op.stops").count() == 0
    page.locator("#go").click()
    page.get_by_text("that was the last step").wait_for()


def test_a_program_that_fails_shows_its_traceback(page, tmp_path):
    """And nothing but its own: not how the debugger came to run it."""
    (tmp_path / "prog.py").write_text("import penstock as tf\ntf.Session().run(tf.constant(1.0))\nraise ValueError('spam')\n")
    with served("debug", "--browser", "--no-open", str(tmp_path / "prog.py")) as (address, process):
        page.goto(address)
        status(page, "Stopped before the run")
        page.locator("#go").click()
        status(page, "The program has failed")
        lines = page.locator("#trouble").inner_text().splitlines()
        assert lines[0].startswith("Traceback") and f'"{tmp_path / "prog.py"}", line 3' in lines[1] and lines[-1] == "ValueError: spam"
        assert process.wait(60) == 1


@pytest.mark.parametrize("page", [{"width": 390, "height": 844, "device_scale_factor": 2, "color_scheme": "dark"}], indirect=True, ids=["phone"])
def test_on_a_phone(address, page):
    page.goto(address)
    status(page, "Stopped before the run")
    page.locator("#finish").click()
    status(page, "The run has ended")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert nameless(page) == []
