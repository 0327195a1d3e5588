"""Mini-Penstock: the whole system in one file, to read in half an hour.

    python docs/mini_penstock.py

It builds a graph, differentiates it, prunes it, compiles it, places it on two devices, cuts it there, runs the parts in two threads, and
trains a regression, with nothing but NumPy. Each chapter names the part of Penstock that does the same thing for real.
"""
from __future__ import annotations

import queue
import threading
from collections import defaultdict

import numpy as np

# --- 1. The graph -------------------------------------------------------------------------------------------------------
# A program does not compute; it builds a graph of operations. An operation has a type, inputs, attributes and a device. To keep this file short an
# operation has one output, so that it is its own tensor. (Penstock: graph/graph.py, graph/node.py)

OPS: dict[str, dict] = {}  # op type -> its functions
GRAPH: list[Node] = []  # creation order: inputs come before their users
DEVICE = ["cpu:0"]


class Node:
    """An operation and its one result."""

    def __init__(self, kind: str, *inputs: Node, **attrs):
        self.kind, self.inputs, self.attrs, self.device = kind, inputs, attrs, DEVICE[-1]
        self.name = f"{kind}_{len(GRAPH)}"
        GRAPH.append(self)

    def __add__(self, other):
        return Node("add", self, as_node(other))

    def __sub__(self, other):
        return Node("add", self, Node("neg", as_node(other)))

    def __mul__(self, other):
        return Node("mul", self, as_node(other))

    def __matmul__(self, other):
        return Node("matmul", self, as_node(other))


def as_node(value) -> Node:
    """Plain values become constants."""
    return value if isinstance(value, Node) else Node("const", value=np.asarray(value, float))


# --- 2. Operations ------------------------------------------------------------------------------------------------------
# What an operation is, stands in one place: its kernel, and its gradient, which builds more graph and computes nothing. (Penstock: graph/opdef.py
# has the @op decorator, ops/ the operations, each with a shape function too.)

def op(kernel, gradient=None):
    """Registers an op type under the name of the kernel."""
    OPS[kernel.__name__] = {"kernel": kernel, "gradient": gradient}
    return kernel


def const(state, attrs):
    return attrs["value"]


def variable(state, attrs):
    return state[attrs["name"]]


def placeholder(state, attrs):
    raise ValueError(f"feed a value for {attrs['name']}")


def add(state, attrs, x, y):
    return x + y


def neg(state, attrs, x):
    return -x


def mul(state, attrs, x, y):
    return x * y


def matmul(state, attrs, x, y):
    return x @ y


def transpose(state, attrs, x):
    return x.T


def total(state, attrs, x):
    return x.sum()


def spread(state, attrs, dy, x):
    return np.full_like(x, dy)


def fit(state, attrs, dy, x):
    """A gradient, summed over the axes along which x was broadcast."""
    dy = dy.sum(axis=tuple(range(dy.ndim - x.ndim)))
    return dy.sum(axis=tuple(i for i, n in enumerate(x.shape) if n == 1 and dy.shape[i] != 1), keepdims=True)


def assign_sub(state, attrs, delta):
    state[attrs["name"]] = state[attrs["name"]] - delta


op(const), op(variable), op(placeholder), op(assign_sub), op(fit)
op(add, lambda node, dy: [Node("fit", dy, x) for x in node.inputs])
op(neg, lambda node, dy: [Node("neg", dy)])
op(mul, lambda node, dy: [Node("fit", dy * node.inputs[1], node.inputs[0]), Node("fit", dy * node.inputs[0], node.inputs[1])])
op(matmul, lambda node, dy: [dy @ Node("transpose", node.inputs[1]), Node("transpose", node.inputs[0]) @ dy])
op(transpose, lambda node, dy: [Node("transpose", dy)])
op(total, lambda node, dy: [Node("spread", dy, node.inputs[0])])
op(spread, lambda node, dy: [Node("total", dy), None])


# --- 3. Differentiation -------------------------------------------------------------------------------------------------
# Walk from y back to x against the edges. What arrives at a node from its users adds up; the node's gradient says what flows on to its inputs.
# The result is graph again, so it can be differentiated again. (Penstock: gradients.py)

def gradients(y: Node, xs: list[Node]) -> list[Node]:
    """dy/dx for each x, as new nodes."""
    arrived = defaultdict(list, {y: [as_node(1.0)]})
    for node in reversed(GRAPH[:GRAPH.index(y) + 1]):
        rule = OPS[node.kind]["gradient"]
        if not arrived[node] or rule is None:
            continue
        for source, grad in zip(node.inputs, rule(node, add_up(arrived[node]))):
            if grad is not None:
                arrived[source].append(grad)
    return [add_up(arrived[x]) for x in xs]


def add_up(nodes: list[Node]) -> Node:
    """Their sum."""
    result = nodes[0]
    for node in nodes[1:]:
        result = result + node
    return result


# --- 4. Pruning ---------------------------------------------------------------------------------------------------------
# A step runs what its fetches need, up to what is fed, and nothing else. (Penstock: program/ir.py)

