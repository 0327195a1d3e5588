"""Vectors in LLVM IR: their arithmetic, their functions, and the loops and copies that kernels are made of.

    vectors.py                       vectors of sixteen, and the plain operations of floats
    functions.py, polynomials.py     exponentials, logarithms, sines, ... of vectors
    builder.py                       the vocabulary of ``lower``
    pieces.py, elements.py           loops and places in memory; reading and writing vectors, the last of which may be partial
    writer.py                        all of that for kernels that are written by hand
"""
