"""Elementwise math, reductions, scans and segments."""
