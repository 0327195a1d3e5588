"""Deep Q-learning on a corridor: Python's own control flow, a replay memory of arrays, and a target network that is copied."""
import collections
import random

import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
tf.set_random_seed(0)
random.seed(0)
LENGTH = 5


def one_hot(place):
    return np.eye(LENGTH, dtype=np.float32)[place]


class Net:
    def __init__(self):
        self.layers = [tf.layers.Dense(24, tf.nn.tanh), tf.layers.Dense(2)]
        self(tf.zeros([1, LENGTH]))

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    @property
    def variables(self):
        return [variable for layer in self.layers for variable in layer.variables]


net, target = Net(), Net()
memory = collections.deque(maxlen=500)
optimizer = tf.train.AdamOptimizer(0.01)
for episode in range(60):
    place = 0
    for _ in range(20):
        values = net(tf.constant(one_hot(place)[None]))
        action = random.randrange(2) if random.random() < 0.3 else int(tf.argmax(values[0]))
        arrived = max(0, place + (1 if action else -1))
        done = arrived == LENGTH - 1
        memory.append((one_hot(place), action, float(done), one_hot(arrived), float(done)))
        place = arrived
        if len(memory) >= 16:
            before, actions, rewards, after, ends = map(np.array, zip(*random.sample(list(memory), 16)))
            best = tf.reduce_max(target(tf.constant(after)), axis=1)
            wanted = tf.stop_gradient(rewards.astype(np.float32) + 0.9 * (1.0 - ends.astype(np.float32)) * best)
            with tf.GradientTape() as tape:
                chosen = tf.reduce_sum(net(tf.constant(before)) * tf.one_hot(actions, 2), axis=1)
                loss = tf.losses.huber_loss(wanted, chosen)
            optimizer.apply_gradients(zip(tape.gradient(loss, net.variables), net.variables))
        if done:
            break
    if episode % 5 == 0:
        for mine, theirs in zip(target.variables, net.variables):
            mine.assign(theirs)
ways = [int(tf.argmax(net(tf.constant(one_hot(place)[None]))[0])) for place in range(LENGTH - 1)]
assert ways == [1] * (LENGTH - 1), ways
print("ok q_learning:", ways)
