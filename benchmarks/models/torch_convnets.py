"""The convolutional networks in PyTorch."""
from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from models import data
from models.architectures import NETS, RATE, Conv, Dense, Mean, Parallel, Pool, Step


class Branches(nn.Module):
    """Parallel paths, concatenated along the channels."""

    def __init__(self, branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        """All branches of x."""
        return torch.cat([branch(x) for branch in self.branches], 1)


class Sum(nn.Module):
    """Two paths, added."""

    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        """ReLU of the sum."""
        return functional.relu(self.body(x) + self.shortcut(x), inplace=True)


class GlobalMean(nn.Module):
    """The mean over height and width."""

    def forward(self, x):
        """[batch, channels]."""
        return x.mean((2, 3))


def stack(layers, channels, size):
    """The layers as one module; also the channels and the size of what comes out."""
    modules = []
    for layer in layers:
        made, channels, size = module(layer, channels, size)
        modules += made
    return nn.Sequential(*modules), channels, size


def module(layer, channels, size):
    """The modules of a layer, and the channels and the size after it."""
    if isinstance(layer, Conv):
        return conv(layer, channels, size)
    if isinstance(layer, Pool):
        return pool(layer), channels, _after(layer, size)
    if isinstance(layer, Mean):
        return [GlobalMean()], channels, 1
    if isinstance(layer, Dense):
        made = [nn.Flatten(), nn.Linear(channels * size * size, layer.units)]
        return made + [nn.ReLU(inplace=True)] * layer.relu, layer.units, 1
    if isinstance(layer, Parallel):
        parts = [stack(branch, channels, size) for branch in layer.branches]
        return [Branches([part for part, _, _ in parts])], sum(wide for _, wide, _ in parts), parts[0][2]
    body, wide, after = stack(layer.body, channels, size)
    return [Sum(body, stack(layer.shortcut, channels, size)[0])], wide, after


def conv(layer, channels, size):
    """Convolution, bias or batch normalization, ReLU. At stride 2 SAME pads on both sides here, which costs the same."""
    padding = (layer.size - 1) // 2 if layer.padding == "SAME" else 0
    made = [nn.Conv2d(channels, layer.filters, layer.size, layer.stride, padding, bias=not layer.norm)]
    made += [nn.BatchNorm2d(layer.filters, track_running_stats=False)] * layer.norm + [nn.ReLU(inplace=True)] * layer.relu
    return made, layer.filters, _after(layer, size)


def pool(layer):
    """Max pooling."""
    if layer.padding == "SAME" and layer.stride == 1:
        return [nn.MaxPool2d(layer.size, 1, (layer.size - 1) // 2)]
    return [nn.MaxPool2d(layer.size, layer.stride, ceil_mode=layer.padding == "SAME")]


def _after(layer, size):
    return -(-size // layer.stride) if layer.padding == "SAME" else (size - layer.size) // layer.stride + 1


def make(case, channels_last, compiled=False):
    """The step of ``alexnet_16``, or of ``googlenet_forward_1``."""
    images, labels = data.images(case)
    net = NETS[case.partition("_")[0]]
    model, _, _ = stack(net.layers, 3, net.size)
    images, numbers = torch.from_numpy(images).permute(0, 3, 1, 2), torch.from_numpy(labels).long()
    layout = torch.channels_last if channels_last else torch.contiguous_format
    model, images = model.to(memory_format=layout), images.contiguous(memory_format=layout)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if compiled:
        model.compile()
    if "forward" in case:
        return Step(lambda: _forward(model, images), parameters)
    optimizer = torch.optim.SGD(model.parameters(), RATE)

    def run():
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(images), numbers)
        loss.backward()
        optimizer.step()
        return loss.item()
    return Step(run, parameters)


def _forward(model, images):
    with torch.inference_mode():
        return model(images).numpy()
