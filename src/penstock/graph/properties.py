"""What passes, the runtime and the compiler may ask an op: its properties. They never ask for its name.

An op declares those that differ from the defaults here as attributes of its class (see ``opdef.py``).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Extents:
    """Of the gradient of an operation: it asks for the shape of this tensor, in a node of its own."""

    tensor: Any
    computed: bool = False  # also if it is known


class Properties:
    """The properties of an op, with their defaults."""

    # what running it does
    stateful: bool = False  # reads or changes state, or draws random numbers: never folded, merged or dropped
    blocking: bool = False  # the kernel may wait or call into Python code of the user: it gets a thread of its own
    cancellable: bool = False  # a blocking kernel that gives up when its step ends: if nothing could go on meanwhile, the caller's thread will do
    resumable: bool = False  # a blocking kernel that, in a thread which must not wait, does nothing and is called again: see ``state/waiting.py``
    coordinates: str = ""  # how steps of several workers meet here: enqueue, enqueue_many, dequeue, dequeue_many, accumulate, take, advance
    hands_over: bool = False  # what it is given goes elsewhere (to another device), where a node may be waiting for it
    on_host: bool = False  # the host runs the kernel, whatever the node's device: it moves values and computes none
    copies: bool = False  # the output is the input, in another memory
    host_memory: tuple[str, ...] = ()  # names of inputs and outputs that are host values (NumPy arrays) on every device
    touches: str | Callable[..., str] = ""  # files, python: what the kernel gets at outside of the task; or the function of attributes that tells
    rank_words: dict[str, tuple[int, str]] = {}  # name of an input -> its rank, and what TensorFlow's kernel says of another, which programs look for
    watches: bool = False  # it is there to find mistakes: hands on its first input, or has no output
    draws: str = ""  # the op type that draws the same random numbers, given their generator as its first input
    flops: Callable[[Sequence[Any], Sequence[Any]], float] | None = None  # float operations: a function of the arrays that go in and come out

    # variables
    updates: tuple[str, ...] = ()  # names of the inputs (references, resources) whose variables it writes; ``lower`` gives their new elements
    snapshot: bool = False  # the output is the value that the variable (its first input) has at this moment
    forwards_reference: bool = False  # given a reference, it hands it on: a consumer of its output reads the variable then
    passes_references: bool = False  # an input may be a reference: the kernel reads it where it wants the value
    borrows: bool = False  # of an input that is a reference the kernel needs the value only while it runs: no output shares its memory
    refers_to: tuple[str, str] | None = None  # its output is a handle: the attributes with the type and the shape of what that refers to
    allows_uninitialized: bool = False  # a Ref input may point at a variable without a value

    # control flow
    control_flow: str = ""  # switch, merge, enter, exit, next, trigger: scheduled by frames and dead tensors
    calls_later: bool = False  # the functions in its attributes run when its kernel has returned: a dataset is made now, its elements later
    lightweight: bool = False  # of a dataset: making an element takes hardly longer than handing it from one thread to another
    captures: str = ""  # of an op that calls functions in its step: the attribute with the types of their arguments, its last inputs; more may follow
    expands: Callable[[dict[str, Any]], Any] | None = None  # by its attributes: the function whose operations run in its place, or None
    branch: Callable[[dict[str, Any], Any], Any] | None = None  # by its attributes and its first input: the function of the others that runs then
    implied: tuple[str, ...] = ()  # attributes that follow from the type of a node: GraphDefs do not have them
    repeats: bool = False  # runs its function ``body`` as long as its function ``cond`` says so
    sees_unused: bool = False  # its gradient function gets None, not zeros, for outputs whose gradients are not needed
    list_role: str = ""  # of an op on lists of tensors: empty, push, pop
    array_role: str = ""  # of an op on arrays of tensors: create, gradient, write, scatter, read, gather, size

    # how the outputs depend on the inputs
    elementwise: bool = False  # element i of each output depends on element i of the (broadcast) inputs alone
    rows: tuple[str, ...] = ()  # names of the inputs of which some rows, along the first axis, give the same rows of all outputs
    ufunc: Any = None  # the function of NumPy that the kernel of an elementwise op is: it can write over an input
    shape_only: bool = False  # the outputs depend on the inputs' shapes, not on their elements
    dynamic_shape: bool = False  # the outputs' shapes depend on the inputs' elements: they change from step to step
    bounded: Callable[[dict[str, Any]], tuple[str, dict[str, Any], tuple[Any, ...]] | None] | None = None  # by its attributes: the op that gives the
    # same padded to a length known ahead, and how many rows count; the attributes of that; values of its further inputs
    counted: str = ""  # the op type that does the same for a tensor of which only some rows count; its last input says how many
    forwards: bool | Callable[..., bool] = False  # the output is the first input, always, or if this function of attributes says so
    distinct: bool = False  # the first output has each element of the input once, the second says which of them each element is
    gathers: bool = False  # the output is the rows of the first input that the second one names (those along another axis, if a third one says so)
    combines: float | None = None  # sums rows of the first input, which the second names, by the third; divides by their number to this power
    spreads: float | None = None  # the gradient of such a sum: what each row gets of the first input, summed by the second, which came by the third
    merges_rows: bool = False  # rows of the first input are summed by the second: as many sums as a third one says
    padded: str = ""  # the op type that does the same for distinct ``indices``, but leaves out rows of ``grad`` for which they are below 0
    aliases: bool = False  # the output may share the memory of the first input
    rearranges: bool = False  # the output's elements are copies of the first arguments' elements (others say where they go)
    keeps_order: bool = False  # the output has the elements of the first input in the same order, in a shape that may differ
    permutes: bool = False  # the output is the first input with its axes in the order that the second input tells
    broadcasts: str = ""  # name of an input: the output is that, broadcast to a shape that other inputs give
    alike: str = ""  # name of an input, a list: its tensors have one shape
    joins: str = ""  # name of an input, a list: its tensors stand side by side in the output, along one axis
    reduces: str = ""  # sum, mean, prod, max, min, and, or: the first input is folded over the axes that the second one gives

    # algebra
    commutative: bool = False  # the order of the inputs does not matter
    associative: str = ""  # sum, product: (x * y) * z is x * (y * z), but for rounding
    neutral: dict[int, float] = {}  # input position -> the float that, as that input, makes the op of two inputs give back the other one, bit for bit
    involution: bool = False  # applied twice it gives back its input, bit for bit
    idempotent: bool = False  # applied twice it gives what it gives once, bit for bit
    sums: bool = False  # the output is the sum of all inputs, which have its shape
    inner: Callable[..., tuple[int, int]] | None = None  # of a product of two: the axis of each factor that goes away, a function of attributes
    epilogue: str = ""  # what it is as the end of a product that it alone uses: add (something to it), relu, relu6, descent (of a variable along it)

    # nodes, on whose number seeds that are not given depend
    gradient_nodes: int | Callable[[Any], int | None] | None = None  # TensorFlow's gradient of it, or a function of it; None: as many as ours
    gradient_reads: Callable[[Any], list[Any]] | None = None  # tensors and Extents of the forward pass that it uses; None: those that ours uses

    # images, whose axes may stand in another order
    images: tuple[str, ...] = ()  # names of the inputs and outputs whose axes stand in the order that its attribute data_format tells
    per_axis: tuple[str, ...] = ()  # names of inputs and attributes with an entry per axis of its images; or of its first argument, if it has none
    axes: str = ""  # name of the input that holds numbers of axes of its first argument


PROPERTIES = tuple(Properties.__annotations__)
