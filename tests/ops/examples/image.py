"""Images. Resizing gives float32 whatever comes in, so its gradients are checked against TensorFlow (golden cases) and not numerically here."""
import numpy as np

from penstock.ops.image import image_files, png
from support.examples import example, integers, ints, uniform

PIXELS = integers(5, 4, 3, high=256, dtype=np.uint8)
PNG = np.array(png.encode(PIXELS, 6), object)
JPEG = np.array(image_files.encode_jpeg(PIXELS, quality=90), object)
GIF = np.array(b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x00\x00\x00\x00\x00,\x00\x00\x00\x00"
               b"\x01\x00\x01\x00\x00\x02\x02D\x01\x00;", object)
BMP = np.array(b"BM:\x00\x00\x00\x00\x00\x00\x006\x00\x00\x00(\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x18\x00" + b"\x00" * 24
               + b"\x01\x02\x03\x00", object)

example("DecodePng", PNG, dynamic=True, types=())
example("DecodeJpeg", JPEG, channels=3, dynamic=True)
example("DecodeAndCropJpeg", JPEG, ints(1, 1, 3, 2), channels=3)
example("DecodeGif", GIF, dynamic=True)
example("DecodeBmp", BMP, dynamic=True)
example("ExtractJpegShape", JPEG)
example("EncodePng", PIXELS)
example("EncodeJpeg", PIXELS)
example("EncodeJpegVariableQuality", PIXELS, np.int32(70))

IMAGES = uniform(2, 4, 5, 3, low=0.0)
GRADS = uniform(2, 3, 7, 3).astype(np.float32)
for method in ("Bilinear", "Bicubic"):
    example(f"Resize{method}", IMAGES, ints(3, 7), grad=False, types=())
    example(f"Resize{method}", IMAGES, ints(8, 2), align_corners=True, grad=False)
    example(f"Resize{method}Grad", GRADS, IMAGES, grad=False, types=())
    example(f"Resize{method}", IMAGES.astype(np.float32), ints(3, 7), grad=False, types=())  # native code is for float32
    example(f"Resize{method}Grad", GRADS, IMAGES.astype(np.float32), grad=False, types=())
example("ResizeNearestNeighborGrad", GRADS, ints(4, 5), grad=False, types=())
example("ResizeNearestNeighbor", IMAGES, ints(3, 7))
example("ResizeNearestNeighborGrad", GRADS.astype(np.float64), ints(4, 5))
example("ResizeArea", IMAGES, ints(3, 2), types=(), grad=False)

BOXES = np.array([[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 0.5]], np.float32)
WHERE = ints(0, 1)
CROPS = uniform(2, 3, 2, 3).astype(np.float32)
example("CropAndResize", IMAGES, BOXES, WHERE, ints(3, 2), grad=False, types=())
example("CropAndResizeGradImage", CROPS, BOXES, WHERE, ints(2, 4, 5, 3), T="float64", grad=False, types=())
example("CropAndResizeGradBoxes", CROPS, IMAGES, BOXES, WHERE, grad=False, types=())

SCORES = np.array([0.5, 0.9], np.float32)
HALF = np.float32(0.5)
example("NonMaxSuppression", BOXES, SCORES, np.int32(2), dynamic=True, grad=False)
example("NonMaxSuppressionV2", BOXES, SCORES, np.int32(2), HALF, dynamic=True, grad=False, types=())
example("NonMaxSuppressionV3", BOXES, SCORES, np.int32(2), HALF, np.float32(0), dynamic=True, grad=False, types=())
example("NonMaxSuppressionV4", BOXES, SCORES, np.int32(3), HALF, np.float32(0), pad_to_max_output_size=True, grad=False, types=())
example("_BoundedNonMaxSuppression", BOXES, SCORES, np.int32(4), HALF, np.float32(0), grad=False, types=())
example("CombinedNonMaxSuppression", BOXES[None, :, None], np.stack([SCORES, SCORES[::-1]], -1)[None], np.int32(2), np.int32(3), HALF, np.float32(0),
        grad=False, types=())
example("SampleDistortedBoundingBox", ints(40, 50, 3), BOXES[None], seed=1, seed2=2, grad=False, types=())
example("SampleDistortedBoundingBoxV2", ints(40, 50, 3), BOXES[None], np.float32(0.3), seed=1, seed2=2, grad=False, types=())
example("DrawBoundingBoxes", IMAGES.astype(np.float32), np.stack([BOXES, BOXES]), grad=False, types=())
example("DrawBoundingBoxesV2", IMAGES.astype(np.float32), np.stack([BOXES, BOXES]), uniform(2, 3, low=0.0).astype(np.float32), grad=False, types=())
example("ExtractGlimpse", IMAGES.astype(np.float32), ints(2, 3), np.zeros((2, 2), np.float32), grad=False)

example("ImageConnectedComponents", np.array([[[1, 1, 0, 2], [0, 1, 2, 2], [3, 0, 1, 0]]], np.int32), grad=False, types=())
example("BipartiteMatch", np.array([[0.5, 0.1, 0.9], [0.2, 0.3, 0.4]], np.float32), np.array([2.0], np.float32), grad=False, types=())

example("RGBToHSV", IMAGES, grad=False, precision=20)
example("HSVToRGB", IMAGES, grad=False, precision=20)
example("AdjustHue", IMAGES.astype(np.float32), np.float32(0.2), grad=False, types=())
example("AdjustSaturation", IMAGES.astype(np.float32), np.float32(1.5), grad=False, types=())
example("AdjustContrastv2", IMAGES.astype(np.float32), np.float32(1.5), grad=False, types=())
