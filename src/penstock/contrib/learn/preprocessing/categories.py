"""Categories as numbers. Attributes have the names that TensorFlow's objects have, so that pickles of either can be read."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from penstock.contrib.learn.io.pandas_io import extract_pandas_matrix


class CategoricalVocabulary:
    """``tf.contrib.learn.preprocessing.CategoricalVocabulary``: numbers for categories, in the order in which they come; 0 is unknown."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token, self._support_reverse = unknown_token, support_reverse
        self._freq: dict[Any, int] = defaultdict(int)
        self._freeze = False
        self._number([])

    def _number(self, categories: Iterable[Any]) -> None:
        self._reverse_mapping = [self._unknown_token, *categories]
        self._mapping = {category: number for number, category in enumerate(self._reverse_mapping)}

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """From now on, new categories are unknown."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The number of a category; a new one gets the next number, unless the vocabulary is frozen."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a category."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps categories that came more than ``min_frequency`` and less than ``max_frequency`` times; the most frequent get the lowest numbers."""
        by_name = sorted(self._freq.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        ordered = sorted(by_name, key=lambda item: item[1], reverse=True)
        self._number(category for category, count in ordered if count > min_frequency and not 0 < max_frequency <= count)
        self._freq = dict(ordered[:len(self._mapping) - 1])

    def reverse(self, class_id: int) -> Any:
        """The category with a number."""
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse to support reverse() function.")
        return self._reverse_mapping[class_id]


class CategoricalProcessor:
    """``tf.contrib.learn.preprocessing.CategoricalProcessor``: a vocabulary for each column of a table, or one for all; NaN is unknown."""

    def __init__(self, min_frequency: int = 0, share: bool = False, vocabularies: list[CategoricalVocabulary] | None = None) -> None:
        self.min_frequency, self.share, self.vocabularies_ = min_frequency, share, vocabularies

    def freeze(self, freeze: bool = True) -> None:
        """From now on, new categories are unknown."""
        for vocabulary in self.vocabularies_ or ():
            vocabulary.freeze(freeze)

    def fit(self, x: Any, unused_y: Any = None) -> CategoricalProcessor:
        """Learns the categories of a table."""
        for row in extract_pandas_matrix(x):
            if self.vocabularies_ is None:
                shared = CategoricalVocabulary()
                self.vocabularies_ = [shared if self.share else CategoricalVocabulary() for _ in row]
            for vocabulary, value in zip(self.vocabularies_, row):
                if not _is_nan(value):
                    vocabulary.add(value)
        if self.min_frequency > 0:
            for vocabulary in self.vocabularies_ or ():
                vocabulary.trim(self.min_frequency)
        self.freeze()
        return self

    def fit_transform(self, x: Any, unused_y: Any = None) -> Iterator[np.ndarray]:
        """Learns the categories, and yields the rows as numbers."""
        return self.fit(x).transform(x)

    def transform(self, x: Any) -> Iterator[np.ndarray]:
        """Yields the rows of a table as numbers."""
        self.freeze()
        for row in extract_pandas_matrix(x):
            yield np.array([0 if _is_nan(value) else vocabulary.get(value) for vocabulary, value in zip(self.vocabularies_ or (), row)], np.int64)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value
