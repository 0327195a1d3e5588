"""Names of ops in protos, moved into or out of a name scope."""
from __future__ import annotations

import re


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """The name inside ``import_scope``; prefixes such as ``loc:@`` and ``^`` stay in front.

    >>> prepend_name_scope("v/read:0", "copy"), prepend_name_scope("^init", "copy")
    ('copy/v/read:0', '^copy/init')
    """
    if not import_scope:
        return name
    prefix = re.match(r"\^|loc:@|", name).group()  # type: ignore[union-attr]
    return f"{prefix}{import_scope.rstrip('/')}/{name[len(prefix):]}"


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """The name without ``export_scope`` in front of it.

    >>> strip_name_scope("tower/v:0", "tower"), strip_name_scope("^tower/init", "tower/")
    ('v:0', '^init')
    """
    if not export_scope:
        return name
    scope = re.escape(export_scope.rstrip("/"))
    return re.sub(rf"([\^]|loc:@|^){scope}/(.*)", r"\1\2", name, count=1)
