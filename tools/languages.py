"""The tests of the front ends in C++ and JavaScript, with koffi, which Node calls libraries by, from npm: in build/node."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NODE = ROOT / "build" / "node"


def main() -> int:
    if not (NODE / "node_modules" / "koffi").exists():
        NODE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(NODE), "koffi@2"], check=True)
    environment = {**os.environ, "NODE_PATH": str(NODE / "node_modules")}
    command = [sys.executable, "-m", "pytest", "-q", "--timeout", "300", "tests/capi/test_languages.py"]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
