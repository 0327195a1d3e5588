"""Exported models for other machines: object files for all of them, and runs of those that can be run here."""
from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from llvmlite import binding

import penstock as tf
from penstock.export import targets
from penstock.export.targets import TARGETS, X86, find, host, host_cpu
from support.exported import needs_compiler, needs_emulator, needs_linker, needs_program, run_bare, run_program

pytestmark = pytest.mark.process
# How an object file begins, or for ELF what it says its machine is.
ELF = {"x86_64": 62, "aarch64": 183, "armv7": 40}


@pytest.fixture
def model():
    """A network of convolution, exponentials and a product, its input, and what it gives."""
    x = tf.placeholder(tf.float32, [None, 8, 8, 2], name="x")
    layer = tf.nn.sigmoid(tf.layers.conv2d(x, 5, 3, padding="same"))
    layer = tf.reduce_max(tf.nn.leaky_relu(tf.layers.conv2d(layer, 7, 2, strides=2)), [1, 2])
    y = tf.nn.softmax(tf.layers.dense(layer, 10))
    values = np.random.RandomState(0).randn(3, 8, 8, 2).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        yield session, x, y, values, session.run(y, {x: values})


def export(model, folder, **options):
    session, x, y, _, _ = model
    return tf.export({"y": y}, {"x": x}, folder, session=session, batch=3, **options)


@pytest.mark.parametrize("name", TARGETS)
def test_objects_are_of_their_target(model, tmp_path, name):
    made = export(model, tmp_path, target=name, kind="object")
    content = made.files["object"].read_bytes()
    if "macos" in name:
        assert content[:4] == b"\xcf\xfa\xed\xfe"
    elif "windows" in name:
        assert content[:2] == b"\x64\x86"
    elif name == "wasm32":
        assert content[:4] == b"\0asm"
    else:
        assert content[:4] == b"\x7fELF" and int.from_bytes(content[18:20], "little") == ELF[name.partition("-")[0]]
    assert made.code_bytes < 500_000


def test_cpus_of_a_target():
    assert find("x86_64-linux", "x86-64-v4").machine.features.count("avx512f") == 1
    with pytest.raises(ValueError, match="x86-64-v3"):
        find("x86_64-linux", "z80")


def test_the_cpu_of_this_machine(monkeypatch):
    level = find("host", "host").machine
    assert level.cpu == host_cpu() and (not host().startswith("x86_64") or level.features == X86[level.cpu])
    with pytest.raises(ValueError, match="this machine is"):
        find("wasm32", "host")
    monkeypatch.setattr(targets, "host", lambda: "x86_64-linux")
    for missing, expected in (("avx512vl", "x86-64-v3"), ("avx2", "x86-64-v2"), ("", "x86-64-v4")):
        here = {each[1:]: each[1:] != missing for each in X86["x86-64-v4"].split(",")}
        monkeypatch.setattr(targets.binding, "get_host_cpu_features", lambda here=here: here)
        assert host_cpu() == expected
    monkeypatch.setattr(targets.binding, "get_host_cpu_features", dict)
    with pytest.raises(ValueError, match="x86-64-v2"):
        host_cpu()


@needs_linker
@needs_emulator("aarch64")
def test_aarch64_by_an_emulator(model, tmp_path):
    made = export(model, tmp_path, target="aarch64-linux", kind="object")
    found = run_bare(made, model[3], (3, 10), "aarch64-linux-musl", "aarch64", batch=3)
    np.testing.assert_allclose(found, model[4], rtol=1e-5, atol=1e-6)


@needs_linker
@needs_emulator("arm")
def test_armv7_by_an_emulator(model, tmp_path):
    made = export(model, tmp_path, target="armv7-linux", kind="object")
    found = run_bare(made, model[3], (3, 10), "arm-linux-musleabihf", "arm", batch=3)
    np.testing.assert_allclose(found, model[4], rtol=1e-5, atol=1e-6)


@needs_linker
@needs_emulator("aarch64")
def test_android_code_by_an_emulator(model, tmp_path):
    made = export(model, tmp_path, target="aarch64-android", kind="object")
    found = run_bare(made, model[3], (3, 10), "aarch64-linux-musl", "aarch64", batch=3)
    np.testing.assert_allclose(found, model[4], rtol=1e-5, atol=1e-6)


