"""``tf.logging``: messages on the terminal."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.platform.logging": "DEBUG ERROR FATAL INFO WARN debug error fatal flush get_verbosity info log log_every_n log_first_n log_if "
                                 "set_verbosity vlog warn warning TaskLevelStatusMessage",
}
publish(__name__, TABLE)
