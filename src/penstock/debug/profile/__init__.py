"""``tf.profiler``: where a graph has its parameters, its float operations, and, of a traced step, its time and memory.

    options.py   what a profile shows                      profiler.py  the public functions
    entries.py   what each operation counts                flops.py     its float operations
    tree.py      sums over scopes, types and inputs        code.py      sums over the lines of the program
    report.py    a profile as text                         protos.py    as TensorFlow's messages
    pprof.py     as a file for pprof                       log.py       what other programs read of a graph and its steps
    advice.py    what stands out in a step                 context.py   profiles of the steps inside a ``with`` block
"""
