"""WarmStartSettings: from which checkpoint a new model takes its first values."""
from __future__ import annotations

import os
from typing import Any, NamedTuple

from penstock.platform import logging
from penstock.saved_model.constants import VARIABLES_DIRECTORY, VARIABLES_FILENAME
from penstock.saved_model.loader import maybe_saved_model_directory
from penstock.train.warm_start import VocabInfo, warm_start


class _Settings(NamedTuple):
    ckpt_to_initialize_from: str
    vars_to_warm_start: Any
    var_name_to_vocab_info: dict[str, VocabInfo]
    var_name_to_prev_var_name: dict[str, str]


class WarmStartSettings(_Settings):
    """``tf.estimator.WarmStartSettings``: the checkpoint, the variables to take, their vocabularies and former names."""

    def __new__(cls, ckpt_to_initialize_from: str, vars_to_warm_start: Any = ".*", var_name_to_vocab_info: dict[str, VocabInfo] | None = None,
                var_name_to_prev_var_name: dict[str, str] | None = None) -> WarmStartSettings:
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(cls, ckpt_to_initialize_from, vars_to_warm_start, var_name_to_vocab_info or {}, var_name_to_prev_var_name or {})


def as_settings(warm_start_from: Any) -> WarmStartSettings | None:
    """Settings, or the path of a checkpoint, its folder, or a SavedModel, as settings."""
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if not isinstance(warm_start_from, (str, os.PathLike)):
        raise ValueError(f"warm_start_from must be a string or a WarmStartSettings, instead got {type(warm_start_from)}")
    path = os.fspath(warm_start_from)
    if maybe_saved_model_directory(path):
        path = os.path.join(path, VARIABLES_DIRECTORY, VARIABLES_FILENAME)
    return WarmStartSettings(path)


def apply_settings(settings: WarmStartSettings | None) -> None:
    """Gives the variables of the default graph their first values."""
    if settings is not None:
        logging.info("Warm-starting with WarmStartSettings: %s", settings)
        warm_start(*settings)
