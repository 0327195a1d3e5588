"""``make libraries``: libraries of TensorFlow's time, unmodified from PyPI, on Penstock.

    python tools/libraries.py            # Keras 2.2.5 and tf_slim 1.1.0
    python tools/libraries.py --all      # all that are listed
    python tools/libraries.py tflearn    # one of them

Each gets an environment of its own in ``build/libraries``, with Penstock as its ``tensorflow`` (`penstock install-alias`) and no TensorFlow; then a
program of ``examples/libraries`` runs in it. The libraries' own requirements are installed only as far as the program needs them: some pin versions
that today's Python cannot have.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "libraries"
FIRST = ("keras", "tf_slim")

# name -> (the library, what else its program needs, the program, whether pip finds all its requirements met)
LIBRARIES: dict[str, tuple[str, str, str, bool]] = {
    "keras": ("keras==2.2.5 keras_applications==1.0.8 keras_preprocessing==1.1.2", "six h5py pyyaml", "keras_classifier.py", True),
    "tf_slim": ("tf_slim==1.1.0", "six", "slim_classifier.py", True),
    "adanet": ("adanet==0.8.0", "six nose rednose", "adanet_ensemble.py", False),
    "bert": ("bert-tensorflow==1.0.1", "six", "bert_encoder.py", False),
    "cleverhans": ("cleverhans==3.0.1", "six matplotlib joblib", "cleverhans_attack.py", False),
    "deepctr": ("deepctr==0.7.5", "requests", "deepctr_model.py", False),
    "gpflow": ("gpflow==1.5.1", "decorator multipledispatch pandas tabulate pytest six", "gpflow_regression.py", False),
    "stable_baselines": ("stable-baselines==2.10.2 gym==0.12.5", "cloudpickle joblib matplotlib pandas opencv-python-headless requests six",
                         "stable_baselines_ppo.py", False),
    "tensorrec": ("tensorrec==0.26.2", "six", "tensorrec_recommender.py", False),
    "tfp": ("tensorflow-probability==0.8.0", "six decorator cloudpickle gast==0.2.2", "tfp_monte_carlo.py", False),
    "tflearn": ("tflearn==0.3.2", "six", "tflearn_classifier.py", False),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Run libraries of TensorFlow's time on Penstock.")
    parser.add_argument("names", nargs="*", metavar="LIBRARY", help=f"of {', '.join(LIBRARIES)} (default: {', '.join(FIRST)})")
    parser.add_argument("--all", action="store_true", help="all of them")
    options = parser.parse_args()
    names = list(LIBRARIES) if options.all else options.names or list(FIRST)
    unknown = sorted(set(names) - LIBRARIES.keys())
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    results = {name: _run(name) for name in names}
    print()
    for name, (problem, seconds) in results.items():
        print(f"{LIBRARIES[name][0].split()[0]:28} {problem or 'runs':40} {seconds:6.1f} s")
    return int(any(problem for problem, _ in results.values()))


def _run(name: str) -> tuple[str, float]:
    """(what went wrong, or nothing; the seconds that the program took)."""
    library, others, program, complete = LIBRARIES[name]
    print(f"--- {library} ---", flush=True)
    python = _environment(name, library, others)
    if complete and subprocess.run([python, "-m", "pip", "check"]).returncode:
        return "pip check is not content", 0.0
    start = time.perf_counter()
    done = subprocess.run([python, str(ROOT / "examples" / "libraries" / program)], cwd=FOLDER, timeout=900)
    return ("" if done.returncode == 0 else f"{program} failed with exit code {done.returncode}"), time.perf_counter() - start


def _environment(name: str, library: str, others: str) -> str:
    """The Python of an environment with Penstock, its alias and the library; made anew if what is listed has changed."""
    folder = FOLDER / name
    python, stamp = str(folder / "bin" / "python"), folder / "installed"
    wanted = f"{library}|{others}|{sys.version}"
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--editable", f"{ROOT}[keras]", *others.split()], check=True)
        subprocess.run([*install, "--no-deps", *library.split()], check=True)
        stamp.write_text(wanted)
    subprocess.run([python, "-m", "penstock", "install-alias", "--era"], check=True)
    return python


if __name__ == "__main__":
    sys.exit(main())
