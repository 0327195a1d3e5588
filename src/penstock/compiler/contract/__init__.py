"""Contractions: products of matrices and convolutions, all by one packed micro-kernel."""
