"""Signals: Fourier transforms, windows, frames, spectrograms."""
