"""``penstock run`` as a user calls it, in processes of its own."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.process import environment, python


@pytest.fixture
def run(tmp_path):
    """Calls ``python -m penstock ARGUMENTS`` in a folder with ``prog.py``."""

    def call(*arguments: str, program: str = "", quiet: bool = True):
        (tmp_path / "prog.py").write_text(textwrap.dedent(program), encoding="utf-8")
        variables = environment(PENSTOCK_QUIET="1" if quiet else "")
        return subprocess.run([sys.executable, "-m", "penstock", *arguments], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60)

    return call


def test_runs_as_python_would(run, tmp_path):
    program = """
        import os, sys, pickle
        import tensorflow as tf
        class Thing: pass
        assert __name__ == "__main__" and sys.modules["__main__"].Thing is Thing
        assert isinstance(pickle.loads(pickle.dumps(Thing())), Thing)
        print(__file__, os.path.realpath(sys.path[0]), sys.argv, tf.__version__, sep="|")
    """
    result = run("run", "prog.py", "--flag=1", "--era", "-m", "rest", program=program)
    assert result.returncode == 0, result.stderr
    file, folder, argv, version = result.stdout.strip().split("|")
    assert Path(file) == tmp_path / "prog.py" and folder == os.path.realpath(tmp_path)
    assert argv == "['prog.py', '--flag=1', '--era', '-m', 'rest']" and version == "1.15.0"
    assert result.stderr == ""


def test_finds_modules_beside_the_program(run, tmp_path):
    (tmp_path / "beside.py").write_text("import tensorflow\nvalue = 42\n")
    assert run("run", "prog.py", program="import beside; print(beside.value)").stdout == "42\n"


def test_a_session_runs(run):
    program = """
        import tensorflow as tf
        with tf.Session() as sess:
            print(sess.run(tf.constant([1.0, 2.0]) * 3.0))
    """
    assert run("run", "prog.py", program=program).stdout == "[3. 6.]\n"


@pytest.mark.parametrize(("statement", "code"), [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('text')", 1), ("os._exit(3)", 3), ("1 / 0", 1)])
def test_exit_codes_pass_through(run, statement, code):
    assert run("run", "prog.py", program=f"import os, sys\n{statement}").returncode == code


def test_traceback_begins_in_the_program(run):
    result = run("run", "prog.py", program="def f():\n    raise ValueError('boom')\nf()\n")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Traceback") and lines[1].strip().startswith("File") and "prog.py" in lines[1] and "line 3" in lines[1]
    assert lines[-1] == "ValueError: boom"
    assert "penstock" not in result.stderr.replace("penstock-", "") and "runpy" not in result.stderr


def test_operations_are_made_by_lines_of_the_program_alone(run, tmp_path):
    """Not by the script of the command."""
    (tmp_path / "script.py").write_text("import sys\nfrom penstock.cli.main import main\nsys.exit(main(['run', 'prog.py']))\n")
    (tmp_path / "prog.py").write_text("import tensorflow as tf\nprint([frame[:2] for frame in tf.constant(1).op.traceback])\n")
    ended = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == repr([(str(tmp_path / "prog.py"), 2)]), ended.stderr


def test_a_module_of_tensorflow_that_is_a_program(run):
    ended = run("run", "-m", "tensorflow.python.debug.cli.offline_analyzer", "--dump_dir=nowhere")
    assert ended.returncode == 1 and "Dump root directory nowhere does not exist" in ended.stderr
    assert "cannot be executed" in run("run", "-m", "tensorflow.python.debug.cli").stderr


def test_flags_and_app_run(run):
    program = """
        import tensorflow as tf
        tf.app.flags.DEFINE_integer("steps", 3, "how many")
        def main(argv):
            print(argv[1:], tf.app.flags.FLAGS.steps)
            return 5
        if __name__ == "__main__":
            tf.app.run()
    """
    result = run("run", "prog.py", "--steps=4", "left", program=program)
    assert (result.stdout, result.returncode) == ("['left'] 4\n", 5), result.stderr


def test_module(run, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text("import sys, tensorflow; print(__name__, __package__, sys.argv[1:])")
    (tmp_path / "package" / "part.py").write_text("from . import __name__ as above; print(__name__, above)")
    assert run("run", "-m", "package", "x").stdout == "__main__ package ['x']\n"
    assert run("run", "-m", "package.part").stdout == "__main__ package\n"
    missing = run("run", "-m", "no_such_module")
    assert missing.returncode == 2 and "No module named no_such_module" in missing.stderr


def test_missing_file(run):
    result = run("run", "nowhere.py")
    assert result.returncode == 2 and "can't open 'nowhere.py'" in result.stderr


@pytest.mark.parametrize(("line", "what"), [
    ('print "hello"', "print statement"), ("print x, y", "print statement"), ('exec "x = 1"', "exec statement"),
    ('raise ValueError, "x"', "`raise Class, value`"), ("x = `1`", "backquotes"),
    ("if 1 <> 2: pass", "`<>`"), ("x = 10L", "long integer"), ("x = 0777", "octal"), ('x = ur"a"', "ur''"),
    ("try:\n    pass\nexcept ValueError, e:\n    pass", "`except Class, name`"), ("def f((a, b)): pass", "tuple as a parameter"),
    ("if True:\n        x = 1\n\ty = 2", "tabs and spaces"),
])
def test_python_2_is_recognised(run, line, what):
    result = run("run", "prog.py", program=line)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert "prog.py" in last and "is Python 2" in last and what in last and "2to3" in last


def test_python_2_in_an_imported_module(run, tmp_path):
    (tmp_path / "old.py").write_text('\nprint "hello"\n')
    result = run("run", "prog.py", program="import old")
    assert "old.py, line 2 is Python 2" in result.stderr


def test_plain_syntax_errors_get_no_hint(run):
    result = run("run", "prog.py", program="x = (1,\n")
    assert result.returncode == 1 and "SyntaxError" in result.stderr and "Python 2" not in result.stderr


ERA = """
    import base64, collections, fractions, inspect, os, threading, time
    import numpy as np
    assert np.float is float and np.int is int and np.object is object and np.float_ is np.float64 and np.Inf == np.inf
    assert np.array([True]).astype(np.bool).dtype == bool and np.zeros(2, np.long).dtype.kind == "i"
    assert np.asscalar(np.array([3])) == 3 and np.product([2, 3]) == 6 and np.alltrue([1, 1]) and list(np.in1d([1, 2], [2])) == [False, True]
    assert isinstance({}, collections.Mapping) and issubclass(list, collections.MutableSequence) and collections.Iterable
    assert inspect.getargspec(lambda a, b=1: a).defaults == (1,)
    assert time.clock() >= 0 and fractions.gcd(4, 6) == 2 and not threading.Thread().isAlive() and os.errno.EEXIST
    import imp, xml.etree.cElementTree as ET
    assert imp.new_module("x").__name__ == "x" and ET.fromstring("<a/>").tag == "a"
    from scipy import misc
    import scipy.misc
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    misc.imsave("a.png", pixels)
    assert (scipy.misc.imread("a.png") == pixels).all()
    assert misc.imresize(pixels, (2, 8)).shape == (2, 8, 3) and misc.imresize(pixels, 0.5).shape == (2, 2, 3)
    print("done")
