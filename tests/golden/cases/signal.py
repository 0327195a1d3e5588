"""tf.signal and tf.spectral: transforms with their gradients, lengths that are inferred or given, windows, frames, spectrograms, sounds."""
import struct


def _wave(tf, np, *shape):
    return tf.constant(np.cos(np.arange(np.prod(shape)) ** 1.3 * 0.4).reshape(shape), tf.float32)


def _complex(tf, np, *shape):
    angles = np.arange(np.prod(shape)).reshape(shape)
    return tf.constant(np.cos(angles * 0.7) + 1j * np.sin(angles ** 1.2), tf.complex64)


def _with_gradient(tf, result, x):
    weights = tf.cast(tf.reshape(tf.range(tf.size(result)), tf.shape(result)), tf.float32) * 0.1 + 0.5
    loss = tf.reduce_sum(tf.abs(result) * weights) if result.dtype.is_complex else tf.reduce_sum(result * weights)
    return [result, tf.identity(tf.gradients(loss, x)[0], name="gradient")]


def transforms(tf, np):
    def case(call, make):
        def build():
            x = make()
            return _with_gradient(tf, call(x), x)
        return build

    for name, rank in [("fft", 1), ("ifft", 1), ("fft2d", 2), ("ifft2d", 2), ("fft3d", 3), ("ifft3d", 3)]:
        for shape in [(4, 3, 5), (2, 2, 4, 6)][:1 if rank < 3 else 2]:
            yield "{} {}".format(name, shape), case(getattr(tf.signal, name), lambda shape=shape: _complex(tf, np, *shape))
    for name, rank in [("rfft", 1), ("rfft2d", 2)]:
        for lengths in (None, [8, 6], [8, 7]):
            more = {} if lengths is None else {"fft_length": lengths[-rank:]}
            yield "{} {}".format(name, lengths), case(
                lambda x, f=getattr(tf.signal, name), more=more: f(x, **more), lambda n=lengths or [8, 6]: _wave(tf, np, 2, *n))
    for name, rank in [("irfft", 1), ("irfft2d", 2)]:
        for lengths in ([4, 6], [4, 7]):
            yield "{} {}".format(name, lengths), case(
                lambda x, f=getattr(tf.signal, name), n=lengths[-rank:]: f(x, n), lambda: _complex(tf, np, 4, 4))
        yield name + " inferred", case(lambda x, f=getattr(tf.signal, name): f(x), lambda: _complex(tf, np, 4, 5))
    yield "rfft3d", lambda: tf.signal.rfft3d(_wave(tf, np, 2, 3, 4))
    yield "irfft3d", lambda: tf.signal.irfft3d(_complex(tf, np, 2, 3, 4))
    yield "rfft padded", lambda: tf.signal.rfft(_wave(tf, np, 2, 5), [8])
    yield "rfft cut", lambda: tf.signal.rfft(_wave(tf, np, 2, 9), [6])
    yield "irfft padded", lambda: tf.signal.irfft(_complex(tf, np, 2, 3), [8])
    yield "rfft of integers", lambda: tf.signal.rfft([1, 2, 3])
    yield "fft of a scalar", lambda: tf.signal.fft(tf.constant(1j, tf.complex64))
    yield "rfft of nothing", lambda: tf.signal.rfft(tf.zeros([0, 4]))
    yield "fft of doubles", lambda: tf.signal.fft(tf.cast(_complex(tf, np, 3, 4), tf.complex128))

    def unknown():
        x = tf.placeholder_with_default(_wave(tf, np, 2, 6), [None, None])
        spectrum = tf.signal.rfft(x)
        return [spectrum, tf.signal.irfft(spectrum), tf.signal.rfft(x, [8])]
    yield "rfft of unknown extents", unknown
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 1)):
            yield "{} {}".format(name, axes), lambda f=getattr(tf.signal, name), axes=axes: f(_wave(tf, np, 3, 4), axes)


