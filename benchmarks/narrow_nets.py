"""Inference of whole networks with fewer bits: GoogLeNet and ResNet in half precision and with 8 bits, beside PyTorch.

    PENSTOCK_TORCH_PYTHON=... python benchmarks/narrow_nets.py [--nets googlenet,resnet] [--kinds "float32,8 bits"] [--rounds 3] [--seconds 1]

Each number is the fastest run, in milliseconds, of rounds in which the frameworks take turns, each in a process of its own. Both run the same
tables of layers (``models/architectures.py``) on weights that are constants, with batch normalization folded into the convolutions, as frozen
networks have it. With 8 bits Penstock runs TensorFlow's ``QuantizedConv2D`` on quint8, and makes 8 bits of the sums by plain operations, which are
one loop; the ranges are those that the network in float32 has on the same images (``models/narrow_networks.py``). PyTorch: channels last; 8 bits by
``torch.ao.quantization`` in its graph mode, by the engine that is its default here. ``agrees``: the correlation of what comes out with that of the
same weights in float32.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from narrow import KINDS, fastest

SOURCE = Path(__file__).parent.parent / "src"
BATCHES = {"googlenet": 8, "resnet": 4}


def penstock_net(net: str, kind: str, seconds: float) -> tuple[float, float]:
    """(milliseconds, correlation with float32)."""
    from models import narrow_networks

    import penstock as tf

    images = narrow_networks.images(net, BATCHES[net])
    plain = narrow_networks.run_of(tf, net, "float32", images)
    run = plain if kind == "float32" else narrow_networks.run_of(tf, net, kind, images)
    return fastest(run, seconds), _correlation(plain(), run())


def torch_net(net: str, kind: str, seconds: float) -> tuple[float, float]:
    """The same of PyTorch."""
    import torch
    from models import narrow_networks
    from models.architectures import NETS
    from models.torch_convnets import stack

    torch.manual_seed(0)
    images = torch.from_numpy(narrow_networks.images(net, BATCHES[net])).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    model = stack(narrow_networks.folded(NETS[net].layers), 3, NETS[net].size)[0].eval().to(memory_format=torch.channels_last)
    with torch.inference_mode():
        exact = model(images).numpy()
    if kind == "8 bits":
        from torch.ao.quantization import get_default_qconfig_mapping, quantize_fx

        with torch.no_grad():
            observed = quantize_fx.prepare_fx(model, get_default_qconfig_mapping(torch.backends.quantized.engine), (images,))
            observed(images)
            model = quantize_fx.convert_fx(observed)
    else:
        model, images = model.to(getattr(torch, kind)), images.to(getattr(torch, kind))

    def run() -> np.ndarray:
        with torch.inference_mode():
            return model(images).float().numpy()
    return fastest(run, seconds), _correlation(exact, run())


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(np.ravel(x).astype(np.float64), np.ravel(y).astype(np.float64))[0, 1])


def worker(framework: str, nets: list[str], kinds: list[str], seconds: float) -> None:
    """Prints {network|kind: [milliseconds, correlation]} as JSON."""
    measured = penstock_net if framework == "penstock" else torch_net
    print(json.dumps({f"{net}|{kind}": measured(net, kind, seconds) for net in nets for kind in kinds}))


def measure(args: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """Per framework, the fastest run of each network."""
    from peers import PEERS, python_of

    pythons = {"penstock": sys.executable, "torch": python_of(PEERS["torch"])}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in pythons}
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PENSTOCK_COMPILE": "eager"}
    for _ in range(args.rounds):
        for name, python in pythons.items():
            command = [python, __file__, "--worker", name, "--nets", args.nets, "--kinds", args.kinds, "--seconds", str(args.seconds)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{name} failed:\n{done.stderr[-3000:]}")
            for key, figures in json.loads(done.stdout.splitlines()[-1]).items():
                found[name][key] = min(figures, found[name].get(key, figures))
    return found


def main() -> None:
    """The table, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default=",".join(BATCHES))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--worker", default="")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker, args.nets.split(","), args.kinds.split(","), args.seconds)
        return
    from text_tables import markdown

    found = measure(args)
    rows = []
    for key, (ours, agrees) in found["penstock"].items():
        theirs, other_agrees = found["torch"][key]
        net, kind = key.split("|")
        rows.append([f"{net}, batch {BATCHES[net]}", kind, f"{ours:.2f}", f"{agrees:.4f}", f"{theirs:.2f}", f"{other_agrees:.4f}",
                     f"{ours / theirs:.2f}"])
    print(markdown(["network", "kind", "Penstock ms", "agrees", "PyTorch ms", "agrees", "ratio"], rows))


if __name__ == "__main__":
    main()
