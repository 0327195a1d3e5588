"""Shapes, slices, gathers, concatenation: ops that arrange elements."""