def cosines(tf, np):
    for name in ("dct", "idct"):
        for kind in (1, 2, 3):
            for norm in (None, "ortho"):
                if kind == 1 and norm:
                    continue
                for n in (None, 3, 9):
                    def case(f=getattr(tf.signal, name), kind=kind, norm=norm, n=n):
                        return tf.identity(f(_wave(tf, np, 2, 6), type=kind, n=n, norm=norm), name="result")
                    yield "{} {} {} {}".format(name, kind, norm, n), case

    def gradient():
        x = _wave(tf, np, 2, 6)
        return _with_gradient(tf, tf.signal.dct(x, norm="ortho"), x)
    yield "dct gradient", gradient
    x = np.ones([2, 3], np.float32)
    yield "dct of another axis", lambda: tf.signal.dct(tf.constant(x), axis=0)
    yield "dct of type 4", lambda: tf.signal.dct(tf.constant(x), type=4)
    yield "dct 1 ortho", lambda: tf.signal.dct(tf.constant(x), type=1, norm="ortho")
    yield "dct n", lambda: tf.signal.dct(tf.constant(x), n=0)
    yield "dct norm", lambda: tf.signal.dct(tf.constant(x), norm="x")


def frames(tf, np):
    signal = tf.signal
    for name in ("hann_window", "hamming_window"):
        for length in (1, 2, 5, 8):
            for periodic in (True, False):
                yield "{} {} {}".format(name, length, periodic), lambda f=getattr(signal, name), n=length, p=periodic: f(n, periodic=p)
        yield name + " double", lambda f=getattr(signal, name): f(4, dtype=tf.float64)
        yield name + " unknown", lambda f=getattr(signal, name): tf.identity(
            f(tf.placeholder_with_default(tf.constant(6), [])), name="result")
        yield name + " of integers", lambda f=getattr(signal, name): f(4, dtype=tf.int32)
    for length, step, more in [(4, 2, {}), (3, 5, {}), (4, 3, {"pad_end": True}), (6, 4, {"pad_end": True, "pad_value": -1.0}), (9, 2, {}),
                               (2, 2, {"axis": 0}), (20, 2, {})]:
        yield "frame {} {} {}".format(length, step, sorted(more)), lambda length=length, step=step, more=more: signal.frame(
            _wave(tf, np, 3, 9) if "axis" not in more else _wave(tf, np, 5, 3), length, step, **more)

    def unknown():
        x = tf.placeholder_with_default(_wave(tf, np, 2, 9), [None, None])
        return [signal.frame(x, 4, 2), signal.frame(x, tf.placeholder_with_default(tf.constant(4), []), 2)]
    yield "frame of unknown extents", unknown

    def frame_gradient():
        x = _wave(tf, np, 2, 9)
        return _with_gradient(tf, signal.frame(x, 4, 2), x)
    yield "frame gradient", frame_gradient
    for step in (1, 2, 3, 4, 5):
        def added(step=step):
            x = _wave(tf, np, 2, 3, 4)
            return _with_gradient(tf, signal.overlap_and_add(x, step), x)
        yield "overlap_and_add {}".format(step), added
    yield "overlap_and_add of a float", lambda: signal.overlap_and_add(_wave(tf, np, 3, 4), 1.5)


def spectrograms(tf, np):
    signal = tf.signal

    def round_trip():
        x = _wave(tf, np, 2, 32)
        spectra = signal.stft(x, 8, 4)
        back = signal.inverse_stft(spectra, 8, 4, window_fn=signal.inverse_stft_window_fn(4))
        return _with_gradient(tf, back, x) + [spectra]
    yield "stft and back", round_trip
    yield "stft", lambda: signal.stft(_wave(tf, np, 30), 7, 3, fft_length=16, window_fn=signal.hamming_window, pad_end=True)
    yield "stft without a window", lambda: signal.stft(_wave(tf, np, 30), 6, 3, window_fn=None)
    yield "inverse_stft", lambda: signal.inverse_stft(_complex(tf, np, 4, 9), 12, 5, fft_length=16)
    yield "inverse_stft short", lambda: signal.inverse_stft(_complex(tf, np, 4, 3), 6, 2, fft_length=4, window_fn=None)
    yield "linear_to_mel_weight_matrix", lambda: signal.linear_to_mel_weight_matrix(8, 33, 16000, 100.0, 7000.0)
    yield "linear_to_mel_weight_matrix double", lambda: signal.linear_to_mel_weight_matrix(4, 17, tf.constant(8000.0), dtype=tf.float64)
    for more in ({"num_mel_bins": 0}, {"sample_rate": -1.0}, {"lower_edge_hertz": -1.0}, {"lower_edge_hertz": 4000.0},
                 {"upper_edge_hertz": 5000.0}):
        yield "linear_to_mel_weight_matrix {}".format(sorted(more.items(), key=str)), lambda more=more: signal.linear_to_mel_weight_matrix(**more)
    yield "mfccs", lambda: signal.mfccs_from_log_mel_spectrograms(_wave(tf, np, 2, 3, 8))


