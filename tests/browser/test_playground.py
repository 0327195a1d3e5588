"""The playground in a real browser: `make browser`."""
from __future__ import annotations

import re
from itertools import pairwise

import pytest

from support.browser import SLOW, nameless, open_page, screenshots, served, told_to_readers

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
    accent = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent')")
    assert accent in line_colours(page)
    page.mouse.move(1, 1)
    assert accent not in line_colours(page)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#editor input:focus").get_attribute("name") == "w1.0.0"


def line_colours(page):
    """The colours of the picture's pixels, as #rrggbb."""
    return set(page.evaluate("""(() => { const canvas = document.querySelector('canvas.lines'), {width, height} = canvas;
        const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
        const hex = (each, shift) => (each >>> shift & 255).toString(16).padStart(2, '0');
        return [...new Set(pixels)].map(each => '#' + [0, 8, 16].map(shift => hex(each, shift)).join('')); })()"""))


def test_neurons_show_their_maps(page, address):
    """In the place of the button, and in the colours of what the neuron tells: one that is always 1 is of one colour."""
    open_board(page, address, "layers=2&activation=tanh")
    middle = """(() => { const box = document.querySelector("[data-neuron='0.0']").getBoundingClientRect();
        const canvas = document.querySelector('canvas.lines'), origin = canvas.getBoundingClientRect();
        const scale = canvas.width / origin.width, at = side => Math.round(side * scale);
        const {data} = canvas.getContext('2d').getImageData(at(box.x - origin.x), at(box.y - origin.y), at(box.width), at(box.height));
        const colour = (x, y) => [...data.slice(4 * (at(y) * at(box.width) + at(x)), 4 * (at(y) * at(box.width) + at(x)) + 4)].join();
        return [colour(10, 10), colour(box.width - 10, box.height - 10)]; })()"""
    one, other = page.evaluate(middle)
    assert one != other and one.endswith(",255")
    page.locator("[data-neuron='0.0']").click()
    for label in ("from x", "from y"):
        page.get_by_label(label, exact=True).fill("0")
        page.get_by_label(label, exact=True).press("Enter")
    page.get_by_label("bias", exact=True).fill("9")
    page.get_by_label("bias", exact=True).press("Enter")
    page.wait_for_function("location.hash.includes('b0.0:9')")
    one, other = page.evaluate(middle)
    assert one == other


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


def test_the_focus_stays_where_it_is(page, address):
    """Controls that are drawn anew, since the board is another one, keep the focus: keys can be pressed again and again."""
    open_board(page, address, "layers=6")
    page.get_by_label("More neurons in layer 1").focus()
    for count in (7, 8):
        page.keyboard.press("Enter")
        page.wait_for_function(f"document.querySelectorAll('.neuron').length === {count + 1}")
        wait_idle(page)
    focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.name"
    assert page.evaluate(focused) == "Fewer neurons in layer 1"  # there are no more than 8
    page.locator("[name=activation]").focus()
    page.locator("[name=activation]").select_option("relu")
    page.wait_for_function("location.hash.includes('relu')")
    wait_idle(page)
    assert page.evaluate(focused) == "activation"
    page.get_by_label("Circle").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.hash.includes('xor')")
    wait_idle(page)
    assert page.evaluate("document.activeElement.value") == "xor"
    page.get_by_label("More workers").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.get_by_text("4 workers").wait_for()


def test_everything_has_a_name(page, address):
    """No control without a name for screen readers, as the browser tells them of it; the values of sliders have their units."""
    open_board(page, address)
    page.locator("#graph .op").first.wait_for()
    assert nameless(page) == []
    assert [name for role, name in told_to_readers(page) if role == "slider"] == ["Training data", "Noise", "Batch size"]
    assert page.get_by_role("slider", name="Training data").get_attribute("aria-valuetext") == "50%"


def test_the_graph_is_one_stop_of_the_tab_key(page, address):
    """Arrow keys go from operation to operation, and Tab leaves the picture."""
    open_board(page, address, "layers=2")
    page.locator("#graph .op").first.wait_for()
    page.get_by_role("tab", name="Graph").focus()
    focused = "document.activeElement.getAttribute('aria-label')"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Placeholder position"
    page.keyboard.press("End")
    last = page.evaluate(focused)
    page.keyboard.press("ArrowLeft")
    before = page.evaluate(focused)
    assert last == "NoOp train" and before.startswith("ApplyGradientDescent train/")
    page.keyboard.press("Enter")
    page.locator("#operation h3").get_by_text("train/update_output", exact=False).wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Larger"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(focused) == before


