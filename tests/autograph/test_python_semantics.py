"""Without tensors, a converted function does what the function does: values, errors and effects."""
from __future__ import annotations

import contextlib

import pytest

import penstock as tf

pytestmark = pytest.mark.graph
COUNTER = 0


def breaks(n):
    seen = []
    for i in range(n):
        if i == 2:
            continue
        if i == 5:
            break
        seen.append(i)
    else:
        seen.append("else")
    while True:
        n -= 1
        if n < 0:
            break
        if n % 2:
            continue
        seen.append(n)
    return seen, n


def loop_else(n):
    for i in range(n):
        if i == 3:
            return "found"
    else:
        n = -n
    while n < 0:
        n += 1
    else:
        return "else", n


def returns_from_depths(n):
    for i in range(n):
        for j in range(i):
            with contextlib.nullcontext():
                if i * j == 6:
                    return i, j
            if j > 3:
                break
    if n > 2:
        if n > 3:
            return "more"
        n = 7
    return n


def falls_off(n):
    if n > 3:
        return n


def tries(n):
    log = []
    for i in range(n):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            log.append(10 // (i - 2))
        except ZeroDivisionError as error:
            log.append(type(error).__name__)
        else:
            log.append("fine")
        finally:
            log.append(i)
    return log


def raises(n):
    if n > 3:
        raise KeyError(n)
    assert n != 2, "two"
    return n


def unset(n):
    if n > 3:
        value = n
    return value


def deletes(n):
    value = n
    if n > 3:
        del value
        value = 0
    for key in list(range(n)):
        del key
    return value


def closures(n):
    total = 0

    def add(amount=1, *rest, key=2, **more):
        nonlocal total
        for item in rest:
            total += item
        total += amount + key + len(more)
        return total

    functions = [lambda i=i: i if i > 1 else -i for i in range(n)]
    add(3, 4, 5, other=1)
    return total, add(), [function() for function in functions]


def counts(n):
    global COUNTER
    if n > 2:
        COUNTER += n
    return COUNTER


def comprehends(n):
    i = "outer"
    squares = [i * i for i in range(n) if i % 2 or i > 2]
    table = {k: v for k, v in zip("abc", squares)}
    while (rest := n - 1) > 2:
        n = rest
    return i, squares, table, any(s > 3 for s in squares), n, rest


def logic(n):
    calls = []

    def note(value):
        calls.append(value)
        return value

    return (note(n) and note(0)) or note("x"), not note(n), (note(1) if n else note(2)), calls, 0 < n < 3


def unpacks(n):
    pairs = [(i, (i + 1, i + 2)) for i in range(n)]
    total = 0
    for first, (second, *rest) in pairs:
        total += first * second + sum(rest)
    (a, b), *c = [(1, 2), 3, 4]
    return total, a, b, c


class Base:
    def __init__(self, n):
        self.n = n
        self.__private = 5

    def value(self):
        return self.n

    @property
    def private(self):
        return self.__private


class Derived(Base):
    def value(self):
        if self.n > 2:
            self.n += 1
        return super().value() + self.__own(1)

    def __own(self, k):
        return k


def methods(n):
    derived = Derived(n)
    return derived.value(), derived.private


def generates(n):
    def numbers():
        for i in range(n):
            if i > 1:
                yield i

    return list(numbers()), sum(i for i in numbers())


def matches(n):
    match n:
        case 0:
            return "none"
        case int(x) if x > 3:
            result = x
        case _:
            result = "few"
    return result


def assigns_attributes(n):
    class Box:
        pass

    box = Box()
    for i in range(n):
        if i % 2:
            box.last = i
        else:
            box.first = getattr(box, "first", i)
    return vars(box)


PROGRAMS = [breaks, loop_else, returns_from_depths, falls_off, tries, raises, unset, deletes, closures, counts, comprehends, logic, unpacks, methods,
            generates, matches, assigns_attributes]


def outcome(function, n):
    global COUNTER
    COUNTER = 0
    try:
        return "value", function(n)
    except Exception as error:
        kind = NameError if isinstance(error, NameError) else type(error)  # a name of a block is a free variable to Python
        return "error", kind, "" if kind is NameError else str(error).partition("\n")[0]  # pytest adds to the messages of its own asserts


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("features", [None, tf.autograph.experimental.Feature.EQUALITY_OPERATORS])
def test_python_stays_python(program, features):
    converted = tf.autograph.to_graph(program, experimental_optional_features=features)
    for n in range(8):
        assert outcome(converted, n) == outcome(program, n), n


def test_methods_and_classes():
    assert tf.autograph.to_graph(Derived.value)(Derived(5)) == Derived(5).value() == 7
    assert tf.autograph.to_graph(Derived)(5).value() == 7
