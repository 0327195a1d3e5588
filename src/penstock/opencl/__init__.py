"""OpenCL devices as the device kind GPU: a second code generator behind the builders of ``native/``.

What an op says of itself (``lower``, ``compose``, ``native``) is written once. Regions, items, fusion and the plan of the arena are those of the
native compiler; only what writes kernels differs: OpenCL C in place of LLVM. In the order of the work:

    kind.py, host.py        the device kind: which nodes it runs, and those that the host runs for it
    region.py, table.py     a region for given shapes, and its kernels put into the device's queue
    emitter.py              what ``native`` and the fusion speak to; the families of kernels: nests, products, moves, indexing, ...
    builder.py, source.py   the vocabulary of ``lower`` as OpenCL C; the text of a kernel
    memory.py, pool.py      values and variables in the memory of a device
    queue.py, drivers.py    the queue of a device and its compiled kernels; which devices there are

Nothing here is imported, and no driver is loaded, before a session asks for its devices and pyopencl is installed.
"""
from __future__ import annotations

from penstock.opencl.kind import Gpu
from penstock.program.devices import register

register(Gpu())
