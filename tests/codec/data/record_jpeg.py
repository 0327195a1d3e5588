"""Records what TensorFlow 1.15.5 decodes JPEG files to: `python3.7 tests/codec/data/record_jpeg.py` writes jpeg.npz beside this file."""
from __future__ import annotations

import os

import numpy as np
import tensorflow as tf

SIZES = ((17, 33), (5, 21), (12, 3))
QUALITIES = {"edges": 10}
OPTIONS = {"default": {}, "accurate": {"dct_method": "INTEGER_ACCURATE"}, "plain": {"fancy_upscaling": False}, "gray": {"channels": 1}}


def main():
    """Soft shapes and noise, with fine and with coarse colours; black beside white, which exceeds 16 bits of the quicker transform."""
    random, recorded = np.random.RandomState(0), {}
    with tf.Session() as session:
        for number, (height, width) in enumerate(SIZES):
            coarse = random.randint(0, 256, (1, 4, 5, 3)).astype(np.float32)
            soft = session.run(tf.image.resize_bicubic(coarse, [height, width]))[0].clip(0, 255).astype(np.uint8)
            noise = random.randint(0, 256, (height, width, 3)).astype(np.uint8)
            edges = np.tile(255 * random.randint(0, 2, (2 * height, 2 * width, 1)), 3).astype(np.uint8)
            for kind, pixels, down in (("soft", soft, True), ("fine", soft, False), ("noise", noise, True), ("one", noise[:, :, :1], True),
                                       ("edges", edges, False)):
                name = "%s_%d" % (kind, number)
                content = session.run(tf.image.encode_jpeg(pixels, quality=QUALITIES.get(kind, 85), chroma_downsampling=down))
                recorded["file_" + name] = np.frombuffer(content, np.uint8)
                for option, given in OPTIONS.items():
                    recorded["%s_%s" % (option, name)] = session.run(tf.image.decode_jpeg(content, **given))
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "jpeg.npz"), **recorded)


if __name__ == "__main__":
    main()
