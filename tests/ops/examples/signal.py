"""Examples of Fourier transforms and sounds."""
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

SOUND = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x10\0data\x08\0\0\0" + bytes(range(8))
example("DecodeWav", np.array(SOUND, object), dynamic=True)
example("DecodeWav", np.array(SOUND, object), desired_channels=1, desired_samples=3)
example("EncodeWav", np.clip(normal(5, 2), -1, 1).astype(np.float32), np.array(8000, np.int32))
example("AudioSpectrogram", normal(24, 2).astype(np.float32), window_size=8, stride=4)
example("AudioSpectrogram", normal(24, 1).astype(np.float32), window_size=6, stride=6, magnitude_squared=True)
example("Mfcc", np.square(normal(2, 3, 33)).astype(np.float32), np.array(16000, np.int32), filterbank_channel_count=10, dct_coefficient_count=4)
