"""The ConfigProto of sessions, and of imperative style, that are given none: which devices the program has chosen by ``tf.config.experimental``."""
from __future__ import annotations

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.errors import NotFoundError
from penstock.program.devices import host_kind

_chosen = ConfigProto()


def choose(config: ConfigProto) -> None:
    """Gives sessions these settings, which are given none of their own, from now on."""
    _chosen.CopyFrom(config)


def default_config() -> ConfigProto:
    """A copy of the settings. NotFoundError if the program has hidden all of the host's devices: nothing runs without one."""
    host = host_kind().name
    if host in _chosen.device_count and not _chosen.device_count[host]:
        raise NotFoundError(None, None, f"No {host} devices are available in this process: "
                            "tf.config.experimental.set_visible_devices has hidden all")
    config = ConfigProto()
    config.CopyFrom(_chosen)
    return config
