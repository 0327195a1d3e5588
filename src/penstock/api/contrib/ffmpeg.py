"""``tf.contrib.ffmpeg``: names that say what to use instead."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.api.explained": "decode_audio decode_video encode_audio",
}
publish(__name__, TABLE)
