"""Stable Baselines 2.10 on Penstock: PPO learns to go right, is saved and loaded.

    make libraries ARGS=stable_baselines
"""
import os
import tempfile

import gym
import numpy as np
from stable_baselines import PPO2
from stable_baselines.common.vec_env import DummyVecEnv


class Corridor(gym.Env):
    """Seven places; a reward for each step to the right."""

    observation_space = gym.spaces.Box(0.0, 6.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self):
        self.place, self.steps = 0, 0
        return np.array([0.0], np.float32)

    def step(self, action):
        self.steps += 1
        self.place = min(max(self.place + (1 if action else -1), 0), 6)
        return np.array([self.place], np.float32), 1.0 if action else -1.0, self.steps >= 12, {}


model = PPO2("MlpPolicy", DummyVecEnv([Corridor]), n_steps=64, seed=0, verbose=0)
model.learn(800)
path = os.path.join(tempfile.mkdtemp(), "ppo")
model.save(path)
again = PPO2.load(path)
actions = [int(again.predict(np.array([float(place)], np.float32), deterministic=True)[0]) for place in range(7)]
print("stable_baselines: actions", actions)
assert sum(actions) >= 5
