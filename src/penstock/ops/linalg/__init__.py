"""Products, decompositions and solutions of matrices."""
