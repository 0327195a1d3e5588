"""From a program to machine code: its regions as tables of native calls.

From the top down, which is the order in which they work (ARCHITECTURE.md follows one graph through all of them). Imports point down this list:

    regions/                  which nodes run together as native code
    specialise/               a region for given shapes: items, loops and branches as jumps, results that are written side by side
    table/                    the table of its calls, and the memory that they run in
    fusion/                   items that share loops, and the loops
    kernels/, contract/       kernels that are not plain loops: moving, indexing, sorting, ...; products and convolutions
    emitter.py                what all of these say to have their calls made
    items.py, calls.py        a region's nodes and edges; arrays in buffers, and calls of kernels over them
    vector/                   what kernels are written with
    machine/                  LLVM, machine code on disk, what walks a table of calls, and the threads that help
    config.py, unsupported.py what the user can set; what the compiler says where there is no native code
"""
