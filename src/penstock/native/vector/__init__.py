"""Vectors in LLVM IR: their arithmetic, their functions, and the loops and copies that kernels are made of.

    vectors.py, types.py             vectors of sixteen, the plain operations of floats, and the types of elements
    functions.py, polynomials.py     exponentials, logarithms, sines, ... of vectors
    builder.py, tracing.py           the vocabulary of ``lower``; what is written with NumPy, in that vocabulary
    pieces.py, elements.py           loops and places in memory; reading and writing vectors, the last of which may be partial
    kernel.py, writer.py             how every kernel begins; all of this for kernels that are written by hand
"""
