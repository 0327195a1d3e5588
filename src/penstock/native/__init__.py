"""From a program to machine code: its regions as tables of native calls.

In the order in which they work (ARCHITECTURE.md follows one graph through all of them):

    regions/                                       which nodes run together as native code
    specialise.py, scope.py, values.py             a region for given shapes: items, and values between them
    fusion/                                        items that share loops, and the loops
    emitter.py, calls.py                           all that becomes calls of kernels
    flow.py, joining.py                            loops and branches as jumps; results that are written side by side
    kernels/, contract/                            kernels that are no plain loops: moving, indexing, sorting, ...; products and convolutions
    vector/                                        the parts that kernels are written with
    target.py, cache.py                            LLVM, and machine code on disk
    table.py, driver.py, team.py                   the table of calls, what walks it, and the threads that help
    config.py                                      what the user can set
    background.py, patience.py                     compiling beside the first steps, and how many of these there are
"""
