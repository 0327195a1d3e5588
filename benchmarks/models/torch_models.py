"""The models in PyTorch, run eagerly, or with their modules compiled by ``torch.compile``."""
from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from models import architectures as sizes
from models import data, torch_convnets
from models.architectures import NETS, RATE, Step, is_fit

COMPILED = []  # something, if modules are to be compiled


def trained(module, optimizer, loss, clip=None):
    """A Step that minimizes ``loss()``."""
    if COMPILED:
        module.compile()

    def run():
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        if clip:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()
        return value.item()
    return Step(run, sum(parameter.numel() for parameter in module.parameters()))


def fed(arrays):
    """What a program does with the NumPy arrays of its input pipeline; labels are int64 in PyTorch."""
    x, y = map(torch.from_numpy, arrays)
    return x, y.long()


def softmax():
    """Softmax regression."""
    arrays, model = data.digits(10), nn.Linear(784, 10)

    def loss():
        x, y = fed(arrays)
        return functional.cross_entropy(model(x), y)
    return trained(model, torch.optim.Adagrad(model.parameters(), RATE), loss)


def perceptron(first, *hidden, last):
    """Fully connected layers."""
    layers = []
    for before, after in zip([first, *hidden], hidden):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(hidden[-1], last))


def mlp():
    """Two hidden layers."""
    arrays, model = data.digits(128), perceptron(*sizes.MLP[:-1], last=sizes.MLP[-1])

    def loss():
        x, y = fed(arrays)
        return functional.cross_entropy(model(x), y)
    return trained(model, torch.optim.Adam(model.parameters(), RATE, fused=True), loss)


