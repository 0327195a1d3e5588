"""Kernels of ops that move, index, window, sort or draw elements."""
