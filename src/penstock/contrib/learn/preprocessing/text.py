"""Texts as rows of numbers: of words, or of bytes."""
from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from penstock.contrib.learn.preprocessing.categories import CategoricalVocabulary
from penstock.platform import gfile

TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)  # TensorFlow's: ids depend on it


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """``tf.contrib.learn.preprocessing.tokenizer``: yields the words of each text."""
    for text in iterator:
        yield TOKENIZER_RE.findall(text)


class ByteProcessor:
    """``tf.contrib.learn.preprocessing.ByteProcessor``: the bytes of texts, cut off or filled with zeros."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> None:
        """Nothing: there is nothing to learn."""

    def fit_transform(self, x: Iterable[Any]) -> Iterator[np.ndarray]:
        """The same as ``transform``."""
        return self.transform(x)

    def transform(self, x: Iterable[Any]) -> Iterator[np.ndarray]:
        """Yields the bytes of each text, in UTF-8."""
        for document in x:
            data = document.encode() if isinstance(document, str) else bytes(document)
            codes = np.frombuffer(data[:self.max_document_length], np.uint8)
            yield np.pad(codes, (0, self.max_document_length - len(codes)))

    def reverse(self, x: Iterable[np.ndarray]) -> Iterator[str]:
        """Yields the text of each row; an empty one, if the bytes are not UTF-8."""
        for codes in x:
            try:
                yield np.trim_zeros(codes.astype(np.int8), trim="b").tobytes().decode()
            except UnicodeDecodeError:
                yield ""


class VocabularyProcessor:
    """``tf.contrib.learn.preprocessing.VocabularyProcessor``: the numbers of the words of texts, cut off or filled with zeros."""

    def __init__(self, max_document_length: int, min_frequency: int = 0, vocabulary: CategoricalVocabulary | None = None,
                 tokenizer_fn: Callable[[Iterable[Any]], Iterable[list[Any]]] | None = None) -> None:
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[Any], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[Any], unused_y: Any = None) -> Iterator[np.ndarray]:
        """Learns the words, and yields the texts as numbers."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[Any]) -> Iterator[np.ndarray]:
        """Yields the numbers of the words of each text."""
        for words in self._tokenizer(raw_documents):
            ids = np.zeros(self.max_document_length, np.int64)
            known = [self.vocabulary_.get(word) for word in words[:self.max_document_length]]
            ids[:len(known)] = known
            yield ids

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yields the words of each row of numbers."""
        for ids in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in ids)

    def save(self, filename: str) -> None:
        """Writes it to a file, as a pickle."""
        with gfile.GFile(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """The one that ``save`` has written. A pickle can run any code: read those alone that you trust."""
        with gfile.GFile(filename, "rb") as file:
            return pickle.loads(file.read())