def test_a_step_waits_for_the_board_that_was_chosen(page, address):
    open_board(page, address, "layers=2")
    page.evaluate("""() => { document.querySelector("[aria-label='More neurons in layer 1']").click(); document.getElementById("step").click(); }""")
    page.wait_for_function("document.getElementById('count').textContent === '1'")
    assert page.locator(".neuron").count() == 4 and page.locator("#trouble").inner_text() == ""


def test_a_board_is_replaced_when_what_was_asked_about_it_is_answered(page, address):
    """The question for its graph is held back; the server would refuse it if the next board were there before."""
    held = []
    page.route("**/graph", lambda route: route.continue_() if held else held.append(route))
    page.goto(f"{address}#layers=2")
    page.locator("[aria-label='More neurons in layer 1']").click()
    page.wait_for_timeout(300)
    held[0].continue_()
    page.wait_for_function("document.querySelectorAll('.neuron').length === 4")
    assert page.locator("#trouble").inner_text() == ""


def test_no_board_goes_further_than_an_address_may_say(page, address):
    """The last epoch is cut off at the most steps that there are; the address of such a board can be opened."""
    open_board(page, address, "layers=&step=49990")
    page.get_by_label("Play", exact=True).click()
    page.wait_for_function("document.getElementById('count').textContent === '50,000' && !document.body.classList.contains('playing')")
    page.get_by_label("One step").click()
    page.wait_for_function("location.hash.includes('step=50000')")
    assert steps(page) == 50_000


def test_a_cluster_goes_on_when_a_worker_is_killed(page, address):
    """Real processes; a worker is killed, started again, and training goes on; another one is slowed down."""
    open_board(page, address, "data=circle&layers=4")
    page.get_by_label("How the workers train").select_option("asynchronous")
    page.get_by_role("button", name="Start the cluster").click()
    page.wait_for_function("document.querySelectorAll('.task[data-state=running]').length === 3")
    page.wait_for_function("Number(document.getElementById('count').textContent.replace(',', '')) > 100")
    page.locator(".task").filter(has_text="worker 1").get_by_role("button", name="Kill").click()
    page.get_by_text("worker 1 is away: the others go on.").wait_for()
    page.locator(".task").filter(has_text="worker 1").get_by_text("started again once").wait_for()
    page.get_by_label("Play", exact=True).focus()  # what would train the board beside the cluster is out of reach, by keys too
    assert page.evaluate("document.activeElement.id") != "play" and page.locator("#cluster-mode").evaluate("each => each.inert")
    page.wait_for_function("document.querySelectorAll('.task[data-state=running]').length === 3")
    count = steps(page)
    page.wait_for_function(f"Number(document.getElementById('count').textContent.replace(',', '')) > {count + 50}")
    page.get_by_label("How long worker 0 pauses after each step").fill("400")
    page.locator("#cluster-timeline .bar").first.wait_for(state="attached")
    assert nameless(page) == []
    assert "variables → worker" in page.locator("#travels").inner_text()
    assert page.locator("#cluster-note").inner_text() == ""
    page.locator("[data-neuron='0.0']").click()
    page.get_by_label("bias", exact=True).fill("3")
    page.get_by_label("bias", exact=True).press("Enter")
    page.get_by_text("Stop the cluster to change the board.").wait_for()
    page.locator("#tasks").scroll_into_view_if_needed()
    page.screenshot(path=str(screenshots() / "playground_cluster.png"))
    page.get_by_role("button", name="Stop the cluster").click()
    page.get_by_role("button", name="Start the cluster").wait_for()
    assert page.locator(".task").count() == 0


def test_a_cluster_goes_on_when_a_parameter_server_is_killed(page, address):
    """The second of two: all workers wait, the ps is started again, and training goes on from the last checkpoint."""
    open_board(page, address, "data=circle&layers=4")
    page.get_by_label("More ps").click()
    page.get_by_label("How the workers train").select_option("synchronous")
    page.get_by_role("button", name="Start the cluster").click()
    page.wait_for_function("Number(document.getElementById('count').textContent.replace(',', '')) > 50")
    page.locator(".task").filter(has_text="ps 1").get_by_role("button", name="Kill").click()
    page.get_by_text("ps 1 is away: all workers wait, then the chief restores the last checkpoint.").wait_for()
    page.locator(".task").filter(has_text="ps 1").get_by_text("started again once").wait_for()
    page.wait_for_function("document.getElementById('cluster-note').textContent === ''")
    assert page.locator(".task[data-state=running]").count() == 4
    count = steps(page)
    page.wait_for_function(f"Number(document.getElementById('count').textContent.replace(',', '')) > {count + 20}")
    page.get_by_role("button", name="Stop the cluster").click()
    page.get_by_role("button", name="Start the cluster").wait_for()


