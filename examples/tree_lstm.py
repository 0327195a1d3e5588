"""Trees of different shapes in one static graph: a tree-LSTM that learns to evaluate boolean formulas.

    python examples/tree_lstm.py

The recipe, for any recursive structure: number the nodes of all trees of a batch level by level, leaves first, so that children come before
their parents. The graph then has one loop over levels; each iteration gathers the states of the children that the level needs, computes all its
nodes at once, and appends their states. The work is proportional to the number of nodes, the number of iterations is the height of the tallest
tree, and the trees of a batch may all be different. ``tf.while_loop`` differentiates it.
"""
import numpy as np

import penstock as tf

UNITS = 16
LEAVES = ["false", "true"]
OPERATORS = {"and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b}
WORDS = LEAVES + list(OPERATORS)


def random_formula(rng, depth):
    """A leaf, or (operator, left, right)."""
    if depth == 0 or rng.rand() < 0.2:
        return LEAVES[rng.randint(2)]
    return (list(OPERATORS)[rng.randint(3)], random_formula(rng, depth - 1), random_formula(rng, depth - 1))


def evaluate(formula):
    """Its truth value."""
    if isinstance(formula, str):
        return formula == "true"
    return OPERATORS[formula[0]](evaluate(formula[1]), evaluate(formula[2]))


def flatten(formulas):
    """The nodes of all trees, by level: words, left and right children, where each level starts, and where the roots are."""
    nodes = []  # (level, word, left, right) with children as positions in this list

    def visit(formula):
        if isinstance(formula, str):
            nodes.append((0, WORDS.index(formula), 0, 0))
        else:
            left, right = visit(formula[1]), visit(formula[2])
            nodes.append((1 + max(nodes[left][0], nodes[right][0]), WORDS.index(formula[0]), left, right))
        return len(nodes) - 1

    roots = [visit(formula) for formula in formulas]
    order = sorted(range(len(nodes)), key=lambda index: nodes[index][0])
    place = np.empty(len(nodes), np.int32)
    place[order] = np.arange(len(nodes))
    levels = np.array([nodes[index][0] for index in order])
    return {"words": np.array([nodes[index][1] for index in order], np.int32),
            "left": np.array([place[nodes[index][2]] for index in order], np.int32),
            "right": np.array([place[nodes[index][3]] for index in order], np.int32),
            "starts": np.searchsorted(levels, np.arange(levels[-1] + 2)).astype(np.int32), "roots": place[roots]}


class TreeLSTM:
    """States of all nodes, computed level by level."""

    def __init__(self):
        self.inputs = {name: tf.placeholder(tf.int32, [None], name=name) for name in ("words", "left", "right", "starts", "roots")}
        self.labels = tf.placeholder(tf.float32, [None], name="labels")
        self.embedding = tf.get_variable("embedding", [len(WORDS), UNITS])
        self.kernel = tf.get_variable("kernel", [3 * UNITS, 5 * UNITS])
        states = self._states()
        logits = tf.squeeze(tf.matmul(tf.gather(states, self.inputs["roots"])[:, :UNITS], tf.get_variable("output", [UNITS, 1])), 1)
        self.loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=self.labels, logits=logits))
        self.accuracy = tf.reduce_mean(tf.cast(tf.equal(logits > 0, self.labels > 0.5), tf.float32))
        self.train = tf.train.AdamOptimizer(0.01).minimize(self.loss)

    def _states(self):
        given = self.inputs
        height = tf.size(given["starts"]) - 1
        leaves = tf.gather(self.embedding, given["words"][:given["starts"][1]])

        def level(index, states):
            rows = slice(given["starts"][index], given["starts"][index + 1])
            word = tf.gather(self.embedding, given["words"][rows])
            left, right = tf.gather(states, given["left"][rows]), tf.gather(states, given["right"][rows])
            gates = tf.matmul(tf.concat([word, left[:, :UNITS], right[:, :UNITS]], 1), self.kernel)
            i, f_left, f_right, o, new = tf.split(gates, 5, axis=1)
            cell = tf.sigmoid(i) * tf.tanh(new) + tf.sigmoid(f_left + 1.0) * left[:, UNITS:] + tf.sigmoid(f_right + 1.0) * right[:, UNITS:]
            return index + 1, tf.concat([states, tf.concat([tf.sigmoid(o) * tf.tanh(cell), cell], 1)], 0)

        start = tf.concat([tf.tanh(leaves), leaves], 1)  # of a leaf: its word
        return tf.while_loop(lambda index, states: index < height, level, [1, start],
                             shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2 * UNITS])])[1]

    def feed(self, formulas):
        """The feed_dict of a batch."""
        flat = flatten(formulas)
        return {**{self.inputs[name]: flat[name] for name in self.inputs}, self.labels: [float(evaluate(formula)) for formula in formulas]}


def main(steps=400):
    """Trains on small formulas, tests on larger ones."""
    rng = np.random.RandomState(0)
    tf.set_random_seed(1)
    model = TreeLSTM()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(steps):
            loss, _ = session.run([model.loss, model.train], model.feed([random_formula(rng, 3) for _ in range(32)]))
            if step % 100 == 0:
                print(f"step {step:3d}  loss {loss:.4f}")
        accuracy = session.run(model.accuracy, model.feed([random_formula(rng, 5) for _ in range(300)]))
    print(f"accuracy on larger formulas: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
