"""No test changes what the debugger of the user who runs it has been set to."""
from __future__ import annotations

import pytest

from penstock.debug.tfdbg import config


@pytest.fixture(autouse=True)
def config_path(tmp_path_factory, monkeypatch):
    """The file of the command `config`, in a folder of the test."""
    path = tmp_path_factory.mktemp("home") / ".tfdbg_config"
    monkeypatch.setattr(config, "PATH", str(path))
    return path
