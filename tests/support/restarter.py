"""A supervisor that knows nothing of Penstock: it runs the tasks of a program as processes, and starts one again when it has failed.

    python restarter.py PS WORKERS PROGRAM ARGUMENT...

What tasks say is printed as ``penstock launch`` prints it. When all workers have ended well the ps are killed.
"""
from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time

PAUSE = 0.5  # seconds before a task is started again
AT_ONCE, STARTS = 5.0, 20  # a task that so often in a row ended in less than these seconds is not started again


def free_ports(count: int) -> list[int]:
    """Ports that are free."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [item.getsockname()[1] for item in sockets]


class Restarter:
    """The tasks of one cluster."""

    def __init__(self, ps: int, workers: int, command: list[str]) -> None:
        ports = iter(free_ports(ps + workers))
        self.cluster = {"ps": [f"127.0.0.1:{next(ports)}" for _ in range(ps)], "worker": [f"127.0.0.1:{next(ports)}" for _ in range(workers)]}
        self.command, self.running, self.lock, self.done = command, {}, threading.Lock(), False

    def look_after(self, job: str, index: int) -> None:
        """Runs a task until it ends well."""
        environment = {**os.environ, "TF_CONFIG": json.dumps({"cluster": self.cluster, "task": {"type": job, "index": index}})}
        refused = 0  # starts in a row that ended at once, as those of a program do that cannot be imported
        while refused < STARTS:
            with self.lock:
                if self.done:
                    return
                begun = time.monotonic()
                process = subprocess.Popen(self.command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.running[job, index] = process
            for line in process.stdout:
                print(f"{job} {index} | {line.rstrip()}", flush=True)
            if process.wait() == 0:
                return
            refused = refused + 1 if time.monotonic() - begun < AT_ONCE else 0
            print(f"{job} {index} ended with {process.returncode}; starting it again", flush=True)
            time.sleep(PAUSE)

    def run(self) -> None:
        """Until all workers have ended well."""
        threads = {(job, index): threading.Thread(target=self.look_after, args=(job, index), daemon=True)
                   for job, addresses in self.cluster.items() for index in range(len(addresses))}
        for thread in threads.values():
            thread.start()
        for (job, _), thread in threads.items():
            if job == "worker":
                thread.join()
        with self.lock:
            self.done = True
            for (job, _), process in self.running.items():
                if job == "ps":
                    process.kill()
                    process.wait()


if __name__ == "__main__":
    Restarter(int(sys.argv[1]), int(sys.argv[2]), [sys.executable, *sys.argv[3:]]).run()