"""


def test_names_of_the_era(run):
    result = run("run", "prog.py", program=ERA, quiet=False)
    assert result.stdout == "done\n", result.stderr
    assert len(result.stderr.splitlines()) == 1 and "numpy" in result.stderr and "--no-era" in result.stderr


def test_attributes_of_hdf5_files_are_bytes_again(run):
    pytest.importorskip("h5py")
    program = """
import h5py
with h5py.File("file.h5", "w") as file:
    file.attrs["bytes"], file.attrs["text"], file.attrs["several"] = b"abc", "abc", [b"a", b"bc"]
with h5py.File("file.h5", "r") as file:
    print(file.attrs["bytes"].decode(), file.attrs["text"], [each.decode() for each in file.attrs["several"]])
"""
    assert run("run", "prog.py", program=program).stdout == "abc abc ['a', 'bc']\n"


def test_scipy_has_its_older_names(run):
    program = """
import scipy.sparse
import scipy.stats
from scipy.sparse.linalg.eigen.arpack import eigsh
print(eigsh(2 * scipy.sparse.identity(5).tocsr(), 1, which="LM")[0].round(3), scipy.stats.frechet_r is scipy.stats.weibull_min)
"""
    assert run("run", "prog.py", program=program).stdout == "[2.] True\n"


def test_names_of_the_era_can_be_left_out(run):
    result = run("run", "--no-era", "prog.py", program="import numpy as np\nprint(hasattr(np, 'float'))", quiet=False)
    assert (result.stdout, result.stderr) == ("False\n", "")


def test_names_of_the_era_come_with_the_name_of_tensorflow():
    names = "import collections, numpy, penstock; assert 'float' not in vars(numpy)\n"
    python(names + "penstock.install_as_tensorflow(era=False); assert 'float' not in vars(numpy)")
    python(names + "penstock.install_as_tensorflow(); assert numpy.float is float and collections.Mapping")


def test_version(run):
    assert run("version").stdout.startswith("penstock 0.")
    assert run("--version").stdout == run("version").stdout


def test_help_lists_the_commands(run):
    result = run()
    assert result.returncode == 2 and all(command in result.stdout for command in ("run", "demo", "version"))
    assert "--no-era" in run("run", "--help").stdout
    assert run("no_such_command").returncode == 2


def test_kinds_of_types_as_numpy_had_them(tmp_path):
    program = tmp_path / "prog.py"
    program.write_text("import numpy as np\nprint(np.issubdtype(np.float32, np.float), np.issubdtype(np.int16, int), np.issubdtype(np.int8, float))\n"
                       "from PIL import Image\nprint(Image.ANTIALIAS == Image.LANCZOS)\n")
    done = subprocess.run([sys.executable, "-m", "penstock", "run", str(program)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["True", "True", "False", "True"], done.stderr


def test_ragged_arrays_are_of_objects_again(run):
    program = """
