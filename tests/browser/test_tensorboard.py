"""TensorBoard in a real browser shows scalars, histograms, images, the graph with devices, and run statistics: `make browser`."""
from __future__ import annotations

import re

import pytest

from support.board import tensorboard, write_log
from support.browser import SLOW

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("log"))
    write_log(folder)
    with tensorboard(folder) as board:
        yield board.address


def test_scalars(plain_page, address):
    page = plain_page
    page.goto(f"{address}/#scalars")
    page.get_by_text("loss", exact=True).first.wait_for()
    page.locator("vz-line-chart2 svg text").first.wait_for(state="attached")
    line = page.locator("vz-line-chart2 .scatter-plot, vz-line-chart2 .line-plot path").last.element_handle()
    page.wait_for_function("line => line.getBoundingClientRect().width > 50", arg=line)


def test_histograms(plain_page, address):
    page = plain_page
    page.goto(f"{address}/#histograms")
    page.get_by_text("activations", exact=True).first.wait_for()
    page.locator("tf-histogram-timeseries, vz-histogram-timeseries, tb-histogram").first.wait_for()


def test_images(plain_page, address):
    page = plain_page
    page.goto(f"{address}/#images")
    picture = page.locator("tf-image-loader img, tf-image-dashboard img").first
    picture.wait_for()
    page.wait_for_function("element => element.complete && element.naturalWidth === 64", arg=picture.element_handle())


def test_run_statistics(plain_page, address):
    """The tag of a traced step: nodes are coloured by how long they took, and by their memory."""
    page = plain_page
    page.goto(f"{address}/#graphs&run=.")
    page.locator("tf-graph-scene svg g.node").first.wait_for(state="attached")
    page.locator("tf-graph-controls paper-dropdown-menu").nth(1).click()
    page.locator("tf-graph-controls paper-item").get_by_text("step 2").first.click()
    legend, plain = page.locator("tf-graph-controls"), _colour(page)
    for kind, longest in (("Memory", r"^\s*[1-9][\d.]* \wB\s*$"), ("Compute time", r"^\s*[1-9][\d.]* [µm]?s\s*$")):
        legend.locator("paper-radio-button").get_by_text(kind).click()
        legend.get_by_text(re.compile(longest)).first.wait_for()
    for _ in range(SLOW // 100):
        if _colour(page) != plain:
            return
        page.wait_for_timeout(100)
    pytest.fail(f"the layer stays {plain}")


def _colour(page):
    return page.locator("tf-graph-scene g.node[data-name=layer] rect.nodecolortarget").first.evaluate("node => getComputedStyle(node).fill")


def test_the_graph_with_devices(plain_page, address):
    page = plain_page
    page.goto(f"{address}/#graphs&run=.")
    page.locator("text=layer").first.wait_for(state="attached")
    page.locator("tf-graph-scene svg g.node").first.wait_for(state="attached")
    names = page.locator("tf-graph-scene svg g.node").evaluate_all("nodes => nodes.map(node => node.getAttribute('data-name'))")
    assert {"x", "layer"} <= set(names)
    page.get_by_text("Device", exact=True).first.click()
    page.get_by_text("CPU:1", exact=False).first.wait_for()
