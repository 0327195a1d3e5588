"""Vectors in LLVM IR: their arithmetic, their functions, and the loops and copies that kernels are made of."""
