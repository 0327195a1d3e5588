"""``tf.contrib.learn.preprocessing``: texts and categories as numbers."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.learn.preprocessing"
TABLE: dict[str, str] = {
    f"{HERE}.categories": "CategoricalProcessor CategoricalVocabulary",
    f"{HERE}.text": "ByteProcessor VocabularyProcessor tokenizer",
    f"{HERE}.categories:": "categorical categorical_vocabulary",
    f"{HERE}.text:": "text",
}
publish(__name__, TABLE)
