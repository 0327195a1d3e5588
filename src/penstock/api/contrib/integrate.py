"""``tf.contrib.integrate``: ordinary differential equations."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.integrate.adaptive": "odeint",
    "penstock.contrib.integrate.fixed": "odeint_fixed",
}
publish(__name__, TABLE)