class LanguageModel(nn.Module):
    """Embedding, LSTM, projection."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(sizes.LSTM_WORDS, sizes.LSTM_UNITS)
        self.lstm = nn.LSTM(sizes.LSTM_UNITS, sizes.LSTM_UNITS, sizes.LSTM_LAYERS, batch_first=True)
        self.out = nn.Linear(sizes.LSTM_UNITS, sizes.LSTM_WORDS)

    def forward(self, x):
        """The logits of the next words."""
        return self.out(self.lstm(self.embedding(x))[0]).flatten(0, 1)


def lstm():
    """The language model; the norm of the gradient is clipped."""
    arrays, model = data.words(sizes.LSTM_BATCH, sizes.LSTM_STEPS, sizes.LSTM_WORDS), LanguageModel()

    def loss():
        x, y = fed(arrays)
        return functional.cross_entropy(model(x), y.flatten())
    step = trained(model, torch.optim.SGD(model.parameters(), RATE), loss, clip=5.0)
    return step._replace(parameters=step.parameters - sizes.LSTM_LAYERS * 4 * sizes.LSTM_UNITS)  # nn.LSTM has two biases where one is enough


class Block(nn.Module):
    """Masked attention and a feed-forward layer, each over a layer norm."""

    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(sizes.WIDTH), nn.LayerNorm(sizes.WIDTH)
        self.qkv, self.out = nn.Linear(sizes.WIDTH, 3 * sizes.WIDTH), nn.Linear(sizes.WIDTH, sizes.WIDTH)
        self.wide, self.narrow = nn.Linear(sizes.WIDTH, 4 * sizes.WIDTH), nn.Linear(4 * sizes.WIDTH, sizes.WIDTH)

    def forward(self, x):
        """[sentences, LENGTH, WIDTH] to the same."""
        split = self.qkv(self.before(x)).view(sizes.SENTENCES, sizes.LENGTH, 3, sizes.HEADS, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(functional.relu(self.wide(self.between(x))))


class Transformer(nn.Module):
    """A decoder-only language model."""

    def __init__(self):
        super().__init__()
        self.embedding, self.places = nn.Embedding(sizes.WORDS, sizes.WIDTH), nn.Parameter(torch.zeros(sizes.LENGTH, sizes.WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(sizes.BLOCKS)])
        self.last, self.out = nn.LayerNorm(sizes.WIDTH), nn.Linear(sizes.WIDTH, sizes.WORDS)

    def forward(self, x):
        """The logits of the next words."""
        return self.out(self.last(self.blocks(self.embedding(x) + self.places))).flatten(0, 1)


def transformer():
    """The language model, with Adam."""
    arrays, model = data.words(sizes.SENTENCES, sizes.LENGTH, sizes.WORDS), Transformer()

    def loss():
        x, y = fed(arrays)
        return functional.cross_entropy(model(x), y.flatten())
    return trained(model, torch.optim.Adam(model.parameters(), RATE, fused=True), loss)


def elementwise():
    """A chain over large arrays, with the gradients of all three."""
    a, b, c = (torch.from_numpy(data.normal(sizes.CHAIN_ELEMENTS, seed=seed)).requires_grad_() for seed in range(3))

    def run():
        total = (torch.tanh(a * b + c) * torch.sigmoid(a) - torch.exp(-b * b)).sum()
        return total.item(), torch.autograd.grad(total, (a, b, c))
    return Step(run, 3 * sizes.CHAIN_ELEMENTS)


def dependent():
    """Many small ops, each of which needs the one before it."""
    array = data.normal(16)

    def run():
        y = x = torch.from_numpy(array).requires_grad_()
        for index in range(sizes.CHAIN_OPS):
            y = torch.tanh(y) if index % 2 else y * 1.25
        return y.detach().numpy(), torch.autograd.grad(y.sum(), x)[0].numpy()
    return Step(run)


def embedding():
    """A few rows of a large table get their gradients."""
    model, array = nn.Embedding(sizes.ROWS, sizes.COLUMNS, sparse=True), data.ids()
    return trained(model, torch.optim.SGD(model.parameters(), RATE), lambda: model(torch.from_numpy(array)).square().sum())


def null():
    """A scalar in, a sum out."""
    return Step(lambda: (torch.tensor(2.0) + 1.0).item())


def matmul():
    """One large matrix product."""
    a, b = (torch.from_numpy(data.normal(sizes.MATMUL, sizes.MATMUL, seed=seed)) for seed in range(2))
    return Step(lambda: a @ b, 2 * sizes.MATMUL ** 2)


def _loop(w, array):
    value = torch.from_numpy(array)
    for _ in range(sizes.LOOP_TURNS):
        value = torch.tanh(value @ w)
    return value.sum()


def loop():
    """A loop of matrix products."""
    w, array = torch.from_numpy(data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE, seed=1) * 0.2), data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE)
    return Step(lambda: _loop(w, array).item(), w.numel())


def loop_gradient():
    """The same with its gradient."""
    w = torch.from_numpy(data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE, seed=1) * 0.2).requires_grad_()
    array = data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE)
    return Step(lambda: torch.autograd.grad(_loop(w, array), w)[0].numpy(), w.numel())


def fit(case):
    """An epoch as a plain loop: samples in random order; the loss and the accuracy of each batch are looked at."""
    name, (batch, batches) = sizes.fit_of(case)
    net, widths = NETS["resnet"], sizes.SMALL_MLP if name == "small" else sizes.MLP
    model = LanguageModel() if name == "lstm" else torch_convnets.stack(net.layers, 3, net.size)[0] if name == "resnet" else \
        perceptron(*widths[:-1], last=widths[-1])
    x, y = fed(data.epoch(name))
    if name == "resnet":
        x = x.permute(0, 3, 1, 2).contiguous()
    optimizer = (torch.optim.Adam if name == "mlp" else torch.optim.SGD)(model.parameters(), RATE, fused=True)

    def run():
        losses, hits = [], []
        for rows in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad(set_to_none=True)
            logits, labels = model(x[rows]), y[rows].flatten()
            loss = functional.cross_entropy(logits, labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            hits.append((logits.argmax(-1) == labels).float().mean().item())
        return sum(losses) / batches, sum(hits) / batches
    extra = sizes.LSTM_LAYERS * 4 * sizes.LSTM_UNITS if name == "lstm" else 0  # as above
    return Step(run, sum(parameter.numel() for parameter in model.parameters()) - extra, batches=batches)


MODELS = {function.__name__: function for function in (
    softmax, mlp, lstm, transformer, elementwise, dependent, embedding, null, matmul, loop, loop_gradient)}


def make(case, variant):
    """The step of a case; the variants ``channels_last`` and ``compiled`` keep images in NHWC."""
    case = case.removeprefix("eager_")
    compiled = variant == "compiled"
    if compiled:
        COMPILED.append(case)
    if is_fit(case):
        return fit(case)
    return MODELS[case]() if case in MODELS else torch_convnets.make(case, compiled or variant == "channels_last", compiled)
