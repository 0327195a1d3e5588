"""``penstock playground``: opens a page on which small networks are trained."""
from __future__ import annotations

import argparse
from pathlib import Path

import penstock.playground
from penstock.pages.serving import EPILOG, add_page_options, page_server, serve
from penstock.playground.messages import Playground
from penstock.playground.settings import BadSettings

PAGE = Path(penstock.playground.__file__).with_name("page")


def main(argv: list[str]) -> int:
    """Serves the page until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="penstock playground", description="Train small networks on a page of your browser.", epilog=EPILOG)
    add_page_options(parser)
    options = parser.parse_args(argv)
    playground = Playground()
    try:
        serve(page_server(parser, options, "playground", PAGE, playground.messages(), BadSettings), options)
    finally:
        playground.close()
    return 0
