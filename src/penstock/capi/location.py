"""Where the shared library of a Python is: ``python -m penstock.capi.location`` says it for that Python."""
from __future__ import annotations

import os
import sys
import sysconfig


def shared_library() -> str | None:
    """The path of libpython, or None if this Python has none."""
    names = dict.fromkeys(sysconfig.get_config_var(key) or "" for key in ("INSTSONAME", "LDLIBRARY"))
    folders = [sysconfig.get_config_var("LIBDIR") or "", os.path.join(sys.base_prefix, "lib"), sysconfig.get_config_var("LIBPL") or "",
               os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("MULTIARCH") or ""),
               sysconfig.get_config_var("PYTHONFRAMEWORKPREFIX") or ""]
    for folder in filter(None, folders):
        for name in filter(None, names):
            path = os.path.join(folder, name)
            if (".so" in name or ".dylib" in name or "framework" in path) and os.path.exists(path):
                return os.path.abspath(path)
    return None


def static_library() -> str | None:
    """The path of libpython as an archive, or None if there is none."""
    path = os.path.join(sysconfig.get_config_var("LIBPL") or "", sysconfig.get_config_var("LIBRARY") or "")
    return path if path.endswith(".a") and os.path.exists(path) else None


def main() -> int:
    """Prints the path."""
    path = shared_library()
    if path is None:
        print(f"{sys.executable} has no shared libpython", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
