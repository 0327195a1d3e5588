"""Runs a program in this thread, and the server of its page in another one. Both end together.

When the program has ended, the page is told how; if a page is open, the server waits for it to ask, but not for long.
"""
from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import penstock.debugger
from penstock.debugger.looking import BadRequest
from penstock.debugger.run import PATIENCE, PageDebugger
from penstock.pages.serving import announce, page_server
from penstock.session.observers import observing_runs

PAGE = Path(penstock.debugger.__file__).with_name("page")


def run_on_page(parser: argparse.ArgumentParser, options: argparse.Namespace, program: Callable[[], int],
                inside_program: Callable[[TracebackType | None], TracebackType | None]) -> int:
    """Serves the page, and runs the program; returns its exit code. What the program raises passes through, once the page knows of it.

    ``inside_program`` leaves those frames of a traceback that are the program's.
    """
    debugger = PageDebugger(_source_of(options))
    server = page_server(parser, options, "debugger", PAGE, debugger.messages(), BadRequest)
    thread = threading.Thread(target=server.serve_forever, name="penstock-debugger-page", daemon=True)
    thread.start()
    announce(server, options)
    try:
        with observing_runs(debugger):
            code = program()
        debugger.end(code, "")
        return code
    except SystemExit as end:
        debugger.end(*((end.code, "") if isinstance(end.code, int) else (0, "") if end.code is None else (1, str(end.code))))
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        debugger.end(1, "".join(traceback.format_exception(type(error), error, inside_program(error.__traceback__))))
        raise
    finally:
        if debugger.ended.is_set() and server.answered:
            debugger.seen.wait(PATIENCE)
        server.shutdown()
        server.server_close()
        debugger.stops.close()
        sys.stdout.flush()


def _source_of(options: argparse.Namespace) -> str:
    """The file of the program."""
    if options.module:
        spec = importlib.util.find_spec(options.program)
        return spec.origin or options.program if spec is not None else options.program
    return os.path.abspath(options.program)
