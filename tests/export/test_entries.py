"""Names of entry points, arguments and variables: whatever they are in TensorFlow, C and C++ can compile the header, and link several models."""
from __future__ import annotations

import shutil
import subprocess

import pytest

import penstock as tf
from penstock.export.entries import entry_names, identifiers
from support.exported import needs_compiler

WORDS = ("int and or not xor bitand compl and_eq export friend namespace explicit typename catch true nullptr constexpr static_assert asm decltype "
         "wchar_t alignas thread_local requires concept co_await typeof NULL I linux unix main errno stdin INFINITY NAN model batch").split()
_USE = '#include <complex.h>\n#include <math.h>\n#include <stdio.h>\n#include "{}.h"\nint use({} *model) {{ return {}(model); }}\n'
_USE_IN_CPP = _USE.replace("<complex.h>", "<cmath>")


def compile_header(made, function):
    """With all warnings, as C and as C++."""
    for compiler, name, text in ((["gcc", "-std=gnu11"], "use.c", _USE), (["g++", "-std=c++20"], "use.cc", _USE_IN_CPP)):
        if shutil.which(compiler[0]):
            source = made.files["header"].with_name(name)
            source.write_text(text.format(made.name, made.name, function))
            subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source], check=True)


@pytest.mark.graph
def test_names_are_distinct_and_not_those_of_every_model():
    assert entry_names(["init", "message", "start", "stop"]) == ["init_2", "message_2", "start_2", "stop_2"]
    assert entry_names(["run", "a-b", "a.b"]) == ["run", "a_b", "a_b_2"]
    assert identifiers(["model", "x", "x:0", "1st", "class"]) == ["model_2", "x", "x_2", "_1st", "class_"]


@pytest.mark.process
@needs_compiler
def test_words_of_c_and_cpp_as_names_of_arguments_and_variables(tmp_path):
    x = tf.placeholder(tf.float32, [None, 2])
    variables = [tf.get_variable(f"scope/{word}", [2]) for word in WORDS]
    update = tf.group(*[each.assign_add([1.0, 2.0]) for each in variables])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        entries = {"results": ({word: x + index for index, word in enumerate(WORDS)}, x),
                   "feeds": (x + 1, {word: x if word == "int" else tf.placeholder(tf.float32, [None, 2]) for word in WORDS}), "update": (update, [])}
        compile_header(tf.export(entries, None, tmp_path, session=session, kind="object", name="m"), "m_update")


@pytest.mark.process
@needs_compiler
@pytest.mark.parametrize("name", ["init", "main", "and", "my model-1.2", "2nd", "asm"])
def test_words_as_names_of_models_and_entry_points(tmp_path, name):
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        entries = {each: (x * 2, x) for each in ("run", "init", "message", "and", "a/b", "a.b")}
        made = tf.export({**entries, "init": (tf.constant(1.0) + 1, [])}, None, tmp_path, session=session, kind="object", name=name)
    compile_header(made, f"{made.name}_init")


@pytest.mark.process
@needs_compiler
def test_several_models_in_one_program(tmp_path):
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        made = [tf.export({"y": x * factor}, {"x": x}, tmp_path, session=session, kind="object", name=name)
                for name, factor in (("twice", 2.0), ("thrice", 3.0))]
    (tmp_path / "main.c").write_text("""
#include "thrice.h"
#include "twice.h"
static twice first;
static thrice second;
int main(void) {
    float x[2] = {1, 2}, y[2], z[2];
    if (twice_init(&first) || thrice_init(&second) || twice_run(&first, x, y) || thrice_run(&second, x, z)) return 2;
    return y[1] != 4 || z[1] != 6;
}
""")
    objects = [each.files["object"] for each in made]
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", tmp_path / "main", tmp_path / "main.c", *objects, "-lm"], check=True)
    subprocess.run([tmp_path / "main"], check=True)
