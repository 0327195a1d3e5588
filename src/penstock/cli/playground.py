"""``penstock playground``: opens a page on which small networks are trained."""
from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

import penstock.playground
from penstock.playground.messages import Playground
from penstock.playground.server import PageServer
from penstock.playground.settings import BadSettings

PAGE = Path(penstock.playground.__file__).with_name("page")


def main(argv: list[str]) -> int:
    """Serves the page until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="penstock playground", description="Train small networks on a page of your browser.",
                                     epilog="The page comes from this machine and asks nothing of any other. Its address holds a secret: "
                                            "keep it to yourself. Ctrl-C ends it.")
    parser.add_argument("--port", type=int, default=0, help="of the server, on this machine alone (default: one that is free)")
    parser.add_argument("--no-open", action="store_true", help="print the address, and open no browser")
    options = parser.parse_args(argv)
    if not 0 <= options.port < 65536:
        parser.error(f"--port {options.port}: ports go up to 65535")
    playground = Playground()
    try:
        server = PageServer(PAGE, playground.messages(), BadSettings, options.port)
    except OSError as error:
        parser.error(f"--port {options.port}: {error.strerror}")
    print(f"The playground is at {server.address}\nCtrl-C ends it.", flush=True)
    if not options.no_open:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nended")
    finally:
        server.server_close()
        playground.close()
    return 0
