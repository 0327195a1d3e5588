"""The table of calls that a region runs, and the memory that it runs in.

    call_table.py      the calls, and the arrays that a caller brings along
    arena.py           where all other arrays are, planned by liveness
    instance.py        the memory of one running step
    patience.py        how often NumPy runs a region before its table does
"""
