"""The playground in a real browser: `make browser`."""
from __future__ import annotations

import re

import pytest

from support.browser import SLOW, open_page, screenshots, served

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def address():
    with served("playground", "--no-open") as (address, _):
        yield address


def open_board(page, address, state=""):
    page.goto("about:blank")
    page.goto(f"{address}#{state}")
    page.wait_for_function("document.querySelectorAll('.neuron').length > 0 && !document.body.classList.contains('busy')")


def loss(page, which="train"):
    return float(page.locator(f"#{which}-loss").inner_text())


def steps(page):
    return int(page.locator("#count").inner_text().replace(",", ""))


def wait_idle(page):
    page.wait_for_function("!document.body.classList.contains('busy')")


def test_the_spiral_is_learned(page, address):
    """A network that is built by hand learns the spiral, and no request leaves the machine. (On an idle machine it is drawn 30 times a second.)"""
    open_board(page, address)
    page.get_by_label("Spiral").check()
    wait_idle(page)
    for name in ("sin x", "sin y"):
        page.get_by_label(f"Feature {name}").click()
        wait_idle(page)
    for _ in range(4):
        page.get_by_label("More neurons in layer 1").click()
        wait_idle(page)
    for _ in range(4):
        page.get_by_label("More neurons in layer 2").click()
        wait_idle(page)
    assert page.locator(".neuron").count() == 8 + 6 + 1
    page.get_by_label("Optimizer").select_option("adam")
    wait_idle(page)
    page.get_by_label("Learning rate").select_option("0.003")
    wait_idle(page)
    page.get_by_label("Play", exact=True).click()
    page.wait_for_function("['train-loss', 'test-loss'].every(id => Number(document.getElementById(id).textContent) < 0.05)")
    page.wait_for_function("Number(document.body.dataset.frames) > 3")
    page.get_by_label("Pause").click()
    assert all(url.startswith(address) for url in page.asked)


