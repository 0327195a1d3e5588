"""The machine: LLVM and the cache of machine code, the driver that walks a table of calls, the threads that help, and what all of them agree on.

    abi.py                     what kernels, driver and tables agree on
    target.py, codegen.py      LLVM
    cache.py                   machine code on disk
    driver.py, team.py         what walks a table of calls, and the threads that help it
    background.py, stacks.py   compiling beside the first steps; threads with stacks that are large enough
    defects.py                 errors of the compiler itself
"""
