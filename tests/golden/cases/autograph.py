"""Python control flow over tensors, converted: values, gradients and errors. Each program runs with inputs that take its different ways.

Where TensorFlow 1.15 leaves Python (it drops the ``else`` of loops, and what a closure sees of a variable that an ``if`` changes) there is no case.
"""


def _flat(tf, result):
    results = result if isinstance(result, (list, tuple)) else [result]
    return [tf.identity(each, name="flat") for each in results]


def absolute(tf, x):
    if x > 0:
        y = x * 2.0
    else:
        y = -x
    return y


def only_if(tf, x):
    y = x
    if x > 0:
        y = y + 10.0
        temporary = y * 3.0
        y = temporary - 1.0
    return y


def chain_of_ifs(tf, x):
    if x > 10:
        return x
    elif x > 0:
        return x * 2.0
    else:
        return x * 3.0


def returns_in_both(tf, x):
    if x > 0:
        return x
    else:
        return -x


def nested_ifs(tf, x):
    if x > 0:
        if x > 10:
            y, z = x, 1.0
        else:
            y, z = x * 2.0, 2.0
    else:
        y, z = x * 3.0, 3.0
    return y, z


def several_variables(tf, x):
    a, b, c = x, x * 2.0, tf.constant([1.0, 2.0])
    if x > 0:
        a, b = b, a
    else:
        c = c * x
    return a, b, c


def structures(tf, x):
    if x > 0:
        pair = {"a": x, "b": (x * 2.0, 1.0)}
    else:
        pair = {"a": -x, "b": (x, 2.0)}
    return pair["a"], pair["b"][0], pair["b"][1]


def while_loop(tf, x):
    i = 0
    while x < 100.0:
        x = x * 2.0 + 10.0
        i += 1
    return x, i


def while_with_break(tf, x):
    i = tf.constant(0)
    while i < 20:
        x = x + 1.0
        if x > 8.0:
            break
        i += 1
    return x, i


def python_while(tf, x):
    i = 0
    while i < 4:
        x = x * 1.5
        i += 1
        if i == 3:
            break
    return x


def over_range(tf, x):
    total = 0.0
    for i in tf.range(tf.cast(x * x, tf.int32)):
        if i % 2 > 0:
            continue
        if i > 12:
            break
        total += tf.cast(i, tf.float32)
    return total


def over_python_range_of_a_tensor(tf, x):
    total = tf.cast(x, tf.int32)
    for i in range(tf.cast(x, tf.int32)):
        total += i
    return total


def over_range_downwards(tf, x):
    total = 0
    for i in tf.range(10, tf.cast(x, tf.int32), -2):
        total += i * i
    return total


def over_rows(tf, x):
    total = tf.zeros([2])
    for row in tf.stack([[x, 1.0], [2.0, x], [3.0, 4.0]]):
        total = total * 0.5 + row
    return total


def over_a_list(tf, x):
    y = x
    for factor in [1.0, 2.0, 3.0]:
        if y > 6.0:
            y = y - factor
        else:
            y = y * factor
    return y


def nested_loops(tf, x):
    total = 0
    for i in tf.range(4):
        j = 0
        while j < i:
            if j > 1:
                break
            total += j + tf.cast(x, tf.int32)
            j += 1
    return total


def logic(tf, x):
    both = x > 0 and x < 5
    either = x < 0 or x > 5
    return both, either, not both


def lazy_logic(tf, x):
    if x > 0 and 1.0 / x > 0.3:
        y = 1.0
    else:
        y = 2.0
    return y


def conditional_expression(tf, x):
    return x if x > 0 else -x * 10.0


def helper(tf, x):
    if x > 2.0:
        return x - 2.0
    return x


def calls_a_function(tf, x):
    for _ in tf.range(3):
        x = helper(tf, x)
    return x


def recursion(tf, x, depth=3):
    if depth == 0:
        return x
    if x > 2.0:
        y = recursion(tf, x * 0.5, depth - 1)
    else:
        y = recursion(tf, x + 1.0, depth - 1)
    return y


def function_inside(tf, x):
    offset = 1.0

    def inner(a):
        if a > 0:
            return a + offset
        else:
            return a - offset

    return inner(x), tf.map_fn(lambda a: a if a > 2.0 else inner(a), tf.stack([x, 1.0, 2.5]))


def built_ins(tf, x):
    rows = tf.placeholder_with_default(tf.ones([3, 2]), [None, 2])
    return len(rows), abs(x), int(x), float(tf.cast(x, tf.int32))


def try_and_with(tf, x):
    y = x
    with tf.name_scope("inside"):
        if x > 0:
            y = x * 3.0
    try:
        if x > 1:
            y = y + 1.0
    finally:
        y = y * 2.0
    return y


class Accumulator:
    def __init__(self, tf):
        self.total = tf.constant(0.0)

    def add(self, tf, x):
        for i in tf.range(3):
            self.total += x
            if x > 2.0:
                self.total += tf.cast(i, tf.float32)
        return self.total


def attributes(tf, x):
    return Accumulator(tf).add(tf, x)


def fibonacci(tf, x):
    a, b = 0, 1
    for _ in tf.range(tf.cast(x, tf.int32) + 3):
        a, b = b, a + b
    return a


