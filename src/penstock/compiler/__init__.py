"""From a graph to what a step runs: the program that the fetches need, passes over it, and its regions as tables of native calls.

In the order in which they work (ARCHITECTURE.md follows one graph through all of them):

    ir.py                                          the program of a step, pruned out of the graph
    passes/                                        a program with less to do
    eligibility.py, membership.py, regions.py      which nodes run together as native code (ties.py, generators.py: special cases)
    specialise.py, scope.py, values.py             a region for given shapes: items, and values between them
    fusion/                                        items that share loops, and the loops
    emitter.py, calls.py                           all that becomes calls of kernels
    flow.py, joining.py                            loops and branches as jumps; results that are written side by side
    kernels/, contract/                            kernels that are no plain loops: moving, indexing, sorting, ...; products and convolutions
    vector/                                        the parts that kernels are written with
    target.py, cache.py                            LLVM, and machine code on disk
    table.py, driver.py, team.py                   the table of calls, what walks it, and the threads that help
    config.py, report.py                           what the user can set; what ``penstock explain`` shows
    background.py, patience.py                     compiling beside the first steps, and how many of these there are
"""