def _file(np, channels, count, bits=16, encoding=1, more=b""):
    data = (np.sin(np.arange(count * channels) * 0.3) * 12000).astype("<i2").tobytes()
    layout = struct.pack("<IHHIIHH", 16, encoding, channels, 8000, 16000 * channels, 2 * channels, bits)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + layout + more + b"data" + struct.pack("<I", len(data)) + data


def sounds(tf, np):
    chunk = b"LIST" + struct.pack("<I", 4) + b"abcd"
    for name, content, more in [
            ("one channel", _file(np, 1, 10), {}), ("fewer", _file(np, 2, 10), {"desired_channels": 1, "desired_samples": 4}),
            ("more", _file(np, 2, 5), {"desired_channels": 3, "desired_samples": 8}), ("another chunk", _file(np, 1, 6, more=chunk), {}),
            ("8 bits", _file(np, 1, 6, bits=8), {}), ("encoded", _file(np, 1, 6, encoding=2), {}), ("junk", b"junk", {}), ("empty", b"", {}),
            ("cut off", _file(np, 1, 10)[:-5], {}), ("negative", _file(np, 1, 10), {"desired_samples": -7})]:
        yield "decode_wav " + name, lambda content=content, more=more: list(tf.audio.decode_wav(content, **more))
    wave = [[0.5, -0.5], [1.0, -1.0], [2.0, -3.0], [1e-5, 3e-5]]
    yield "encode_wav", lambda: tf.audio.encode_wav(tf.constant(wave), 8000)
    yield "encode_wav halves", lambda: tf.audio.encode_wav(tf.constant([[0.5], [1.5], [-0.5], [-2.5]]) / 32768.0, 8000)
    yield "encode_wav of a high rate", lambda: tf.audio.encode_wav(tf.zeros([2, 2]), 2**31 - 1)
    yield "encode_wav of many channels", lambda: tf.audio.encode_wav(tf.zeros([1, 70000]), 8000)
    sound, high = _file(np, 1, 1), struct.pack("<II", 2**31 + 5, 10)
    yield "decode_wav of a high rate", lambda: list(tf.audio.decode_wav(sound.replace(struct.pack("<II", 8000, 16000), high)))
    yield "decode_wav of another rate", lambda: tf.audio.decode_wav(sound.replace(struct.pack("<I", 16000), struct.pack("<I", 16001)))[0]
    yield "decode_wav of other samples", lambda: tf.audio.decode_wav(sound.replace(b"\2\0\20\0", b"\3\0\20\0"))[0]
    yield "encode_wav empty", lambda: tf.audio.encode_wav(tf.zeros([0, 1]), 8000)
    for squared in (True, False):
        yield "spectrogram {}".format(squared), lambda squared=squared: tf.raw_ops.AudioSpectrogram(
            input=_wave(tf, np, 40, 1), window_size=12, stride=4, magnitude_squared=squared)
    for more in ({"dct_coefficient_count": 40}, {"upper_frequency_limit": 7000.0, "lower_frequency_limit": 100.0, "filterbank_channel_count": 20}):
        yield "mfcc {}".format(sorted(more)), lambda more=more: tf.raw_ops.Mfcc(
            spectrogram=tf.square(_wave(tf, np, 1, 4, 129)) + 0.1, sample_rate=16000, **more)


def cases(tf, np):
    for family in (transforms, cosines, frames, spectrograms, sounds):
        yield from family(tf, np)