def collatz(tf, x):
    n, steps = tf.cast(tf.abs(x), tf.int32) + 6, 0
    while n > 1:
        if tf.equal(n % 2, 0):
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def bisection(tf, x):
    low, high = tf.constant(0.0), tf.abs(x) + 1.0
    while high - low > 0.01:
        middle = (low + high) / 2.0
        if middle * middle > tf.abs(x):
            high = middle
        else:
            low = middle
    return low


PROGRAMS = [absolute, only_if, chain_of_ifs, returns_in_both, nested_ifs, several_variables, structures, while_loop, while_with_break, python_while,
            over_range, over_python_range_of_a_tensor, over_range_downwards, over_rows, over_a_list, nested_loops, logic, lazy_logic,
            conditional_expression, calls_a_function, recursion, function_inside, built_ins, try_and_with, attributes, fibonacci, collatz,
            bisection]
DIFFERENTIABLE = [absolute, only_if, chain_of_ifs, bisection, over_rows, over_a_list, conditional_expression, calls_a_function, attributes]


# --- errors ----------------------------------------------------------------------------------------------------------

def one_branch(tf, x):
    if x > 0:
        y = x
    return y


def one_return(tf, x):
    if x > 0:
        return x


def early_return(tf, x):
    if x > 10:
        if x > 20:
            return x * 2
        y = 1.0
    else:
        y = 2.0
    return y


def types_differ(tf, x):
    if x > 0:
        y = 1
    else:
        y = 2.0
    return y


def type_changes(tf, x):
    total = 0
    while x < 10.0:
        total = x
        x = x + 1.0
    return total


def shape_changes(tf, x):
    total = tf.zeros([1])
    while x < 10.0:
        total = tf.concat([total, [x]], 0)
        x = x + 1.0
    return total


def undefined_before_loop(tf, x):
    while x < 10.0:
        last = x
        x = x + 1.0
    return last


def return_in_loop(tf, x):
    while x < 10.0:
        x = x + 1.0
        if x > 5.0:
            return x
    return x


def structure_differs(tf, x):
    if x > 0:
        y = [x, x]
    else:
        y = x
    return y


def objects_differ(tf, x):
    if x > 0:
        y = object()
    else:
        y = 1.0
    return y


ERRORS = [one_branch, one_return, early_return, types_differ, type_changes, shape_changes, undefined_before_loop, return_in_loop, structure_differs,
          objects_differ]


# --- features --------------------------------------------------------------------------------------------------------

def asserts(tf, x):
    assert x > 0.0, "x must be positive"
    return x


def equality(tf, x):
    if x == 3.0:
        y = 1.0
    else:
        y = 2.0
    return y, x != 3.0


def list_in_loop(tf, x):
    items = []
    for i in tf.range(tf.cast(x, tf.int32)):
        items.append(i * i)
    return tf.contrib.autograph.stack(items, element_dtype=tf.int32)


FEATURES = [asserts, equality, list_in_loop]


def cases(tf, np):
    """The golden cases."""
    def fed(value):
        return tf.placeholder_with_default(tf.constant(value), [])

    def run(program, value, function=False, features=None):
        x = fed(value)
        if function:
            return _flat(tf, tf.function(lambda a: program(tf, a))(x))
        return _flat(tf, tf.autograph.to_graph(program, experimental_optional_features=features)(tf, x))

    def differentiated(program, value):
        x = fed(value)
        y = tf.autograph.to_graph(program)(tf, x)
        return _flat(tf, [y, tf.gradients(y, x)[0]])

    for program in PROGRAMS:
        for value in (-3.0, 1.0, 3.0, 14.0):
            yield "%s %s" % (program.__name__, value), lambda program=program, value=value: run(program, value)
        yield "function %s" % program.__name__, lambda program=program: run(program, 3.0, function=True)
    for program in DIFFERENTIABLE:
        for value in (-3.0, 3.0):
            yield "gradient %s %s" % (program.__name__, value), lambda program=program, value=value: differentiated(program, value)
    for program in ERRORS:
        yield "error %s" % program.__name__, lambda program=program: run(program, 3.0)
    everything = tf.autograph.experimental.Feature.ALL
    for program in FEATURES:
        for value in (-3.0, 3.0):
            yield "features %s %s" % (program.__name__, value), lambda program=program, value=value: run(program, value, features=everything)

    def over_dataset(value, stop):
        def total(a):
            s = a
            for item in tf.data.Dataset.range(10):
                if stop and item > 5:
                    break
                s += tf.cast(item, tf.float32)
            return s
        return _flat(tf, tf.autograph.to_graph(total)(fed(value)))

    yield "dataset", lambda: over_dataset(1.0, False)
    yield "dataset break", lambda: over_dataset(1.0, True)

    def mapped():
        def f(item):
            if item > 3:
                y = item * 10
            else:
                y = -item
            return y
        return _flat(tf, tf.data.Dataset.range(6).map(f).batch(6).make_one_shot_iterator().get_next())

    yield "dataset map", mapped

    def layer():
        class Clip(tf.keras.layers.Layer):
            def call(self, inputs):
                if tf.reduce_sum(inputs) > 5.0:
                    return inputs * 0.5
                return inputs

        clip = Clip()
        return _flat(tf, [clip(tf.constant([1.0, 2.0])), clip(tf.constant([4.0, 2.0]))])

    yield "layer", layer
