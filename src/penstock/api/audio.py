"""``tf.audio``: WAV files."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.signal.audio": "decode_wav encode_wav",
}
publish(__name__, TABLE)