@needs_compiler
@pytest.mark.skipif(host() != "x86_64-linux" or not binding.get_host_cpu_features().get("avx2"), reason="needs x86-64 with AVX2")
def test_android_code_of_this_cpu(model, tmp_path):
    made = export(model, tmp_path, target="x86_64-android", kind="object")
    np.testing.assert_allclose(run_program(made, model[3], (3, 10), batch=3), model[4], rtol=1e-5, atol=1e-6)


@needs_linker
@pytest.mark.parametrize("name", ["aarch64-android", "x86_64-android", "aarch64-macos", "x86_64-macos"])
def test_libraries_for_machines_that_are_not_here(model, tmp_path, name):
    made = export(model, tmp_path, target=name, threads=2)
    content = made.files["library"].read_bytes()
    assert b"model_run" in content and b"model_start" in content
    if "android" in name:
        assert content[:4] == b"\x7fELF" and b"libm.so\0" in content and b"libc.so\0" in content  # what it asks a device for
    else:
        assert content[:4] == b"\xcf\xfa\xed\xfe" and b"@rpath/libmodel.dylib" in content


@needs_linker
@needs_program("wine", "apt install wine64")
@pytest.mark.timeout(1200)  # zig compiles the C library of Windows first
def test_windows_by_wine(model, tmp_path, monkeypatch):
    monkeypatch.setenv("WINEDEBUG", "-all")
    monkeypatch.setenv("WINEPREFIX", str(tmp_path / "wine"))
    made = export(model, tmp_path, target="x86_64-windows", kind="object")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu"]
    found = run_program(made, model[3], (3, 10), batch=3, compiler=compiler, emulator=["wine"])
    np.testing.assert_allclose(found, model[4], rtol=1e-5, atol=1e-6)


_NODE = """
import { load } from "./model.js";
import { readFileSync } from "node:fs";
const bytes = readFileSync(process.argv[2]);
const model = await load();
const x = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const before = model.run({ x }).y;
const after = model.run({ x }).y;
let error = "";
try { model.run({ x: x.slice(1) }); } catch (caught) { error = caught.message; }
console.log(JSON.stringify({ before: [...before], after: [...after], error }));
"""


@needs_linker
@needs_program("node", "apt install nodejs")
@pytest.mark.parametrize("weights", ["inside", "beside"])
def test_webassembly_in_node(model, tmp_path, weights):
    made = export(model, tmp_path, target="wasm32", weights=weights)
    assert made.files["library"].read_bytes()[:4] == b"\0asm"
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "main.js").write_text(_NODE)
    (tmp_path / "x.bin").write_bytes(model[3].tobytes())
    done = subprocess.run(["node", "main.js", "x.bin"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    np.testing.assert_allclose(np.reshape(result["before"], (3, 10)), model[4], rtol=1e-5, atol=1e-6)
    assert result["before"] == result["after"]
    assert result["error"] == "x has 383 elements; a row of the batch has 128"


_INTEGERS = """
import { load } from "./model.js";
const model = await load(), ones = count => Array(count).fill(1);
const answers = [];
for (const ids of [[1, 2, 3], BigInt64Array.of(1n, 2n, 3n), ones(600)]) answers.push([...model.run({ ids }).twice].map(Number));
for (const ids of [[1.5], "x"]) try { model.run({ ids }); } catch (error) { answers.push(error.message); }
console.log(JSON.stringify(answers));
"""


@needs_linker
@needs_program("node", "apt install nodejs")
def test_webassembly_takes_numbers_as_integers_of_64_bits(tmp_path):
    ids = tf.placeholder(tf.int64, [None], name="ids")
    with tf.Session() as session:
        tf.export({"twice": ids * 2}, {"ids": ids}, tmp_path, session=session, target="wasm32", batch=[1, 64], any_batch=True)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "main.js").write_text(_INTEGERS)
    done = subprocess.run(["node", "main.js"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    numbers, bigs, many, fraction, text = json.loads(done.stdout)
    assert numbers == bigs == [2, 4, 6] and many == [2] * 600
    assert "1.5 cannot be converted to a BigInt" in fraction and "Cannot convert x to a BigInt" in text
