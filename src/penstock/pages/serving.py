"""How a command serves a page: its options, the address that it prints, and its end."""
from __future__ import annotations

import argparse
import signal
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from penstock.pages.server import Message, PageServer

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
EPILOG = "The page comes from this machine and asks nothing of any other. Its address holds a secret: keep it to yourself. Ctrl-C ends it."


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """--port and --no-open."""
    parser.add_argument("--port", type=int, default=0, help="of the page's server, on this machine alone (default: one that is free)")
    parser.add_argument("--no-open", action="store_true", help="print the address of the page, and open no browser")


def page_server(parser: argparse.ArgumentParser, options: argparse.Namespace, name: str, folder: Path, messages: Mapping[str, Message],
                bad_input: type[Exception]) -> PageServer:
    """The server of a page; ends the command, with what is wrong, if its port cannot be had."""
    if not 0 <= options.port < 65536:
        parser.error(f"--port {options.port}: ports go up to 65535")
    try:
        return PageServer(name, folder, messages, bad_input, options.port, parser.prog + (" --browser" if "browser" in options else ""))
    except OSError as error:
        parser.error(f"--port {options.port}: {error.strerror}")


def announce(server: PageServer, options: argparse.Namespace) -> None:
    """Prints the address of a page, and opens it if that is wanted."""
    print(f"The {server.name} is at {server.address}\nCtrl-C ends it.", flush=True)
    if not options.no_open:
        webbrowser.open(server.address)


def serve(server: PageServer, options: argparse.Namespace) -> None:
    """Serves a page until Ctrl-C. Another signal that ends programs, or a terminal that is closed, ends it in the same way: all is cleared away."""
    for number in _ENDING:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        announce(server, options)  # Ctrl-C may come as soon as the address is read
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nended")
    finally:
        server.server_close()
