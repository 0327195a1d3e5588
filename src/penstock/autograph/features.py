"""What a conversion is asked for: ``tf.autograph.experimental.Feature``, and the options that go with it."""
from __future__ import annotations

import enum
from typing import Any


class Feature(enum.Enum):
    """Optional parts of a conversion. Without any, control flow, logical expressions and calls are converted."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """All features."""
        return tuple(cls.__members__.values())

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """All features but these."""
        excluded = set(exclude) if isinstance(exclude, (list, tuple, set)) else {exclude}
        return tuple(set(cls.all()) - excluded - {cls.ALL})


class ConversionOptions:
    """The options of a conversion: they decide what code comes out, and are inherited by the functions that are called if ``recursive``."""

    def __init__(self, recursive: bool = False, user_requested: bool = False, internal_convert_user_code: bool = True,
                 optional_features: Any = Feature.ALL) -> None:
        self.recursive, self.user_requested, self.internal_convert_user_code = recursive, user_requested, internal_convert_user_code
        given = () if optional_features is None else (optional_features,) if isinstance(optional_features, Feature) else optional_features
        self.optional_features = frozenset(given)

    def as_tuple(self) -> tuple[Any, ...]:
        """What tells options apart."""
        return self.recursive, self.user_requested, self.internal_convert_user_code, self.optional_features

    def __hash__(self) -> int:
        return hash(self.as_tuple())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConversionOptions) and self.as_tuple() == other.as_tuple()

    def uses(self, feature: Feature) -> bool:
        """Is a feature asked for?"""
        return Feature.ALL in self.optional_features or feature in self.optional_features

    def call_options(self) -> ConversionOptions:
        """The options for functions that are called."""
        return ConversionOptions(self.recursive, False, self.recursive, self.optional_features)
