"""`penstock devices`: the devices that sessions of this machine have, and why there is no GPU among them."""
from __future__ import annotations

import argparse

import numpy as np

from penstock import Graph, Session, device, float32, matmul, placeholder
from penstock.opencl.drivers import find
from penstock.program.devices import LOCAL_TASK, local_devices


def main(argv: list[str] | None = None) -> int:
    """Lists devices; with ``--test``, computes something on each GPU."""
    parser = argparse.ArgumentParser(prog="penstock devices", description="The devices of sessions on this machine.",
                                     epilog="PENSTOCK_OPENCL=all uses CPUs by OpenCL too (PoCL), off no OpenCL device: see docs/gpu.md.")
    parser.add_argument("--test", action="store_true", help="multiply two matrices on each GPU, and compare with the CPU")
    options = parser.parse_args(argv)
    try:
        devices = local_devices(None)
    except ValueError as error:
        print(f"penstock devices: {error}")
        return 2
    opencl = find()
    for each in sorted(devices, key=lambda one: (one.device_type, one.name)):
        index = int(each.name.rpartition(":")[2])
        described = _describe(opencl.devices[index]) if each.device_type == "GPU" else "NumPy and native code"
        print(f"{each.name.removeprefix(LOCAL_TASK)}  {described}")
    for reason in opencl.reasons:
        print(f"not used: {reason}" if opencl.devices else f"no GPU: {reason}")
    return _wrong_products(len(opencl.devices)) if options.test else 0


def _describe(device: object) -> str:
    """A device of OpenCL in a line."""
    text = {name: str(getattr(device, name)).strip() for name in ("name", "version", "driver_version")}
    return f"{text['name']}, {text['version']}, driver {text['driver_version']}, {getattr(device, 'global_mem_size') / (1 << 30):.1f} GB"  # noqa: B009


def _wrong_products(count: int) -> int:
    """0 if every GPU multiplies matrices as NumPy does."""
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    wrong = 0
    for index in range(count):
        with Graph().as_default() as graph, device(f"/device:GPU:{index}"):
            fed = placeholder(float32, [64, 64])
            product = matmul(fed, fed)
        with Session(graph=graph) as session:
            error = float(np.abs(session.run(product, {fed: x}) - x @ x).max())
        print(f"/device:GPU:{index}  {'is right' if error < 1e-3 else f'is wrong by {error:.3g}'}")
        wrong += error >= 1e-3
    return min(wrong, 1)
