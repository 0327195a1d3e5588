"""The convolutional networks as tables of layers, and the sizes of the other models: what all frameworks share.

The networks are those that convnet-benchmarks made common: no dropout, no local response normalization, 1000 classes, plain SGD.
"""
from __future__ import annotations

from typing import NamedTuple

CLASSES = 1000
RATE = 0.001  # of every optimizer: small, so that no model leaves the range of its numbers


class Conv(NamedTuple):
    """A convolution with bias and ReLU; with ``norm``, batch normalization instead of the bias, and ReLU if ``relu``."""

    filters: int
    size: int
    stride: int = 1
    padding: str = "SAME"
    norm: bool = False
    relu: bool = True


class Pool(NamedTuple):
    """Max pooling."""

    size: int
    stride: int
    padding: str = "VALID"


class Mean(NamedTuple):
    """The mean over the image: [batch, height, width, channels] becomes [batch, channels]."""


class Dense(NamedTuple):
    """A matrix product with bias; what has height and width is flattened first."""

    units: int
    relu: bool = True


class Parallel(NamedTuple):
    """Branches over the same input, concatenated along the channels."""

    branches: tuple


class Residual(NamedTuple):
    """The sum of two paths, then ReLU; an empty shortcut is the input itself."""

    body: tuple
    shortcut: tuple = ()


class Net(NamedTuple):
    """A network and the height and width of its images."""

    size: int
    layers: tuple


def _inception(one: int, three_in: int, three: int, five_in: int, five: int, pooled: int) -> Parallel:
    return Parallel(((Conv(one, 1),), (Conv(three_in, 1), Conv(three, 3)), (Conv(five_in, 1), Conv(five, 5)), (Pool(3, 1, "SAME"), Conv(pooled, 1))))


def _residual(filters: int, stride: int) -> tuple[Residual, Residual]:
    def block(stride: int, shortcut: tuple) -> Residual:
        return Residual((Conv(filters, 3, stride, norm=True), Conv(filters, 3, norm=True, relu=False)), shortcut)
    return block(stride, (Conv(filters, 1, stride, norm=True, relu=False),) if stride > 1 else ()), block(1, ())


_HEAD = (Dense(4096), Dense(4096), Dense(CLASSES, relu=False))

NETS = {
    "alexnet": Net(227, (Conv(64, 11, 4, "VALID"), Pool(3, 2), Conv(192, 5), Pool(3, 2), Conv(384, 3), Conv(256, 3), Conv(256, 3), Pool(3, 2),
                         *_HEAD)),
    "overfeat": Net(231, (Conv(96, 11, 4, "VALID"), Pool(2, 2), Conv(256, 5, 1, "VALID"), Pool(2, 2), Conv(512, 3), Conv(1024, 3), Conv(1024, 3),
                          Pool(2, 2), Dense(3072), Dense(4096), Dense(CLASSES, relu=False))),
    "vgg": Net(224, (Conv(64, 3), Pool(2, 2), Conv(128, 3), Pool(2, 2), Conv(256, 3), Conv(256, 3), Pool(2, 2), Conv(512, 3), Conv(512, 3),
                     Pool(2, 2), Conv(512, 3), Conv(512, 3), Pool(2, 2), *_HEAD)),
    "googlenet": Net(224, (Conv(64, 7, 2), Pool(3, 2, "SAME"), Conv(64, 1), Conv(192, 3), Pool(3, 2, "SAME"),
                           _inception(64, 96, 128, 16, 32, 32), _inception(128, 128, 192, 32, 96, 64), Pool(3, 2, "SAME"),
                           _inception(192, 96, 208, 16, 48, 64), _inception(160, 112, 224, 24, 64, 64), _inception(128, 128, 256, 24, 64, 64),
                           _inception(112, 144, 288, 32, 64, 64), _inception(256, 160, 320, 32, 128, 128), Pool(3, 2, "SAME"),
                           _inception(256, 160, 320, 32, 128, 128), _inception(384, 192, 384, 48, 128, 128), Mean(), Dense(CLASSES, relu=False))),
    "lenet": Net(28, (Conv(32, 5), Pool(2, 2), Conv(64, 5), Pool(2, 2), Dense(512), Dense(CLASSES, relu=False))),
    "resnet": Net(64, (Conv(64, 3, norm=True), Pool(3, 2, "SAME"), *_residual(64, 1), *_residual(128, 2), *_residual(256, 2), *_residual(512, 2),
                       Mean(), Dense(CLASSES, relu=False))),
}

# The other models.
MLP = (784, 512, 512, 10)
LSTM_LAYERS, LSTM_UNITS, LSTM_STEPS, LSTM_BATCH, LSTM_WORDS = 2, 200, 20, 20, 10_000
BLOCKS, HEADS, LENGTH, WIDTH, SENTENCES, WORDS = 2, 4, 128, 256, 8, 8192  # of the transformer
CHAIN_ELEMENTS = 1 << 22
CHAIN_OPS = 500
ROWS, COLUMNS, IDS = 1_000_000, 64, 4096  # of the embedding
LOOP_TURNS, LOOP_SIZE = 1000, 32
RNN_STEPS, RNN_UNITS, RNN_BATCH = 50, 128, 32
QUEUE_BATCH, QUEUE_SIZE, QUEUE_CAPACITY = 64, 512, 4  # a queue so short that its filling counts
MATMUL = 2048
SMALL_MLP = (784, 32, 10)
FITS = {"mlp": (128, 32), "lstm": (LSTM_BATCH, 8), "resnet": (4, 8), "small": (32, 256)}  # {model: (batch, batches of an epoch)}


class Step(NamedTuple):
    """What a framework's model gives to the process that measures it."""

    run: object  # called without arguments: one step
    parameters: int = 0  # numbers that are trained: must be equal in all frameworks
    close: object = None
    batches: int = 1  # those that a run goes through; times are per batch


def batch_of(case: str) -> int:
    """The images of a step: ``alexnet_16`` has 16."""
    return int(case.rpartition("_")[2])


def is_fit(case: str) -> bool:
    """Whether a case is an epoch of training: ``mlp_fit``, or ``mlp_fit_by_hand``, which is compared with a loop around a session."""
    return "fit" in case.split("_")


def fit_of(case: str) -> tuple[str, tuple[int, int]]:
    """(the model of a case, (batch, batches))."""
    name = case.partition("_")[0]
    return name, FITS[name]
