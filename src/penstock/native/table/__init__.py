"""The table of calls that a region runs, and the memory that it runs in.

    call_table.py      the calls, and the arrays that a caller brings along
    arena.py           where all other arrays are, planned by liveness
    instance.py        the memory of one running step
    patience.py        how much NumPy does of a region before its table takes over
"""
