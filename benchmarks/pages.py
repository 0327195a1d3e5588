"""The playground in a real chromium: when it first paints, and how often it draws while it trains.

    python benchmarks/pages.py [--seconds 10]

needs playwright and a chromium, as `make browser` installs them. The first paint is counted from the moment at which the server says that it is
ready to the paint of the first content. Frames are counted by the page's own clock, for boards from small to large, at an epoch per frame.
"""
from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.browser import chromium, served

BOARDS = {"gauss, one layer of 4": "data=gauss&layers=4", "spiral, 8 and 8": "data=spiral&features=x,y,sinx,siny&layers=8,8&optimizer=adam",
          "spiral, six layers of 8": "data=spiral&features=x,y,x2,y2,xy,sinx,siny&layers=8,8,8,8,8,8&optimizer=adam"}


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of training per board")
    seconds = parser.parse_args().seconds
    with chromium() as browser:
        browser.new_page().goto("about:blank")  # the browser itself has started
        with served("playground", "--no-open") as (address, _):
            ready = time.time()
            page = browser.new_page(viewport={"width": 1400, "height": 1000}, bypass_csp=True)
            page.goto(address)
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
            paint = page.evaluate("performance.timeOrigin + performance.getEntriesByName('first-contentful-paint')[0].startTime")
            print(f"first paint {paint / 1000 - ready:.2f} s after the server is ready")
            for name, state in BOARDS.items():
                print(f"{frames_per_second(page, address, state, seconds):5.1f} frames per second: {name}")


def frames_per_second(page, address: str, state: str, seconds: float) -> float:
    """How often a board is drawn while it trains."""
    page.goto("about:blank")
    page.goto(f"{address}#{state}")
    page.wait_for_function("document.querySelectorAll('.neuron').length > 0 && !document.body.classList.contains('busy')")
    page.get_by_label("Play", exact=True).click()
    page.wait_for_timeout(2000)  # what is compiled in the background is there by then
    count = """() => new Promise(done => { let frames = 0, begin = performance.now(), last = document.getElementById('count').textContent;
        const look = () => { const now = document.getElementById('count').textContent; frames += now !== last; last = now;
            performance.now() - begin > SECONDS * 1000 ? done(1000 * frames / (performance.now() - begin)) : requestAnimationFrame(look); };
        requestAnimationFrame(look); })""".replace("SECONDS", str(seconds))
    return page.evaluate(count)


if __name__ == "__main__":
    main()
