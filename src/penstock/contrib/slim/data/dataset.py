"""Dataset: where a data set lies, how to read and decode it, and what is in it."""
from __future__ import annotations

from typing import Any


class Dataset:
    """Attributes that describe a data set; further ones can be given."""

    def __init__(self, data_sources: Any, reader: Any, decoder: Any, num_samples: int, items_to_descriptions: dict[str, str],
                 **kwargs: Any) -> None:
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
        self.__dict__.update(kwargs)
