"""A region for given shapes: its nodes as items, all that becomes calls, and the table of these.

    specialisation.py       the whole of it
    scope.py                nodes as items with known shapes, and their calls
    flow.py                 loops and branches as jumps
    joining.py              results that are written side by side
    fallback.py             what NumPy has to run
"""
