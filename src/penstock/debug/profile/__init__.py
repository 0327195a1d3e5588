"""``tf.profiler``: where a graph has its parameters, its float operations, and, of a traced step, its time and memory.

    entries.py   what each operation counts            tree.py    sums over scopes, types, inputs; what of them is shown
    code.py      sums over the lines of the program    report.py  a profile as text       pprof.py   as a file for pprof
    advice.py    what takes the time                   profiler.py  the public functions
"""
