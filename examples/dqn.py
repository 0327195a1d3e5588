"""Deep Q-learning on a small world that is built in: walk to the goal of a grid, around a pit. With a replay memory and a target network.

    python examples/dqn.py
"""
import random
from collections import deque

import numpy as np

import penstock as tf

SIZE, GOAL, PIT, MOVES = 4, (3, 3), (1, 2), [(0, 1), (0, -1), (1, 0), (-1, 0)]


def step(place, action):
    """(new place, reward, whether it is over)."""
    row, column = (min(max(a + b, 0), SIZE - 1) for a, b in zip(place, MOVES[action]))
    reward = 1.0 if (row, column) == GOAL else -1.0 if (row, column) == PIT else -0.02
    return (row, column), reward, (row, column) in (GOAL, PIT)


def encoded(place):
    """A place as a vector with a single one."""
    vector = np.zeros(SIZE * SIZE, np.float32)
    vector[place[0] * SIZE + place[1]] = 1
    return vector


def network(places, scope):
    """The value of each move."""
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        return tf.layers.dense(tf.layers.dense(places, 32, tf.nn.relu, name="hidden"), len(MOVES), name="values")


def main(episodes=150, seed=0):
    """Returns the reward of the learned way from the opposite corner; the best possible is 0.9."""
    random.seed(seed)
    memory = deque(maxlen=2000)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(seed)
        places, after = tf.placeholder(tf.float32, [None, SIZE * SIZE]), tf.placeholder(tf.float32, [None, SIZE * SIZE])
        actions, rewards, over = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
        values = network(places, "online")
        best_next = tf.reduce_max(network(after, "target"), axis=1)
        wanted = tf.stop_gradient(rewards + 0.9 * (1 - over) * best_next)
        chosen = tf.reduce_sum(values * tf.one_hot(actions, len(MOVES)), axis=1)
        train = tf.train.AdamOptimizer(5e-3).minimize(tf.losses.huber_loss(wanted, chosen), var_list=tf.trainable_variables("online"))
        copy = tf.group(*(target.assign(online) for target, online in zip(tf.trainable_variables("target"), tf.trainable_variables("online"))))
        session.run(tf.global_variables_initializer())

        def best(place):
            return int(np.argmax(session.run(values, {places: [encoded(place)]})[0]))

        for _ in range(episodes):
            session.run(copy)
            place, ended = (0, 0), False
            for _ in range(30):
                action = random.randrange(4) if random.random() < 0.5 else best(place)
                new, reward, ended = step(place, action)
                memory.append((encoded(place), action, reward, encoded(new), float(ended)))
                place = new
                if len(memory) >= 64:
                    batch = [np.array(part) for part in zip(*random.sample(memory, 64))]
                    session.run(train, dict(zip((places, actions, rewards, after, over), batch)))
                if ended:
                    break
        place, total, way = (0, 0), 0.0, [(0, 0)]
        for _ in range(12):
            place, reward, ended = step(place, best(place))
            total += reward
            way.append(place)
            if ended:
                break
    print(f"reward {total:.2f} on the way {way}")
    return total


if __name__ == "__main__":
    main()
