"""Sessions: fetches and feeds, the back ends behind a target, steps that are run in parts."""
from __future__ import annotations

import penstock.opencl  # noqa: F401 (registers the device kind)