def prune(fetches: list[Node], fed: set[Node]) -> list[Node]:
    """The nodes of a step, in an order in which they can run."""
    needed, stack = set(), [node for node in fetches if node not in fed]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(source for source in node.inputs if source not in fed)
    return [node for node in GRAPH if node in needed]


# --- 5. Compilation -----------------------------------------------------------------------------------------------------
# What is computed element by element needs no call and no array of its own: each such operation says what becomes of one element, and a chain of them
# becomes one function. Here Python compiles it; Penstock writes a loop over vectors and has LLVM compile it. (Penstock: native/fusion/)

ELEMENTWISE = {"add": "({} + {})", "neg": "(-{})", "mul": "({} * {})"}


def compiled(nodes: list[Node], fetches: list[Node]) -> list[tuple]:
    """(node, kernel, inputs) of what is left to be called: a node whose only user is elementwise too, and beside it, is a part of that one."""
    users = {node: [other for other in nodes for source in other.inputs if source is node] for node in nodes}
    inside = {node for node in nodes if node.kind in ELEMENTWISE and node not in fetches and len(users[node]) == 1
              and users[node][0].kind in ELEMENTWISE and users[node][0].device == node.device}

    def text(node, names):
        """The node as an expression of its inputs, which get names."""
        parts = [text(source, names) if source in inside else names.setdefault(source, f"x{len(names)}") for source in node.inputs]
        return ELEMENTWISE[node.kind].format(*parts)

    calls = []
    for node in nodes:
        if node.kind not in ELEMENTWISE:
            calls.append((node, OPS[node.kind]["kernel"], node.inputs))
        elif node not in inside:
            names: dict[Node, str] = {}
            body = text(node, names)
            calls.append((node, eval(f"lambda state, attrs, {', '.join(names.values())}: {body}"), tuple(names)))
    return calls


# --- 6. Partition and execution -----------------------------------------------------------------------------------------
# Each device gets its own part of the step. An edge between two devices becomes a message through the rendezvous, a mailbox per edge: the sender
# puts the value in, the receiver waits for it. (Penstock: program/partition.py, execute/rendezvous.py, execute/executor.py)

class Session:
    """Runs steps; keeps the values of variables between them."""

    def __init__(self):
        self.state: dict[str, np.ndarray] = {}

    def run(self, fetches: list[Node], feeds: dict[Node, object] | None = None) -> list:
        """The values of the fetches."""
        fed = {node: np.asarray(value, float) for node, value in (feeds or {}).items()}
        calls = compiled(prune(fetches, set(fed)), fetches)
        rendezvous = defaultdict(queue.Queue)
        values, failures = {}, []
        threads = [threading.Thread(target=self._run_device, args=(device, calls, fed, rendezvous, values, failures))
                   for device in sorted({node.device for node, _, _ in calls})]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return [fed[node] if node in fed else values[node] for node in fetches]

    def _run_device(self, device, calls, fed, rendezvous, values, failures):
        local = dict(fed)
        try:
            for node, kernel, inputs in calls:
                if node.device != device:
                    continue
                for source in inputs:
                    if source not in local:
                        local[source] = rendezvous[source, device].get(timeout=10)
                local[node] = values[node] = kernel(self.state, node.attrs, *[local[source] for source in inputs])
                for other in {user.device for user, _, needed in calls if node in needed} - {device}:
                    rendezvous[node, other].put(local[node])
        except Exception as error:
            failures.append(error)


# --- 7. A program -------------------------------------------------------------------------------------------------------

def main() -> None:
    """Finds the weights of a line, with the model on one device and the loss on the other."""
    rng = np.random.RandomState(0)
    data = rng.normal(size=(200, 2))
    target = data @ [[2.0], [-3.0]] + 0.5

    x, y = Node("placeholder", name="x"), Node("placeholder", name="y")
    w, b = Node("variable", name="w"), Node("variable", name="b")
    prediction = x @ w + b
    DEVICE.append("cpu:1")
    error = prediction - y
    loss = Node("total", error * error) * (1 / len(data))
    DEVICE.pop()
    train = [Node("assign_sub", grad * 0.1, name=v.attrs["name"]) for v, grad in zip((w, b), gradients(loss, [w, b]))]

    session = Session()
    session.state.update(w=np.zeros((2, 1)), b=np.zeros(1))
    for step in range(60):
        value = session.run([loss, *train], {x: data, y: target})[0]
        if step % 20 == 0:
            print(f"step {step:2d}  loss {value:.5f}")
    print("w =", session.state["w"].ravel().round(3), " b =", session.state["b"].round(3))
    assert np.allclose(session.state["w"].ravel(), [2, -3], atol=1e-3) and np.allclose(session.state["b"], 0.5, atol=1e-3)
    assert "placeholder" not in {node.kind for node in prune([w], set())}, "only what a fetch needs runs"
    assert len(compiled(prune([loss], {x, y}), [loss])) < len(prune([loss], {x, y})), "elementwise nodes run together"


if __name__ == "__main__":
    main()
