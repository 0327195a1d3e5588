"""Resources that are used under another device than their own: what TensorFlow 1.15.5 (Python 3.7) does, in placements.json.

    python3.7 tests/distributed/data/placement_runs.py      # records

A case of ``placements.py`` makes a resource under the device ``here`` and gives operations or tensors of its use, which is under the device
``there``. They are run one after the other. Recorded are what each gives and where its operation ran, or the class of its error.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import placements

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "placements.json")
CPUS = ["/cpu:0", "/cpu:1"]
TASKS = ["/job:ps/task:0", "/job:worker/task:0"]
SETTINGS = {"local": (CPUS[0], CPUS[1]), "local back": (CPUS[1], CPUS[0]), "local unnamed": ("", CPUS[1]),
            "cluster": (TASKS[0], TASKS[1]), "cluster back": (TASKS[1], TASKS[0]), "cluster unnamed": ("", TASKS[0]),
            "cluster partial": (TASKS[0], "/cpu:0")}


def _plain(value):
    """A value as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "_asdict"):
        return _plain(list(value))
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _said(message):
    """What an error says, without where it came from."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return next((line for line in lines if not re.match(r"From /job|\d+ root error|\(\d+\) [A-Z]\w+: From", line)), "")[:200]


def _operation(tf, fetch):
    while isinstance(fetch, (list, tuple)):
        fetch = fetch[0]
    if hasattr(fetch, "indices"):
        fetch = fetch.values
    if isinstance(fetch, tf.Operation):
        return fetch
    return getattr(fetch, "op", None)


def _where(metadata, name):
    """The device that an operation ran on."""
    devices = sorted({part.device for part in metadata.step_stats.dev_stats for node in part.node_stats
                      if node.node_name == name and "/device:CPU:" in part.device})
    return devices


def _run(tf, session, fetch):
    metadata = tf.RunMetadata()
    try:
        if callable(fetch) and not hasattr(fetch, "op"):
            return {"value": _plain(fetch(session))}
        value = session.run(fetch, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=10000), run_metadata=metadata)
    except tf.errors.OpError as error:
        return {"error": type(error).__name__, "message": _said(error.message)}
    except Exception as error:
        return {"error": type(error).__name__, "message": _said(str(error))}
    op = _operation(tf, fetch)
    return {"value": _plain(value), "op": op.type, "ran": _where(metadata, op.name)}


def run_case(tf, case, devices, make_session):
    """What each use gives, in order; what building raises."""
    with tf.Graph().as_default():
        try:
            fetches = placements.CASES[case](tf, *devices)
        except Exception as error:
            return [{"error": type(error).__name__, "message": "built: " + _said(str(error))}]
        session = make_session()
        try:
            return [_run(tf, session, fetch) for fetch in fetches]
        finally:
            session.close()


def main():
    import warnings
    warnings.simplefilter("ignore")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    import socket
    sockets = [socket.socket() for _ in range(2)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    cluster = {"ps": ["127.0.0.1:%d" % ports[0]], "worker": ["127.0.0.1:%d" % ports[1]]}
    servers = [tf.train.Server(cluster, job_name=job, task_index=0) for job in ("ps", "worker")]
    chosen = sys.argv[1:] or sorted(placements.CASES)
    recorded = {}
    for setting, devices in SETTINGS.items():
        for case in chosen:
            def session(setting=setting):
                if setting.startswith("local"):
                    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))
                tf.Session.reset(servers[0].target)
                return tf.Session(servers[0].target)
            recorded.setdefault(case, {})[setting] = run_case(tf, case, devices, session)
            print(setting, case, file=sys.stderr)
    for settings in recorded.values():
        for uses in settings.values():
            for use in uses:
                use.pop("message", None)  # for those who look, not for the comparison
    with open(RECORDED, "w") as file:
        json.dump(recorded, file, indent=0, sort_keys=True)
    os._exit(0)


if __name__ == "__main__":
    main()
