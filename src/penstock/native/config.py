"""When kernels are compiled, and how many threads run one: from the environment, changeable by a program.

    PENSTOCK_COMPILE=background   steps with real work wait for the compiler, if they train or run again; NumPy begins with the others (the default)
    PENSTOCK_COMPILE=eager        every step waits for the compiler, also one that runs once
    PENSTOCK_COMPILE=off          NumPy only
    PENSTOCK_DUMP=ir,asm          prints each kernel that is compiled, as LLVM IR, as assembly, or as both
    PENSTOCK_THREADS=4            threads that share a large kernel (default: the CPUs that this process may use, by affinity and quota)
    PENSTOCK_ISA=avx2             kernels use no instructions beyond AVX2, as on a CPU that has no others: to test and measure them there
    PENSTOCK_WINOGRAD=off         convolutions of 3x3 and 5x5 windows are sums of products too: they take longer and round a little less
    PENSTOCK_STRICT=1             an error inside the compiler is raised, instead of leaving the region to NumPy: for tests
"""
from __future__ import annotations

import os
from dataclasses import dataclass

from penstock.platform.cpus import available_cpus

MODES = ("background", "eager", "off")
ISAS = ("", "avx2")
SWITCH = ("on", "off")


def _mode() -> str:
    mode = os.environ.get("PENSTOCK_COMPILE", "background")
    if mode not in MODES:
        raise ValueError(f"PENSTOCK_COMPILE={mode}: it can be {', '.join(MODES)}")
    return mode


def _threads() -> int:
    text = os.environ.get("PENSTOCK_THREADS", "")
    if text and not (text.isdigit() and int(text)):
        raise ValueError(f"PENSTOCK_THREADS={text}: it has to be a number of threads")
    return int(text) if text else available_cpus()


def _dump() -> frozenset[str]:
    wanted = frozenset(word.strip() for word in os.environ.get("PENSTOCK_DUMP", "").split(",") if word.strip())
    if wanted - {"ir", "asm"}:
        raise ValueError(f"PENSTOCK_DUMP={','.join(sorted(wanted))}: it can be ir, asm, or ir,asm")
    return wanted


def _isa() -> str:
    isa = os.environ.get("PENSTOCK_ISA", "")
    if isa not in ISAS:
        raise ValueError(f"PENSTOCK_ISA={isa}: it can be avx2, or not set")
    return isa


def _winograd() -> bool:
    text = os.environ.get("PENSTOCK_WINOGRAD", "on")
    if text not in SWITCH:
        raise ValueError(f"PENSTOCK_WINOGRAD={text}: it can be {' or '.join(SWITCH)}")
    return text == "on"


@dataclass
class Config:
    """The settings in force; assign to them."""

    mode: str
    threads: int
    dump: frozenset[str] = frozenset()
    isa: str = ""  # the most that kernels may ask of the CPU; "": all that it has
    strict: bool = False  # an error inside the compiler is raised instead of leaving the region to NumPy
    winograd: bool = True  # may convolutions take Winograd's way?


config = Config(_mode(), _threads(), _dump(), _isa(), os.environ.get("PENSTOCK_STRICT", "") not in ("", "0"), _winograd())


def get_compiler() -> str:
    """How steps become native code: "background", "eager" or "off"."""
    return config.mode


def set_compiler(mode: str) -> None:
    """``penstock.config.set_compiler``: "eager" has every step wait for native code, "off" leaves all to NumPy, "background" is the default.

    It holds for plans that are made from now on; the first ``run`` of some fetches makes one.

    >>> import penstock as tf
    >>> before = tf.config.get_compiler()
    >>> tf.config.set_compiler("eager")
    >>> tf.config.get_compiler()
    'eager'
    >>> tf.config.set_compiler(before)
    """
    if mode not in MODES:
        raise ValueError(f"the compiler can be {', '.join(MODES)}, not {mode!r}")
    config.mode = mode


def get_threads() -> int:
    """How many threads share a large kernel."""
    return config.threads


def set_threads(threads: int) -> None:
    """How many threads share a large kernel in sessions that are made from now on; ``ConfigProto.intra_op_parallelism_threads`` overrides it."""
    if threads < 1:
        raise ValueError(f"{threads} threads: at least one is needed")
    config.threads = threads


def get_winograd() -> bool:
    """May convolutions of 3x3 and 5x5 windows take Winograd's way?"""
    return config.winograd


def set_winograd(allowed: bool) -> None:
    """``penstock.config.set_winograd``: False has convolutions of 3x3 and 5x5 windows computed as sums of products too, in plans made from now on.

    >>> import penstock as tf
    >>> tf.config.set_winograd(False)
    >>> tf.config.get_winograd()
    False
    >>> tf.config.set_winograd(True)
    """
    config.winograd = bool(allowed)