def test_a_weight_is_edited_and_the_address_gives_the_same_board(page, address, browser, tmp_path):
    open_board(page, address, "data=xor&layers=3&seed=5")
    page.get_by_label("One step").click()
    page.wait_for_function("document.getElementById('count').textContent === '1'")
    before = loss(page)
    page.locator("[data-neuron='0.1']").click()
    field = page.get_by_label("from x", exact=True)
    field.fill("2.5")
    field.press("Enter")
    page.wait_for_function(f"Number(document.getElementById('train-loss').textContent) !== {before}")
    field.press("Escape")
    for _ in range(3):
        page.get_by_label("One step").click()
    page.wait_for_function("document.getElementById('count').textContent === '4'")
    page.locator("#share").click()
    page.locator("#share").get_by_text("Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "changes=1:w0.0.1:2.5" in copied and "step=4" in copied
    with open_page(browser, tmp_path, "playground_shared", bypass_csp=True) as other:
        other.goto(copied)
        other.wait_for_function("document.getElementById('count').textContent === '4'")
        assert [loss(other, which) for which in ("train", "test")] == [loss(page, which) for which in ("train", "test")]
        assert weights(other) == weights(page)


def weights(page):
    page.locator("[data-neuron='0.1']").click()
    return page.locator("#editor input").evaluate_all("inputs => inputs.map(input => input.value)")


def test_a_line_tells_its_weight(page, address):
    open_board(page, address, "layers=2")
    line = page.locator("[data-weight='w1.0.0']")
    box = line.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert re.search(r"neuron 1 → the output: -?\d", page.locator("#tip").inner_text())
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#editor input:focus").get_attribute("name") == "w1.0.0"


def test_graph_kernels_and_program(page, address):
    open_board(page, address, "layers=3&data=gauss")
    page.get_by_label("Show all").click()
    page.locator("#graph .op[data-name='layer_1/MatMul']").click()
    told = page.locator("#operation")
    told.get_by_text("float32[?,3]").wait_for()
    assert "hidden_1 = tf.tanh(tf.matmul(inputs, w1) + b1)" in told.inner_text() and "MatMul" in told.inner_text()
    page.get_by_role("tab", name="Kernels").click()
    page.get_by_text(re.compile(r"operations became \d+ kernels")).wait_for()
    page.locator("#kernels .link").get_by_text("loss/sub", exact=True).first.click()
    told.get_by_text("reduce_mean", exact=False).first.wait_for()
    page.get_by_role("tab", name="Python").click()
    page.get_by_role("button", name="Copy", exact=True).click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('"""The board "gauss"') and "GradientDescentOptimizer" in copied
    assert page.locator("#program li.chosen").inner_text().strip() == "loss = 0.5 * tf.reduce_mean(tf.square(output - target))"


def test_by_keyboard_alone(page, address):
    open_board(page, address)
    page.keyboard.press("s")
    page.wait_for_function("document.getElementById('count').textContent === '1'")
    page.keyboard.press("Space")
    page.wait_for_function("Number(document.getElementById('count').textContent.replace(',', '')) > 100")
    page.keyboard.press("Space")
    page.wait_for_function("!document.body.classList.contains('playing')")
    page.keyboard.press("r")
    page.wait_for_function("document.getElementById('count').textContent === '0'")
    page.locator("[data-neuron='0.0']").focus()
    page.keyboard.press("Enter")
    assert page.locator("#editor input:focus").get_attribute("name") == "b0.0"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.neuron") == "0.0"
    page.locator("#tab-graph").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Kernels").get_attribute("aria-selected") == "true"


def test_everything_has_a_name(page, address):
    """No control without a name for screen readers."""
    open_board(page, address)
    page.locator("#graph .op").first.wait_for()
    nameless = page.evaluate("""[...document.querySelectorAll('button, input, select, [role=button], canvas[role=img]')].filter(each =>
        !(each.getAttribute('aria-label') || each.textContent.trim() || each.closest('label')?.textContent.trim())).map(each => each.outerHTML)""")
    assert nameless == []


def test_a_cluster_goes_on_when_a_worker_is_killed(page, address):
    """Real processes; a worker is killed, started again, and training goes on; another one is slowed down."""
    open_board(page, address, "data=circle&layers=4")
    page.get_by_label("How the workers train").select_option("asynchronous")
    page.get_by_role("button", name="Start the cluster").click()
    page.wait_for_function("document.querySelectorAll('.task[data-state=running]').length === 3")
    page.wait_for_function("Number(document.getElementById('count').textContent.replace(',', '')) > 100")
    page.locator(".task").filter(has_text="worker 1").get_by_role("button", name="Kill").click()
    page.locator(".task").filter(has_text="worker 1").get_by_text("started again once").wait_for()
    count = steps(page)
    page.wait_for_function(f"Number(document.getElementById('count').textContent.replace(',', '')) > {count + 50}")
    page.get_by_label("How long worker 0 pauses after each step").fill("400")
    page.locator("#cluster-timeline .bar").first.wait_for(state="attached")
    assert "variables → worker" in page.locator("#travels").inner_text()
    assert page.locator("#cluster-note").inner_text() == ""
    page.locator("#tasks").scroll_into_view_if_needed()
    page.screenshot(path=str(screenshots() / "playground_cluster.png"))
    page.get_by_role("button", name="Stop the cluster").click()
    page.get_by_role("button", name="Start the cluster").wait_for()
    assert page.locator(".task").count() == 0


@pytest.mark.parametrize("page", [{"width": 390, "height": 844, "device_scale_factor": 2, "has_touch": True}], indirect=True, ids=["phone"])
def test_on_a_phone(page, address):
    open_board(page, address, "data=spiral&features=x,y,sinx,siny&layers=8,8&optimizer=adam&step=600")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert steps(page) == 600
    page.get_by_label("One step").tap()
    page.wait_for_function("document.getElementById('count').textContent === '601'")


@pytest.mark.parametrize("page", [{"color_scheme": "dark"}], indirect=True, ids=["dark"])
def test_dark_and_light(page, address):
    open_board(page, address, "data=circle&step=400")
    look = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(look)
    page.get_by_label("Dark or light look").click()
    light = page.evaluate(look)
    assert dark != light
    page.get_by_label("Dark or light look").click()
    assert page.evaluate(look) == dark


def test_the_first_paint_comes_soon(page, address):
    open_board(page, address)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000


def test_an_address_that_says_nonsense(browser, address, tmp_path):
    with open_page(browser, tmp_path, "playground_nonsense") as page:
        page.goto(f"{address}#layers=99&data=moon")
        page.get_by_text(re.compile("is not")).wait_for()
        page.goto("about:blank")
        page.goto(f"{address}#")
        page.locator(".neuron").first.wait_for(timeout=SLOW)
