"""Sentences about the weather, made at random. Shared by the programs about text."""
from __future__ import annotations

import numpy as np

_GOOD = "sunny warm mild bright calm pleasant lovely".split()
_BAD = "rainy cold stormy grey windy awful wet".split()
_FILLERS = "the weather today in town was really quite rather very and morning evening again".split()


def reviews(count: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Sentences, and whether the weather was good: a "not" turns the word behind it around."""
    random = np.random.RandomState(seed)
    sentences, labels = [], []
    for _ in range(count):
        good, negated = random.randint(2), random.rand() < 0.3
        words = list(random.choice(_FILLERS, random.randint(3, 9)))
        word = random.choice(_GOOD if bool(good) != negated else _BAD)
        place = random.randint(len(words) + 1)
        words[place:place] = ["not", word] if negated else [word]
        sentences.append(" ".join(words))
        labels.append(good)
    return sentences, np.array(labels)
