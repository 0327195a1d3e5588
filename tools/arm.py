"""``make arm``: Penstock on AArch64, under qemu: the tests of the compiler and of sessions.

    python tools/arm.py                        # makes the environment, in build/arm, runs tests of all GROUPS, and prints a table
    python tools/arm.py --most 200 kernels     # some groups, up to so many tests of each (0: all), evenly spread
    python tools/arm.py --limit 600 flow       # each for at most so many seconds of CPU time
    python tools/arm.py tests/ops -k Conv2D    # other tests: arguments of pytest
    python tools/arm.py --shell -c 'import penstock'

The environment is a Python of Debian for arm64, unpacked from its packages, with the wheels of PyPI for that machine; nothing is installed, and root
is not needed. What the emulator says of speed means nothing. What it shows: that LLVM's code for NEON is right, and that nothing takes an x86 for
granted. qemu has the instructions of Armv8-A; wider ones (SVE) are not used.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("PENSTOCK_ARM", ROOT / "build" / "arm"))
SYSTEM, WHEELS, PYTHON = FOLDER / "root", FOLDER / "site", FOLDER / "python"
VERSION = "3.11"  # of Python, in Debian 12
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_17_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
# What runs, group by group: everything is emulated, some twenty times slower than it is, and one process at a time. The rule: tests in which machine
# code computes numbers, of each group at most MOST, evenly spread over its files (``spread.py``), so that all groups end within an hour. Left out
# are tests of processes and of the clock (they say nothing of the machine, and wait for an emulator in vain), and random programs.
GROUPS = {
    "smoke": ["tests/test_smoke.py"],
    "vectors": ["tests/native/vector"],
    "machine": ["tests/native/machine/test_isa.py", "tests/native/machine/test_codegen.py"],
    "contractions": ["tests/native/contract"],
    "fusion": ["tests/native/fusion"],
    "kernels": ["tests/native/kernels"],
    "flow": ["tests/native/specialise"],
    "ops": ["tests/native/test_native_ops.py"],
    "sessions": ["tests/session"],
}
LEFT_OUT = "not fuzz and not processes and not overhead"  # by their names
MOST, LIMIT = 40, 1800  # tests of a group, and its seconds of CPU time
_PATIENCE = 4  # times as many seconds may pass: a test that waits in vain uses none
SOURCES = """Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


def main(arguments: list[str]) -> int:
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if qemu is None or shutil.which("apt-get") is None:
        print("qemu-aarch64 and apt-get are needed: apt install qemu-user, on Debian or Ubuntu", file=sys.stderr)
        return 1
    if not PYTHON.exists():
        _unpack_system()
        _install_wheels()
    _write_python(qemu)
    if arguments[:1] == ["--shell"]:
        return subprocess.run([str(PYTHON), *arguments[1:]], cwd=ROOT).returncode
    settings = {"--limit": LIMIT, "--most": MOST}
    while arguments and arguments[0] in settings:
        settings[arguments[0]], arguments = int(arguments[1]), arguments[2:]
    if all(each in GROUPS for each in arguments):
        spread = ["-p", "spread", "--most", str(settings["--most"]), "-k", LEFT_OUT]
        return _run_groups({name: [*spread, *GROUPS[name]] for name in arguments or GROUPS}, settings["--limit"])
    return subprocess.run([str(PYTHON), *_PYTEST, *arguments], cwd=ROOT).returncode


_PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "1800"]


def _run_groups(groups: dict[str, list[str]], limit: int) -> int:
    """Runs them one after the other; what a group had passed when its time was over is told."""
    rows = []
    for name, arguments in groups.items():
        print(f"--- {name} ---", flush=True)
        log, start = FOLDER / f"{name}.log", time.monotonic()
        with log.open("w") as output:
            process = subprocess.Popen([str(PYTHON), *_PYTEST, *arguments], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
            try:
                outcome = "passed" if _wait(process, limit) == 0 else "FAILED"
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
                outcome = "not ended"
        text = log.read_text(errors="replace")
        words = text.strip().splitlines()[-1:] if outcome != "not ended" else [_progress(text)]
        rows.append((name, outcome, time.monotonic() - start, "".join(words)))
        print("".join(words) if outcome != "FAILED" else text[-4000:], flush=True)
    print()
    for name, outcome, seconds, words in rows:
        print(f"{name:13} {outcome:10} {seconds:6.0f} s  {words}")
    return int(any(outcome == "FAILED" for _, outcome, _, _ in rows))


def _wait(process: subprocess.Popen[bytes], limit: int) -> int:
    """Its exit code. The limit is one of CPU time: beside other programs an emulator gets little of that in a minute, and no test has failed then."""
    end = time.monotonic() + _PATIENCE * limit
    while True:
        try:
            return process.wait(2)
        except subprocess.TimeoutExpired:
            if _cpu_seconds(process.pid) > limit or time.monotonic() > end:
                raise


def _cpu_seconds(pid: int) -> float:
    """What a process and those that it has waited for have used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _progress(text: str) -> str:
    """What the lines of dots tell of a run that was ended."""
    dots = "".join(line.partition("[")[0] for line in text.splitlines() if line and set(line.partition("[")[0].strip()) <= set(".sxF"))
    return f"{dots.count('.')} passed, {dots.count('F')} failed, {dots.count('s')} skipped when its time was over"


def _unpack_system() -> None:
    """Python and the libraries that it needs, of Debian for arm64: with lists and a cache of apt of their own."""
    apt = FOLDER / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "sources"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "sources" / "debian.sources").write_text(SOURCES, encoding="utf-8")
    settings = {"Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": apt / "sources", "Dir::State::Lists": apt / "lists",
                "Dir::State::status": "/dev/null", "Dir::Cache": apt / "cache", "APT::Architecture": "arm64", "APT::Architectures::": "arm64",
                "APT::Sandbox::User": "root", "Debug::NoLocking": "1"}
    options = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
    subprocess.run(["apt-get", *options, "-q", "update"], check=True)
    subprocess.run(["apt-get", *options, "-q", "-y", "--no-install-recommends", "--download-only", "install", "python3", "libpython3-stdlib",
                    "libstdc++6"], check=True)
    SYSTEM.mkdir(exist_ok=True)
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(SYSTEM)], check=True)


def _install_wheels() -> None:
    """What Penstock and its tests need, for that machine."""
    every = [(text, extra) for text, _, extra in (each.partition(";") for each in metadata.requires("penstock") or ())]
    wanted = [text for text, extra in every if not extra or ("dev" in extra and text.startswith(("pytest", "hypothesis", "h5py")))]
    platforms = [part for each in PLATFORMS for part in ("--platform", each)]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target", str(WHEELS),
                    "--only-binary=:all:", "--implementation", "cp", "--python-version", VERSION, *platforms, *wanted], check=True)


def _write_python(qemu: str) -> None:
    """The command that is Python there; it is also what a process of it starts others by."""
    (WHEELS / "sitecustomize.py").write_text(f"import sys\nsys.executable = {str(PYTHON)!r}\n", encoding="utf-8")
    path = ":".join(map(str, (WHEELS, ROOT / "src", ROOT / "tools")))
    PYTHON.write_text(f"#!/bin/sh\nexport PYTHONPATH={path} PYTHONDONTWRITEBYTECODE=1 PENSTOCK_CACHE_DIR={FOLDER / 'cache'}\n"
                      f'exec {qemu} -L {SYSTEM} {SYSTEM}/usr/bin/python{VERSION} "$@"\n', encoding="utf-8")
    PYTHON.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
