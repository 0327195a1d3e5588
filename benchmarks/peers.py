"""The frameworks that Penstock is compared with, and the Pythons that have them.

A variable of the environment can name a Python that has a framework already; otherwise one is made, once, in the user's cache folder:

    PENSTOCK_TF_PYTHON      TensorFlow 2.21
    PENSTOCK_TF1_PYTHON     TensorFlow 1.15: only if it is named, as it needs a Python 3.7
    PENSTOCK_TORCH_PYTHON   PyTorch 2.13
    PENSTOCK_JAX_PYTHON     JAX 0.10
    PENSTOCK_KERAS_PYTHON   Keras 3 with JAX 0.10

pip's own settings hold (PIP_EXTRA_INDEX_URL, ...): where they lead to a build of PyTorch for CPUs only, that is the one which is installed.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent / "src"


class Peer(NamedTuple):
    """A column of the table: a module of ``models``, in which variant, run by which Python in which environment."""

    name: str
    label: str
    module: str
    variant: str
    python_variable: str = ""
    packages: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    keeps_kernels: bool = False  # on disk, for the next process
    forced: tuple[tuple[str, str], ...] = ()  # settings that hold whatever the environment says


_TENSORFLOW = ("PENSTOCK_TF_PYTHON", ("tensorflow-cpu==2.21.*",))
_TORCH = ("PENSTOCK_TORCH_PYTHON", ("torch==2.13.*", "numpy"))

PEERS = {peer.name: peer for peer in (
    Peer("penstock", "Penstock", "tf_models", "penstock", settings=(("PENSTOCK_COMPILE", "eager"),), keeps_kernels=True),
    Peer("cpu", "Penstock CPU", "tf_models", "penstock", settings=(("PENSTOCK_COMPILE", "eager"),), keeps_kernels=True,
         forced=(("PENSTOCK_OPENCL", "off"),)),
    Peer("hand", "by hand", "hand_models", "penstock", settings=(("PENSTOCK_COMPILE", "eager"),), keeps_kernels=True),
    Peer("tf", "TF", "tf_models", "tensorflow", *_TENSORFLOW, settings=(("TF_ENABLE_ONEDNN_OPTS", "0"),)),
    Peer("onednn", "TF+oneDNN", "tf_models", "tensorflow", *_TENSORFLOW, settings=(("TF_ENABLE_ONEDNN_OPTS", "1"),)),
    Peer("torch", "PyTorch", "torch_models", "eager", *_TORCH),
    Peer("nhwc", "PyTorch NHWC", "torch_models", "channels_last", *_TORCH),
    Peer("jax", "JAX", "jax_models", "jit", "PENSTOCK_JAX_PYTHON", ("jax[cpu]==0.10.*",), (("JAX_PLATFORMS", "cpu"),)),
    Peer("keras", "Keras 3+JAX", "keras_fits", "jax", "PENSTOCK_KERAS_PYTHON", ("keras==3.*", "jax[cpu]==0.10.*"),
         (("KERAS_BACKEND", "jax"), ("JAX_PLATFORMS", "cpu"))),
    Peer("numpy", "NumPy", "numpy_models", "blas"),
    Peer("tf1", "TF 1.15", "tf_models", "tensorflow", "PENSTOCK_TF1_PYTHON"),
    Peer("xla", "TF+XLA", "tf_models", "tensorflow", *_TENSORFLOW, settings=(("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"),)),
    Peer("inductor", "torch.compile", "torch_models", "compiled", *_TORCH, keeps_kernels=True),
)}

KINDS = {  # which peers a case has
    "all": ("penstock", "tf", "onednn", "torch", "jax"),
    "convnet": ("penstock", "tf", "onednn", "torch", "nhwc", "jax"),
    "compiled": ("penstock", "tf", "onednn", "xla", "torch", "inductor", "jax"),  # the compilers of the others too
    "compiled_convnet": ("penstock", "tf", "onednn", "xla", "torch", "nhwc", "inductor", "jax"),
    "tf": ("penstock", "tf", "onednn"),
    "eager": ("penstock", "tf", "onednn", "torch"),
    "eager_tf": ("penstock", "tf", "onednn"),
    "plain": ("penstock", "onednn"),
    "alone": ("penstock",),
    "device": ("penstock", "cpu"),  # the same program on two devices
    "hand": ("penstock", "hand"),  # the same model without layers
    "fit": ("penstock", "tf", "onednn", "torch", "keras"),  # an epoch of training
    "numpy": ("penstock", "numpy", "tf", "onednn", "torch", "jax"),
}

STARTERS = ("penstock", "onednn", "tf1", "xla", "torch", "inductor", "jax")  # those of time_to_result.py

# Variables that hold the frameworks to the instructions of older CPUs. JAX is not held all the way: its products still use what the CPU has.
ISAS = {
    "avx2": {"PENSTOCK_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
             "XLA_FLAGS": "--xla_cpu_max_isa=AVX2", "OPENBLAS_CORETYPE": "Haswell"},
}


def environment(peer: Peer) -> dict[str, str]:
    """The variables of a peer's process. Penstock comes from this checkout, which the others must not see."""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    env.pop("PYTHONPATH", None)
    env.update((name, value) for name, value in peer.settings if peer.variant != "penstock" or name not in os.environ)
    env.update(peer.forced)
    if peer.variant == "penstock":
        env["PYTHONPATH"] = str(SOURCE)
    return env


def python_of(peer: Peer) -> str:
    """The Python that has a peer: the named one, or one that is made now."""
    if not peer.python_variable:
        return sys.executable
    return os.environ.get(peer.python_variable) or str(_make(peer))


def _make(peer: Peer) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "penstock-benchmarks" / "-".join(peer.packages[0].replace("[cpu]", "").replace("*", "x").split("=="))
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists():
        print(f"Installing {' '.join(peer.packages)} into {folder} ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages], check=True)
        done.touch()
    return python