import numpy as np, tensorflow as tf
sentences = np.array([[1], [2, 3]])
print(sentences.dtype, np.asarray([[1, 2], [3]]).shape, np.array([[1, 2], [3, 4]]).dtype.kind)
for refused in (lambda: np.array([[1], [2, 3]], dtype=float), lambda: tf.constant([[1], [2, 3]])):
    try:
        refused()
    except ValueError as error:
        print("refused")
"""
    assert run("run", "prog.py", program=program).stdout.split() == ["object", "(2,)", "i", "refused", "refused"]
    assert "inhomogeneous" in run("run", "--no-era", "prog.py", program=program).stderr


ARRAYS_OF_THE_ERA = """
import numpy as np
print(np.array([-1, 300], dtype=np.uint8).tolist(), np.asarray([2 ** 31], np.int32).tolist(), np.array([1, 2], np.uint8).tolist())
print(np.vstack(row for row in ([1, 2], [3, 4])).tolist(), np.hstack(map(np.asarray, ([1], [2]))).tolist(), np.stack([[1], [2]]).shape)
print(np.max([[1], [2, 3]]), np.max([[1, 2], [3, 4]], axis=0).tolist(), np.shape([[1], [2, 3]]))
"""


def test_arrays_of_values_that_numpy_refuses_today(run):
    result = run("run", "prog.py", program=ARRAYS_OF_THE_ERA)
    assert result.stdout.splitlines() == ["[255, 44] [-2147483648] [1, 2]", "[[1, 2], [3, 4]] [1, 2] (2, 1)", "[2, 3] [3, 4] (2,)"], result.stderr
    assert "out of bounds" in run("run", "--no-era", "prog.py", program=ARRAYS_OF_THE_ERA).stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_have_tensorflow_too(run, method):
    program = f"""
        import multiprocessing
        import tensorflow as tf

        def double(value):
            import collections
            with tf.Session(graph=tf.Graph()) as sess, sess.graph.as_default():
                return float(sess.run(tf.constant(value) * 2)), hasattr(collections, "Mapping")

        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(1) as pool:
                print(pool.map(double, [1.0, 2.0]))
    """
    ended = run("run", "prog.py", program=program)
    assert ended.stdout == "[(2.0, True), (4.0, True)]\n", ended.stderr


def test_programs_that_a_program_calls(run, tmp_path):
    """They run as it does; what the environment wants Python to do at its start is done, too."""
    called = "import collections, sys, tensorflow\nprint(tensorflow.VERSION, hasattr(collections, 'Mapping'), sys.own)\n"
    (tmp_path / "called.py").write_text(called)
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.own = __file__\n")
    program = """
        import os, subprocess, sys
        os.environ["PYTHONPATH"] += os.pathsep + os.getcwd()
        print(subprocess.run([sys.executable, "called.py"], capture_output=True, text=True))
    """
    for options, era in (((), True), (("--no-era",), False)):
        ended = run("run", *options, "prog.py", program=program, quiet=False)
        assert f"1.15.0 {era} {tmp_path / 'sitecustomize.py'}" in ended.stdout and "stderr=''" in ended.stdout, ended


def test_other_pythons_are_left_alone(run):
    """One that cannot import Penstock goes on as ever."""
    program = """
        import os, subprocess, sys
        os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"].split(os.pathsep)[0]
        print(subprocess.run([sys.executable, "-S", "-c", "import site; site.main(); print('here')"], capture_output=True, text=True).stdout)
        print(subprocess.run([sys.executable, "-I", "-c", "import sys; print('tensorflow' in sys.modules)"], capture_output=True, text=True).stdout)
    """
    ended = run("run", "prog.py", program=program)
    assert ended.stdout.split() == ["here", "False"], ended.stderr


def test_text_as_a_program(run):
    text = "import sys, tensorflow as tf; print(tf.__version__, sys.argv, repr(sys.path[0]), __name__)"
    assert run("run", "-c", text, "--flag").stdout == "1.15.0 ['-c', '--flag'] '' __main__\n"
    assert run("run", "-m", "-c", text).returncode == 2


def test_the_standard_input_as_a_program(tmp_path):
    ended = subprocess.run([sys.executable, "-m", "penstock", "run", "-", "a"], cwd=tmp_path, env=environment(PENSTOCK_QUIET="1"), timeout=60,
                           input="import sys, tensorflow as tf\nprint(tf.__version__, sys.argv)\n", capture_output=True, text=True)
    assert ended.stdout == "1.15.0 ['-', 'a']\n", ended.stderr
