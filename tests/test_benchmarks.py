"""The benchmarks stay runnable: their table is sound, and Penstock runs the small models."""
from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.layers.sessions import forget_session
from support.imperative import imperative

FOLDER = Path(__file__).parent.parent / "benchmarks"
SMALL = ("softmax", "mlp", "dependent", "null", "queue", "gaussian_process", "maxout")


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    """The modules of the folder, which import each other by their plain names; gone again afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


def load(name):
    return importlib.import_module(name)


@pytest.mark.graph
def test_cases_are_sound():
    cases, peers, models = load("cases").CASES, load("peers"), load("models.tf_models")
    sizes = load("models.architectures")
    nets = sizes.NETS
    for case in cases.values():
        assert case.peers in peers.KINDS
        eager = case.name.removeprefix("eager_") in load("models.eager_models").MODELS
        is_model = eager or case.name in {*models.MODELS, *load("models.tf_seldom").MODELS}
        is_model = is_model or case.name.partition("_")[0] in {*models.MODELS, *nets, *sizes.FITS}
        assert (FOLDER / case.script).is_file() if case.script else is_model
    assert all(name in peers.PEERS for names in peers.KINDS.values() for name in names)


@pytest.mark.graph
def test_cases_that_documents_name_exist():
    texts = [path.read_text(encoding="utf-8") for path in (*FOLDER.parent.glob("*.md"), *FOLDER.parent.glob("docs/*.md"), FOLDER / "run.py")]
    named = {case for text in texts for cases in re.findall(r"--cases ([a-z0-9_,]+)", text) for case in cases.split(",")}
    assert {"mlp", "resnet_4"} <= named <= set(load("cases").CASES)


@pytest.mark.graph
def test_the_paper_s_page_finds_the_rows_of_the_cluster_benchmark():
    lines = load("paper_runs").recorded_null_steps().splitlines()
    assert sum(line.startswith(("| scalar |", "| dense 100 MB |", "| sparse 1M rows |")) for line in lines) == 12


@pytest.mark.graph
def test_the_paper_s_page_shows_null_steps_beside_tensorflow_s_or_those_of_the_cluster_benchmark(tmp_path):
    page, runs = load("paper_runs"), load("runs").Runs(tmp_path / "runs.json")
    runs.measure((page.PENSTOCK, "scalar", 1), 1, lambda: {"rate": 1000.0, "others": 0.0, "median": 0.001, "p10": 0.0005, "p90": 0.002})
    assert page.null_steps(runs) == page.recorded_null_steps()
    runs.measure((page.TENSORFLOW, "scalar", 1), 1, lambda: {"rate": 500.0, "others": 0.0, "median": 0.002, "p10": 0.001, "p90": 0.003})
    assert "| scalar | 1 | 1.00 | 0.50 | 2.00 | 2.00 | 1.00 | 3.00 | 2.00 |" in page.null_steps(runs)


@pytest.mark.process
@pytest.mark.parametrize("case", SMALL)
def test_step_runs(case):
    with tf.Graph().as_default():
        step = load("models.tf_models").make(case, "penstock")
        try:
            first, second = step.run(), step.run()
        finally:
            step.close()
    assert np.all(np.isfinite(first[-1] if isinstance(first, list) else first))
    if case in ("softmax", "mlp"):
        assert second[-1] < first[-1]  # it learns


@pytest.mark.process
def test_epochs_run(monkeypatch):
    monkeypatch.setitem(load("models.architectures").FITS, "small", (8, 4))
    parameters = []
    for module in ("tf_models", "hand_models"):
        with tf.Graph().as_default() as graph:
            step = load(f"models.{module}").make("small_fit", "penstock")
            step.run()
            parameters.append(step.parameters)
            assert step.batches == 4
            if step.close is not None:
                step.close()
            forget_session(graph)
    assert parameters[0] == parameters[1] == 784 * 32 + 32 + 32 * 10 + 10


@pytest.mark.process
@pytest.mark.parametrize("case", ["mlp", "mlp_function", "dependent", "null"])
def test_imperative_step_runs(case):
    with imperative():
        step = load("models.eager_models").MODELS[case](tf)
        results = [np.ravel(step.run())[0] for _ in range(4)]
    assert np.all(np.isfinite(results)) and (results == sorted(results, reverse=True) if "mlp" in case else len({*results}) == 1)


@pytest.mark.process
@pytest.mark.parametrize("program, words", [
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
    ("raise ValueError('no such case')", "ended with exit code 1\n.*no such case"),
    ("import time; time.sleep(60)", "no answer within 1 seconds")])
def test_a_process_that_ends_without_an_answer_is_told_with_the_way_it_ended(tmp_path, monkeypatch, program, words):
    processes, (peer, *_) = load("processes"), load("peers").PEERS.values()
    (tmp_path / "worker.py").write_text(program)
    monkeypatch.setattr(processes, "HERE", tmp_path)
    monkeypatch.setattr(processes, "READY", 1 if "sleep" in program else 60)
    with pytest.raises(processes.BenchmarkFailed, match=f"(?s)^Penstock, mlp: {words}"):
        processes.Worker(peer, "mlp")


@pytest.mark.process
def test_input_pipelines_run(tmp_path, monkeypatch):
    models = load("models.input_models")
    monkeypatch.setattr(models, "BATCH", 8)
    monkeypatch.setattr(models, "STEP_UNITS", 4)
    for name in models.COUNTS:
        monkeypatch.setitem(models.COUNTS, name, 64 if name != "jpeg" else 3)
    pipelines = load("input")
    pipelines.make_files(tmp_path)
    monkeypatch.setenv("PENSTOCK_BENCH_DATA", str(tmp_path))
    for case in pipelines.LABELS:
        with tf.Graph().as_default():
            step = models.make(case, "penstock")
            step.run()
            step.close()


@pytest.mark.graph
def test_input_table(tmp_path):
    pipelines = load("input")
    columns = pipelines.peers()[:2]
    results = {"csv": {"penstock": 30000.0, "tf": 10000.0}, "step": {"penstock": 95.0, "tf": 80.0}, "step_alone": {"penstock": 100.0, "tf": 100.0}}
    pipelines.write(tmp_path / "INPUT.md", results, columns, {"penstock": "0.1"}, 3)
    text = (tmp_path / "INPUT.md").read_text()
    assert "| decode_csv of lines, batch | 30,000 | 10,000 | 3.00 |" in text
    assert "Penstock 5.0%, TF 2 20.0%" in text


@pytest.mark.graph
def test_table(tmp_path):
    table = load("table")
    found = {"mlp": {"penstock": 2e-3, "tf": 4e-3, "jax": 1e-3}, "null": {"penstock": 9e-6}}
    assert table.ratio(found["mlp"]) == 2.0 and table.ratio(found["null"]) is None
    table.write(tmp_path / "RESULTS.md", found, {"penstock": "1", "tf": "2", "jax": "3"}, 5)
    lines = (tmp_path / "RESULTS.md").read_text().splitlines()
    assert "| case | Penstock | TF | JAX | ratio | aim |" in lines
    assert "| MLP 784-512-512-10, batch 128, Adam | 2.00 ms | 4.00 ms | 1.00 ms | 2.00 | 0.90 (0.70) |" in lines


@pytest.mark.graph
def test_a_new_table_of_exported_models_leaves_what_is_around_it():
    export = load("export")
    page = "# Head\n\n<!-- table -->\n\n| model | ms |\n|---|---|\n| old | 1 |\n\nMeasured then.\n\n## More\n\n| other |\n"
    lines = ["| model | ms |", "|---|---|", "| new | 2 |"]
    assert export.with_table(page, lines) == page.replace("| old | 1 |", "| new | 2 |")
    real = (FOLDER / "EXPORT.md").read_text()
    assert "## 8-bit weights" in export.with_table(real, lines).partition("| new | 2 |")[2]


@pytest.mark.parametrize("value, unit, text", [(1.234, "s", "1.23 s"), (0.0456, "s", "45.6 ms"), (7.89e-4, "s", "789 µs"), (3 << 29, "B", "1.50 GB")])
@pytest.mark.graph
def test_amounts(value, unit, text):
    assert load("table").amount(value, unit) == text
