"""``tf.contrib.cloud``: its names explain why they cannot work here."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.api.explained": "BigQueryReader BlockCacheParams ConfigureColabSession ConfigureGcsHook configure_colab_session configure_gcs"}
publish(__name__, TABLE)
