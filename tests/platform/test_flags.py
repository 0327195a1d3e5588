"""Flags: absl's, plus what TensorFlow adds."""
from __future__ import annotations

import sys

import pytest
from absl import flags as absl_flags

from penstock.platform import flags
from penstock.platform.flags import FlagsThatParseThemselves
from support.process import python


@pytest.fixture
def values(monkeypatch):
    """FLAGS over flag values of its own, so that the tests' flags stay in the tests."""
    monkeypatch.setattr(sys, "argv", ["prog", "--n=5", "--nob"])
    own = FlagsThatParseThemselves(absl_flags.FlagValues())
    flags.DEFINE_integer("n", 3, "a number", flag_values=own)
    flags.DEFINE_boolean("b", True, "a truth", flag_values=own)
    flags.DEFINE_enum("e", "x", ["x", "y"], "a choice", flag_values=own)
    flags.DEFINE_list("l", "a,b", "a list", flag_values=own)
    return own


def test_reading_a_flag_parses_the_command_line(values):
    assert (values.n, values.b, values.e, values.l) == (5, False, "x", ["a", "b"])
    assert values.flag_values_dict()["n"] == 5


def test_values_can_be_set(values):
    assert values.n == 5
    values.n = 9
    assert values.n == 9 and values["n"].value == 9


def test_all_flags_can_be_listed(values):
    assert "n" in values and set(values) >= {"n", "b", "e", "l"} and len(values) >= 4
    assert set(values.__flags) >= {"n", "b"}
    assert values.__dict__["__flags"]["e"].default == "x"
    values._parse_flags()
    assert values.n == 5


def test_unknown_attribute(values):
    with pytest.raises(AttributeError):
        values.no_such_flag  # noqa: B018


def test_argument_names_of_old(values):
    flags.DEFINE_string(flag_name="s", default_value="text", docstring="help", flag_values=values)
    assert values.s == "text" and values["s"].help == "help"


def test_validators_and_required_flags(values):
    flags.register_validator("n", lambda n: n < 5, "n is too large", flag_values=values)
    with pytest.raises(absl_flags.IllegalFlagValueError, match="too large"):
        values.n  # noqa: B018


def test_app_run():
    source = """
        '''About the program.'''
        import penstock as tf
        tf.flags.DEFINE_string("log_dir", "here", "where the logs go")
        tf.flags.DEFINE_integer("n", None, "a number")
        tf.flags.mark_flag_as_required("n")
        def main(argv):
            print(tf.flags.FLAGS.log_dir, tf.flags.FLAGS.n, argv[1:])
            return 4
        tf.app.run()
    """
    done = python(source, "--n", "2", "--unknown=1", "rest", check=False)
    assert (done.stdout, done.returncode) == ("here 2 ['--unknown=1', 'rest']\n", 4), done.stderr
    refused = python(source, check=False)
    assert refused.returncode == 1 and "--n" in refused.stderr
    helped = python(source, "--help", check=False)
    assert helped.returncode == 1 and "About the program." in helped.stdout and "where the logs go" in helped.stdout


def test_flags_belong_to_the_module_that_defines_them():
    source = """
        import penstock as tf, types, sys
        tf.flags.DEFINE_string("twice", "", "one")
        other = types.ModuleType("other"); sys.modules["other"] = other
        try:
            exec("import penstock as tf; tf.flags.DEFINE_string('twice', '', 'two')", vars(other))
        except tf.flags.DuplicateFlagError:
            print("refused")
    """
    assert python(source).stdout == "refused\n"
