"""``penstock playground``: a page on which small networks are trained in a real session.

The settings of a board (``settings.py``) become a Python program (``program.py``), and that program is what trains (``board.py``): the page shows
its text, its graph and its kernels (``step.py``). ``pages/server.py`` hands out the page and takes its messages; ``page/`` needs no build step.
"""
