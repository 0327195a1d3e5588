"""What a name may look like."""
from __future__ import annotations

import re

VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")
