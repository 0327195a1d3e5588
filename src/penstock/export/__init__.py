"""Models that leave Python: compiled ahead of time by the same compiler, for this machine or another one.

    source.py       a SavedModel, a frozen graph or the tensors of a session, as entry points
    freezing.py     the program of an entry point: variables that nothing writes are constants
    tables.py       its tables of native calls, one for each batch size; calls over constants are made now
    quantising.py   weights as 8-bit numbers, per channel
    memory.py       where everything is: in the memory of a model, and in its weights
    runtime.py      what walks the tables, as LLVM IR: init, and a function per entry point
    targets.py      machines that code can be made for
    objects.py      all kernels and the runtime as one object file
    linking.py      shared libraries and WebAssembly modules, by ``ziglang``
    threads.py      threads that help a step
    header.py, javascript.py   what stands beside the code: a C header, a loader
    model.py        all of it: ``penstock.export``
"""
