"""What a page can ask for: a new board, steps of it, changes, and what is behind them. Messages in, answers out, without a socket.

Each page has a board of its own; the oldest is closed when there are too many. One message is answered at a time: boards share the machine.
"""
from __future__ import annotations

import functools
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from penstock.pages.server import Answer, Message
from penstock.playground import step
from penstock.playground.board import Board
from penstock.playground.cluster import BoardCluster
from penstock.playground.cluster_program import read_cluster
from penstock.playground.settings import BadSettings, choices, number, read_changes, read_settings, read_step

MOST_BOARDS = 8
FRAME_SECONDS = 0.02  # that training may take of a frame: the rest of 1/30 s is for drawing


class Playground:
    """The boards of all pages."""

    def __init__(self) -> None:
        self._boards: OrderedDict[int, Board] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._cluster: tuple[int, BoardCluster] | None = None  # and whose it is: there is one at a time
        self._changing = threading.Lock()  # the cluster is being started or ended

    def messages(self) -> dict[str, Message]:
        """The messages by name; those of a board name it by its number."""
        of_boards: dict[str, Callable[[Board, dict[str, Any]], Answer]] = {
            "advance": _advance, "change": _change,
            "graph": lambda board, body: step.graph(board), "kernels": lambda board, body: step.kernels(board),
            "operation": lambda board, body: step.operation(board, body.get("name"))}
        return {"choices": lambda body: choices(), "build": self._one_at_a_time(self._build),
                **{name: self._one_at_a_time(functools.partial(self._ask, answer)) for name, answer in of_boards.items()},
                "cluster_start": self._start_cluster, "cluster_stop": self._stop_cluster,
                "cluster_frame": self._one_at_a_time(functools.partial(self._ask, self._cluster_frame)),
                "cluster_record": lambda body: self._known_cluster(body).record(), "cluster_kill": self._kill, "cluster_slow": self._slow}

    def close(self) -> None:
        """Closes all boards, and ends the cluster."""
        self._end_cluster()
        with self._lock:
            while self._boards:
                self._boards.popitem()[1].close()

    def _one_at_a_time(self, answer: Message) -> Message:
        def locked(body: dict[str, Any]) -> Answer:
            with self._lock:
                return answer(body)
        return locked

    def _build(self, body: dict[str, Any]) -> Answer:
        board = Board(read_settings(body.get("settings", {})), read_changes(body.get("changes", [])), read_step(body.get("step", 0)))
        self._forget(body.get("board"))
        key = next(self._numbers)
        self._boards[key] = board
        if len(self._boards) > MOST_BOARDS:
            self._forget(next(iter(self._boards)))
        return {"board": key, **board.outline()}

    def _forget(self, key: Any) -> None:
        if isinstance(key, int) and key in self._boards:
            self._boards.pop(key).close()

    # --- the cluster -------------------------------------------------------------------------------------------------

    def _start_cluster(self, body: dict[str, Any]) -> Answer:
        settings, wanted, board = read_settings(body.get("settings", {})), read_cluster(body.get("cluster", {})), body.get("board")
        if not isinstance(board, int) or board not in self._boards:
            raise BadSettings("a cluster trains a board")
        self._end_cluster()
        with self._changing:
            self._cluster = (board, BoardCluster(settings, wanted))
            return self._cluster[1].state()

    def _stop_cluster(self, body: dict[str, Any]) -> Answer:
        self._known_cluster(body)
        self._end_cluster()
        return {}

    def _end_cluster(self) -> None:
        with self._changing:
            if self._cluster is not None:
                self._cluster[1].close()
                self._cluster = None

    def _known_cluster(self, body: dict[str, Any]) -> BoardCluster:
        cluster = self._cluster
        if cluster is None or cluster[0] != body.get("board"):
            raise BadSettings("this board has no cluster: another one may have begun its own")
        return cluster[1]

    def _cluster_frame(self, board: Board, body: dict[str, Any]) -> Answer:
        """The board as the cluster has trained it, and how the tasks are."""
        cluster = self._known_cluster(body)
        if cluster.weights is not None:
            board.show(int(cluster.step), cluster.weights, cluster.biases)
        return board.frame(cluster=cluster.state())

    def _kill(self, body: dict[str, Any]) -> Answer:
        self._known_cluster(body).kill(body.get("task"))
        return {}

    def _slow(self, body: dict[str, Any]) -> Answer:
        self._known_cluster(body).slow(body.get("worker"), number(body.get("seconds")))
        return {}

    def _ask(self, answer: Callable[[Board, dict[str, Any]], Answer], body: dict[str, Any]) -> Answer:
        key = body.get("board")
        if not isinstance(key, int) or key not in self._boards:
            raise BadSettings("this board is closed, for there are too many: reload the page")
        self._boards.move_to_end(key)
        return answer(self._boards[key], body)


def _advance(board: Board, body: dict[str, Any]) -> Answer:
    """Some steps and a frame; ``steps`` may be more than a frame has time for."""
    board.advance(read_step(body.get("steps", 0)), FRAME_SECONDS)
    return board.frame()


def _change(board: Board, body: dict[str, Any]) -> Answer:
    key = body.get("key")
    if not isinstance(key, str):
        raise BadSettings("a change names what it changes")
    board.change(key, number(body.get("value")))
    return board.frame()
