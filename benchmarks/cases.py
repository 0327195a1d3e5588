"""The rows of the benchmark table: what is measured, in which frameworks, and which ratio to the best of them is the aim."""
from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A row. ``aim`` and ``stretch`` are Penstock's time over the best peer's; in seconds if ``absolute``."""

    name: str
    label: str
    aim: float | None = None
    stretch: float | None = None
    absolute: bool = False
    # all; convnet: also channels-last; compiled, compiled_convnet: also TF+XLA and torch.compile; tf: the TensorFlow 1 API only; plain: one
    # TensorFlow; numpy: NumPy itself; hand: without layers;
    # fit: those that train a Keras model, or in a loop; eager: imperative style, beside PyTorch (eager_tf: without it); alone: none
    peers: str = "all"
    script: str = ""  # measured in fresh processes by this file, instead of steps of one process
    unit: str = "s"  # s, B (bytes), or x (times)


_MODELS = {"mlp": "MLP", "lstm": "LSTM", "transformer": "Transformer", "resnet": "ResNet b4", "googlenet": "GoogLeNet b8", "alexnet": "AlexNet b16"}
_FITS = {"mlp": "MLP", "lstm": "LSTM LM", "resnet": "ResNet b4", "small": "MLP of 32 units, batch 32"}
CASES = {case.name: case for case in (
    Case("alexnet_16", "AlexNet, batch 16", 1.0, 0.7, peers="compiled_convnet"),
    Case("overfeat_8", "Overfeat, batch 8", 1.0, 0.7, peers="convnet"),
    Case("vgg_8", "OxfordNet (VGG-A), batch 8", 1.0, 0.6, peers="convnet"),
    Case("googlenet_8", "GoogLeNet, batch 8", 1.0, 0.75, peers="convnet"),
    Case("googlenet_forward_1", "GoogLeNet forward, batch 1", 1.0, 0.8, peers="convnet"),
    Case("resnet_4", "ResNet-18-like, batch norm, 64x64, batch 4", 1.0, 0.75, peers="convnet"),
    Case("lenet_64", "small CNN (LeNet: two convolutions of 5x5), 28x28, batch 64", 1.0, 0.8, peers="convnet"),
    Case("softmax", "softmax regression, batch 10, Adagrad, fed", 0.5, 0.25),
    Case("mlp", "MLP 784-512-512-10, batch 128, Adam", 0.9, 0.7, peers="compiled"),
    Case("lstm", "LSTM LM 2x200, 20 steps, batch 20", 0.9, 0.7, peers="compiled"),
    Case("transformer", "Transformer, 2 blocks, T=128, D=256, batch 8", 0.9, 0.7, peers="compiled"),
    Case("elementwise", "elementwise chain over 4M floats, 3 gradients", 1.0, 0.7),
    Case("dependent", "500 dependent ops on 16 floats, with gradient", 1.0, 0.5),
    Case("embedding", "embedding 1,000,000 x 64, 4096 ids, sparse SGD", 0.9, 0.5),
    Case("null", "null step: feed a scalar, add, fetch", 10e-6, 4e-6, absolute=True),
    Case("null_large", "null step in a graph of 100,000 other operations", 10e-6, 5e-6, absolute=True, peers="tf"),
    Case("fetches", "200 small fetches in one run", 0.5, peers="tf"),
    Case("feeds", "feeds of 100 small arrays", 0.5, peers="tf"),
    Case("loop", "while loop, 1000 turns of tanh(x @ w), 32x32"),
    Case("loop_gradient", "the same loop with its gradient", 1.0),
    Case("dynamic_rnn", "dynamic_rnn of an LSTM cell, T=50, 128 units, batch 32", 1.0, peers="tf"),
    *(Case(name, label, 1.0, peers="tf") for name, label in (
        ("volumes", "volumes of 16x32x32: three convolutions of 3x3x3, batch 2"), ("mobile", "depthwise convolutions, 128x128, batch 4"),
        ("segmentation", "U-Net, 96x96, batch 2"), ("speech", "CTC, 400 steps, 60 labels, batch 16"),
        ("gaussian_process", "Gaussian process, 200 points, float64"), ("graph_network", "graph network, 40,000 edges"),
        ("maxout", "maxout of 4, 512 x 256"), ("noise_contrast", "word vectors by NCE, 50,000 x 128"),
        ("experts", "mixture of 4 experts, 1024 x 64"), ("critic", "WGAN-GP, 784-256-256, batch 64"),
        ("segments", "segment mean and max, 20,000 x 64 into 1,000"))),
    Case("queue", "FIFOQueue, two runners, matmul of a batch", 1.0, peers="tf"),
    *(Case(f"{name}_{style}{batch}", f"{label}, of {of}", 1.03, peers="hand") for name, batch, label in (
        ("mlp", "", "MLP"), ("lstm", "", "LSTM LM"), ("resnet", "_4", "ResNet-18-like, batch 4"), ("alexnet", "_16", "AlexNet, batch 16"))
      for style, of in (("layers", "tf.layers"), ("slim", "slim"))),
    *(Case(f"{name}_fit", f"model.fit of the {label}, per batch", 0.9, peers="fit") for name, label in _FITS.items()),
    *(Case(f"{name}_fit_by_hand", f"model.fit of the {label}, beside a loop by hand", None if name == "small" else 1.03, peers="hand")
      for name, label in _FITS.items()),
    Case("eager_mlp", "imperative: MLP 784-512-512-10, batch 128, Adam", 0.9, peers="eager"),
    Case("eager_lstm", "imperative: LSTM LM 2x200, 20 steps, batch 20", 0.8, peers="eager"),
    Case("eager_resnet_4", "imperative: ResNet-18-like, batch 4", 0.6, peers="eager"),
    Case("eager_dependent", "imperative: 500 dependent ops on 16 floats, with gradient", 0.3, peers="eager"),
    Case("eager_null", "imperative: one small op, looked at", 1.0, peers="eager_tf"),
    Case("eager_mlp_function", "imperative: the MLP's step as tf.function, beside a session", 1.05, peers="hand"),
    Case("matmul", "matmul 2048 x 2048, beside NumPy's BLAS", 1 / 0.95, peers="numpy"),
    Case("import", "import, in a fresh process", peers="plain", script="core.py"),
    Case("build", "build a graph of 10,000 operations", peers="plain", script="core.py"),
    Case("plan", "first run of a graph of 10,000 operations", peers="plain", script="startup.py"),
    Case("mlp_first", "MLP: first result, kernel cache empty", peers="plain", script="startup.py"),
    Case("mlp_cold", "MLP: first compiled step, kernel cache empty", 1.0, absolute=True, peers="plain", script="startup.py"),
    Case("mlp_warm", "MLP: first compiled step, kernel cache full", 1.0, absolute=True, peers="plain", script="startup.py"),
    Case("googlenet_first", "GoogLeNet b8: first result, kernel cache empty", peers="plain", script="startup.py"),
    Case("googlenet_cold", "GoogLeNet b8: first compiled step, cache empty", 15.0, absolute=True, peers="plain", script="startup.py"),
    Case("googlenet_warm", "GoogLeNet b8: first compiled step, cache full", 1.0, absolute=True, peers="plain", script="startup.py"),
    *(Case(f"{name}_delay", f"{label}: first result, over that of NumPy alone", 2.0, absolute=True, peers="alone", script="startup.py", unit="x")
      for name, label in _MODELS.items() if name != "alexnet"),
    *(Case(f"{name}_memory", f"{label}: memory that training adds at its peak", 1.0, peers="plain", script="startup.py", unit="B")
      for name, label in _MODELS.items()),
    *(Case(f"{name}_default_memory", f"{label}: the same, in the default mode", 1.0, peers="plain", script="startup.py", unit="B")
      for name, label in _MODELS.items()),
    Case("save", "save 1 GB", peers="plain", script="checkpoint.py"),
    Case("sync", "save 1 GB, wait for the disk (TF: not)", peers="plain", script="checkpoint.py"),
    Case("restore", "restore 1 GB", peers="plain", script="checkpoint.py"),
)}

# `make bench ARGS=--quick`: one of each kind.
QUICK = ("googlenet_forward_1", "resnet_4", "softmax", "mlp", "lstm", "transformer", "dependent", "embedding", "null", "loop_gradient")
