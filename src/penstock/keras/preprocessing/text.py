"""``tf.keras.preprocessing.text``: texts as sequences of numbers."""
from __future__ import annotations

import hashlib
import json
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from penstock.platform import logging

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(text: str, filters: str = FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    """``tf.keras.preprocessing.text.text_to_word_sequence``."""
    text = text.lower() if lower else text
    return [word for word in text.translate({ord(sign): split for sign in filters}).split(split) if word]


def one_hot(text: str, n: int, filters: str = FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """``tf.keras.preprocessing.text.one_hot``: a number below ``n`` for each word, by Python's ``hash``."""
    return hashing_trick(text, n, hash_function=hash, filters=filters, lower=lower, split=split)


def hashing_trick(text: str, n: int, hash_function: Any = None, filters: str = FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """``tf.keras.preprocessing.text.hashing_trick``: a number from 1 to ``n`` - 1 for each word; "md5" is the same in every process."""
    function: Callable[[str], int] = hash if hash_function is None else hash_function
    if hash_function == "md5":
        def function(word: str) -> int:
            return int(hashlib.md5(word.encode()).hexdigest(), 16)
    return [function(word) % (n - 1) + 1 for word in text_to_word_sequence(text, filters, lower, split)]


class Tokenizer:
    """``tf.keras.preprocessing.text.Tokenizer``: words by how often they occur; 1 is the most frequent one, 0 is none."""

    def __init__(self, num_words: int | None = None, filters: str = FILTERS, lower: bool = True, split: str = " ", char_level: bool = False,
                 oov_token: Any = None, document_count: int = 0, **kwargs: Any) -> None:
        if "nb_words" in kwargs:
            logging.warning("The `nb_words` argument in `Tokenizer` has been renamed `num_words`.")
            num_words = kwargs.pop("nb_words")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_counts: OrderedDict[str, int] = OrderedDict()
        self.word_docs: defaultdict[str, int] = defaultdict(int)
        self.index_docs: defaultdict[int, int] = defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> list[str]:
        if not self.char_level and not isinstance(text, list):
            return text_to_word_sequence(text, self.filters, self.lower, self.split)
        if not self.lower:
            return list(text)
        return [word.lower() for word in text] if isinstance(text, list) else list(text.lower())

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Counts the words of texts."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ordered = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        listed = ([] if self.oov_token is None else [self.oov_token]) + [word for word in ordered if word != self.oov_token or self.oov_token is None]
        self.word_index = {word: index for index, word in enumerate(listed, 1)}
        self.index_word = {index: word for word, index in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Iterable[Any]) -> None:
        """Counts the numbers of sequences."""
        for sequence in sequences:
            self.document_count += 1
            for index in set(sequence):
                self.index_docs[index] += 1

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """The numbers of the words of texts; words that are not known are left out, or become that of ``oov_token``."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """``texts_to_sequences``, text by text."""
        unknown = self.word_index.get(self.oov_token)
        for text in texts:
            numbers = []
            for word in self._words(text):
                index = self.word_index.get(word)
                if index is None or (self.num_words and index >= self.num_words):
                    index = unknown
                if index is not None:
                    numbers.append(index)
            yield numbers

    def sequences_to_texts(self, sequences: Iterable[Any]) -> list[str]:
        """The words of numbers."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Any]) -> Iterator[str]:
        """``sequences_to_texts``, sequence by sequence."""
        unknown = self.word_index.get(self.oov_token)
        for sequence in sequences:
            words = []
            for index in sequence:
                word = self.index_word.get(index)
                if word is not None and self.num_words and index >= self.num_words:
                    word = None if unknown is None else self.index_word[unknown]
                elif word is None and self.oov_token is not None:
                    word = self.index_word[unknown]  # type: ignore[index]
                if word is not None:
                    words.append(word)
            yield " ".join(words)

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray:
        """A row per text: see ``sequences_to_matrix``."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode=mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> np.ndarray:
        """A row per sequence: which words occur ("binary"), how often ("count"), as a share ("freq"), or weighted ("tfidf")."""
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError("Unknown vectorization mode:", mode)
        matrix = np.zeros((len(sequences), self.num_words or len(self.word_index) + 1))
        for row, sequence in zip(matrix, sequences):
            counts: dict[int, int] = defaultdict(int)
            for index in sequence:
                if index < len(row):
                    counts[index] += 1
            for index, count in counts.items():
                row[index] = self._weight(mode, index, count, len(sequence))
        return matrix

    def _weight(self, mode: str, index: int, count: int, length: int) -> float:
        """The entry of a word that occurs ``count`` times in a sequence."""
        if mode == "tfidf":
            return float((1 + np.log(count)) * np.log(1 + self.document_count / (1 + self.index_docs.get(index, 0))))
        return 1 if mode == "binary" else count / length if mode == "freq" else count

    def get_config(self) -> dict[str, Any]:
        """The settings, with the words as JSON."""
        names = ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        tables = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        return {**{name: getattr(self, name) for name in names}, **{name: json.dumps(getattr(self, name)) for name in tables}}

    def to_json(self, **kwargs: Any) -> str:
        """The tokenizer as JSON."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)
