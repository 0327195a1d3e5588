"""Fusion: which items are computed in one loop nest, and the code of such a nest."""