def test_a_deep_network_has_room(page, address):
    """The buttons above six layers of eight neurons do not cover each other; a line of text is left out for that."""
    open_board(page, address, "layers=8,8,8,8,8,8")
    boxes = [header.bounding_box() for header in page.locator(".header").all()]
    assert len(boxes) == 6 and all(one["x"] + one["width"] <= other["x"] for one, other in pairwise(boxes))


@pytest.mark.parametrize("page", [{"width": 1920, "height": 1080}], indirect=True, ids=["wide"])
def test_on_a_wide_screen(page, address):
    """The step stands beside the network, and the cluster below it."""
    open_board(page, address)
    board, cluster, step = (page.locator(each).bounding_box() for each in (".board", ".cluster", ".below"))
    assert step["y"] == board["y"] and step["x"] >= board["x"] + board["width"]
    assert cluster["x"] == board["x"] and 0 < cluster["y"] - board["y"] - board["height"] < 40


def test_the_graph_moves_to_what_has_the_focus(page, address):
    open_board(page, address, "layers=8,8,8")
    picture = page.locator("#graph .picture")
    picture.wait_for()
    first = page.locator("#graph .op").first
    assert not is_within(first.bounding_box(), picture.bounding_box())
    first.focus()
    assert is_within(first.bounding_box(), picture.bounding_box())


def is_within(inner, outer):
    return all(outer[side] <= inner[side] and inner[side] + inner[size] <= outer[side] + outer[size]
               for side, size in (("x", "width"), ("y", "height")))


def test_the_wheel_scrolls_and_zooms_with_ctrl(page, address):
    """As on any page: the picture scrolls, then the page; with ctrl it is zoomed."""
    open_board(page, address, "layers=8,8,8")
    picture = page.locator("#graph .picture")
    picture.scroll_into_view_if_needed()
    transform = "document.querySelector('#graph .picture > g').getAttribute('transform')"
    scale = "scale" + page.evaluate(transform).partition("scale")[2]
    box = picture.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    before = page.evaluate(transform)
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"{transform} !== '{before}'")
    assert page.evaluate(transform).endswith(scale)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(f"!{transform}.endsWith('{scale}')")
    for _ in range(12):
        page.mouse.wheel(0, -3000)
    page.wait_for_function("scrollY === 0")


@pytest.mark.parametrize("page", [{"width": 390, "height": 844, "device_scale_factor": 2, "has_touch": True}], indirect=True, ids=["phone"])
def test_on_a_phone(page, address):
    open_board(page, address, "data=spiral&features=x,y,sinx,siny&layers=8,8&optimizer=adam&step=600")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    name, tools, transport = (page.locator(f"header {each}").bounding_box() for each in ("h1", ".tools", ".transport"))
    assert tools["y"] < name["y"] + name["height"] and tools["x"] >= name["x"] + name["width"]  # in one line, and the buttons below
    assert transport["y"] >= tools["y"] + tools["height"] and page.locator("h1").evaluate("each => each.scrollWidth <= each.clientWidth")
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


def test_the_first_paint_waits_for_little(page, address):
    """For style sheets alone, not for scripts or the server's session, and all of it is small. (How long it takes: benchmarks/pages.py.)"""
    open_board(page, address)
    loaded = page.evaluate("performance.getEntriesByType('resource').map(each => [each.name, each.renderBlockingStatus, each.decodedBodySize])")
    files = [each for each in loaded if each[0].endswith((".css", ".js", ".svg"))]
    assert files and all(name.endswith(".css") for name, status, _ in files if status == "blocking")
    assert sum(size for *_, size in files) < 200_000
    assert "Network" in page.evaluate("fetch(location.pathname).then(answer => answer.text())")  # what is painted first needs no script


@pytest.mark.parametrize("nonsense", ["layers=99&data=moon", "data=%E0%A4%A", "step=99999999", "changes=0:w9.9.9:1"])
def test_an_address_that_says_nonsense(browser, address, tmp_path, nonsense):
    """A plain board, and what is wrong; on an open page the board stays."""
    with open_page(browser, tmp_path, "playground_nonsense") as page:
        page.goto(f"{address}#{nonsense}")
        page.get_by_text(re.compile("is not|there is no")).wait_for()
        page.locator(".neuron").first.wait_for(timeout=SLOW)
        page.goto(f"{address}#layers=3,3,3")
        page.get_by_text("3 hidden layers").wait_for()
        page.goto(f"{address}#{nonsense}")
        page.get_by_text(re.compile("is not|there is no")).wait_for()
        page.get_by_label("Fewer hidden layers").click()
        page.get_by_text("2 hidden layers").wait_for()
        assert page.locator(".neuron").count() == 7 and "#layers=3,3" in page.url
