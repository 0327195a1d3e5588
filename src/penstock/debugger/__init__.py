"""``penstock debug --browser``: a program in the debugger of its sessions, on a page.

``run.py`` stops the program before runs and behind nodes, and does what the page says; ``looking.py`` tells of graph, source and values;
``serving.py`` runs the program beside the page's server. How a step is stopped: ``debug/tfdbg/stops.py``.
"""
