"""Messages: levels, counters, where they go."""
from __future__ import annotations

import logging as standard

import pytest

from penstock.platform import logging
from support.process import python


@pytest.fixture(autouse=True)
def same_verbosity():
    before = logging.get_logger().level
    yield
    logging.get_logger().setLevel(before)


def test_levels(caplog):
    logging.set_verbosity(logging.WARN)
    logging.info("no")
    logging.warn("two %d", 2)
    logging.set_verbosity(logging.DEBUG)
    logging.debug("three")
    logging.error("four")
    logging.fatal("five")
    logging.log(logging.INFO, "six")
    assert [record.getMessage() for record in caplog.records] == ["two 2", "three", "four", "five", "six"]
    assert {record.name for record in caplog.records} == {"tensorflow"} and logging.get_verbosity() == logging.DEBUG
    assert {record.filename for record in caplog.records} == {"test_logging.py"}
    assert logging.FATAL == standard.CRITICAL


def test_counting(caplog):
    for _ in range(5):
        logging.log_first_n(logging.ERROR, "first %s", 2, "x")
        logging.log_every_n(logging.ERROR, "every", 2)
        logging.log_if(logging.ERROR, "never", False)
    said = [record.getMessage() for record in caplog.records]
    assert said.count("first x") == 2 and said.count("every") == 3 and "never" not in said


@pytest.mark.parametrize(("setup", "expected"), [("", "INFO:tensorflow:hello\n"), ("logging.basicConfig(format='mine %(message)s')", "mine hello\n")])
def test_messages_are_printed_once(setup, expected):
    program = f"import logging\nfrom penstock.platform import logging as log\n{setup}\nlog.set_verbosity(log.INFO)\nlog.info('hello')"
    assert python(program).stderr == expected


@pytest.mark.parametrize(("level", "expected"), [(None, "info warning "), ("1", "warning "), ("2", "")])
def test_the_runtime_follows_the_environment(level, expected, monkeypatch, caplog):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    if level is not None:
        monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", level)
    logging.runtime_logger.cache_clear()
    logger = logging.runtime_logger()
    logger.info("info ")
    logger.warning("warning ")
    assert "".join(record.getMessage() for record in caplog.records) == expected
    logging.runtime_logger.cache_clear()
