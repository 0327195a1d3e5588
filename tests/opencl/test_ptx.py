"""The kernels that sessions put on a GPU, compiled for NVIDIA's: Clang makes PTX of them, and NVIDIA's assembler takes it."""
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import penstock as tf
from penstock.errors import FailedPreconditionError
from penstock.opencl import ptx
from penstock.opencl.queue import DeviceQueue

pytestmark = pytest.mark.process
needs_tools = pytest.mark.skipif(bool(ptx.why_not()), reason=ptx.why_not())


def _step() -> tuple[list[tf.Tensor], dict[tf.Tensor, np.ndarray]]:
    """Convolution, batch norm, pooling, a lookup, softmax, random numbers, an optimizer: a kernel of most families."""
    random = np.random.RandomState(0)
    x, ids = tf.placeholder(tf.float32, [4, 8, 8, 3]), tf.placeholder(tf.int32, [4])
    labels = tf.placeholder(tf.int32, [4])
    h = tf.layers.batch_normalization(tf.layers.conv2d(x, 8, 3), training=True)
    h = tf.layers.flatten(tf.nn.max_pool(tf.nn.relu(h), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"))
    table = tf.get_variable("table", [10, 6])
    h = tf.nn.dropout(tf.concat([h, tf.tanh(tf.nn.embedding_lookup(table, ids))], 1), rate=0.1)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(h, 5))
    feeds = {x: random.standard_normal((4, 8, 8, 3)), ids: random.randint(0, 10, 4), labels: random.randint(0, 5, 4)}
    return [loss, tf.train.AdamOptimizer().minimize(loss)], feeds


@needs_tools
def test_the_kernels_of_a_training_step_are_accepted_by_ptxas(opencl, monkeypatch):
    monkeypatch.setattr(opencl, "_queues", {})
    monkeypatch.setenv("PENSTOCK_OPENCL_KERNELS", "groups")  # those of GPUs
    texts: dict[str, None] = {}
    plain = DeviceQueue.kernel
    monkeypatch.setattr(DeviceQueue, "kernel", lambda self, text: (texts.setdefault(text), plain(self, text))[1])
    fetches, feeds = _step()
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds)
    assert len(texts) > 15
    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(_is_accepted, texts))


def _is_accepted(text: str) -> bool:
    made = ptx.compile_ptx(text)
    return ".entry run" in made and ptx.assemble(made).startswith(b"\x7fELF")


@needs_tools
def test_a_kernel_that_is_refused_is_told_with_the_compilers_words():
    with pytest.raises(ValueError, match=r"Clang refuses a kernel:\n(.|\n)*undeclared"):
        ptx.compile_ptx("__kernel void run(__global float *x) { x[0] = nothing; }")
    with pytest.raises(ValueError, match="ptxas refuses a kernel"):
        ptx.assemble("this is no assembly")


def test_without_the_tools_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(ptx.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(ptx, "_places", lambda: iter(()))
    assert ptx.why_not() == "no ziglang and no ptxas: pip install ziglang nvidia-cuda-nvcc-cu12"
    with pytest.raises(FailedPreconditionError, match="pip install ziglang nvidia-cuda-nvcc-cu12"):
        ptx.compile_ptx("")


@pytest.mark.parametrize("found_by", ["CUDA_HOME", "CUDA_PATH", "PATH"])
def test_the_tools_of_a_cuda_toolkit_are_taken(found_by, tmp_path, monkeypatch):
    program, library = tmp_path / "bin" / "ptxas", tmp_path / "nvvm" / "libdevice" / "libdevice.10.bc"
    for each in (program, library):
        each.parent.mkdir(parents=True)
        each.touch(mode=0o755)
    monkeypatch.setattr(ptx.importlib.util, "find_spec", lambda name: None)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(found_by, str(program.parent if found_by == "PATH" else tmp_path))
    assert ptx._tools() == tmp_path
    library.unlink()
    assert ptx._tools() != tmp_path  # a ptxas alone is not enough
