"""What Python runs when it starts, in the processes that a program of ``penstock run`` starts: see ``penstock/cli/children.py``.

Any Python may come by, also an old one, or one of an environment without Penstock: it goes on as if this file were not there.
"""
import os
import sys


def _run_the_hidden_one():
    """The environment's own ``sitecustomize``, which this file hides."""
    folder, this = os.path.dirname(os.path.abspath(__file__)), sys.modules.pop(__name__)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != folder]
    try:
        import sitecustomize  # noqa: F401
    except ImportError:  # it has none
        sys.modules[__name__] = this


_run_the_hidden_one()
try:
    from penstock.cli.children import begin
except ImportError:  # an environment without Penstock
    begin = None
if begin:
    begin()
