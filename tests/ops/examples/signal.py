"""Examples of Fourier transforms."""
import numpy as np

from support.examples import example, normal


def spectrum(*extents):
    """Complex numbers."""
    return (normal(*extents) + 1j * normal(*extents)).astype(np.complex64)


for _name, _extents in (("FFT", (2, 5)), ("FFT2D", (2, 3, 4)), ("FFT3D", (2, 3, 2))):
    example(_name, spectrum(*_extents))
    example("I" + _name, spectrum(*_extents))
for _suffix, _lengths in (("", [6]), ("", [5]), ("2D", [3, 4]), ("3D", [2, 3, 5])):
    example("RFFT" + _suffix, normal(2, *_lengths).astype(np.float32), np.array(_lengths, np.int32), grad_inputs=(0,), tolerance=1e-2)
    example("IRFFT" + _suffix, spectrum(2, *_lengths[:-1], _lengths[-1] // 2 + 1), np.array(_lengths, np.int32), grad_inputs=(0,), tolerance=1e-2)
