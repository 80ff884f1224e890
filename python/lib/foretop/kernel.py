"""Control of what is measured of a kernel: status, on and off, points, and the lease of one who wants to be alone.

``foretop kernel agent`` has to run on this host; :class:`Agent` talks to it over its Unix socket, as
``foretop kernel on`` does (``docs/formats/kernel-control.md``).
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Literal, Self

from foretop._errors import AgentError, InputError

__all__ = ["DEFAULT_SOCKET", "Agent", "AgentError", "PointState"]

#: Where an agent listens unless it was told otherwise.
DEFAULT_SOCKET = "/run/foretop-kernel.sock"

PointState = Literal["inactive", "summary", "trace"]
_STATES = ("inactive", "summary", "trace")

_MS_PER_SECOND = 1000


class Agent:
    """A connection to an agent.

    Parameters
    ----------
    path : path, optional
        Its socket.
    timeout_seconds : float, optional
        How long an answer may take.

    Raises
    ------
    AgentError
        If nobody listens there, or this user may not connect. All methods raise it where the agent is gone, or refuses,
        with its reason.
    """

    def __init__(self, path: str | PathLike[str] = DEFAULT_SOCKET, *, timeout_seconds: float = 30.0) -> None:
        self._path = fspath(path)
        self._token: str | None = None
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.settimeout(timeout_seconds)
        try:
            self._connection.connect(self._path)
        except OSError as error:
            self._connection.close()
            why = f"{error.strerror or error}; start one with `foretop kernel agent`"
            message = f"cannot connect to an agent at `{self._path}`: {why}"
            raise AgentError(message, kind="Unreachable", path=self._path) from error
        self._answers = self._connection.makefile("r", encoding="utf-8", newline="\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection. What was turned on stays on."""
        self._answers.close()
        self._connection.close()

    def status(self) -> dict[str, Any]:
        """Return how the agent is doing: what is on, what it costs, who may change things."""
        return self._asked({"do": "status"})

    def summaries(self) -> list[dict[str, Any]]:
        """Return the summaries of the latest pull, one for each node and subsystem."""
        summaries: list[dict[str, Any]] = self._asked({"do": "summaries"})["summaries"]
        return summaries

    def traces(self) -> list[dict[str, Any]]:
        """Return what came of traced points: how many events, their rate, those dropped, and the last of them."""
        traces: list[dict[str, Any]] = self._asked({"do": "traces"})["traces"]
        return traces

    def on(self, *subsystems: str, nodes: Sequence[int] | None = None) -> None:
        """Turn the whole instrumentation on, as it was set, or with some subsystems added.

        Parameters
        ----------
        *subsystems : str
            Such as ``"vm"``; without any, the whole as it was.
        nodes : sequence of int, optional
            Numbers of the nodes that this is for; all, unless given.
        """
        self._change({"is_on": True, "subsystems": {name: {"is_on": True} for name in subsystems}}, nodes)

    def off(self, *subsystems: str, nodes: Sequence[int] | None = None) -> None:
        """Turn the whole instrumentation off, or some subsystems; nothing of them stays attached.

        Parameters
        ----------
        *subsystems : str
            Such as ``"vm"``; without any, the whole.
        nodes : sequence of int, optional
            Numbers of the nodes that this is for; all, unless given.
        """
        if subsystems:
            self._change({"subsystems": {name: {"is_on": False} for name in subsystems}}, nodes)
        else:
            self._change({"is_on": False}, nodes)

    def set(
        self,
        *,
        points: Mapping[str, PointState] | None = None,
        budget_cores: float | None = None,
        interval_seconds: float | None = None,
        group_limits: Sequence[int] | None = None,
        nodes: Sequence[int] | None = None,
    ) -> None:
        """Change how is measured; what is left out stays as it is, and a change is made as a whole or not at all.

        Parameters
        ----------
        points : mapping of str to str, optional
            What becomes of the events of points, such as ``{"fs.Read": "trace"}``: ``"inactive"``, ``"summary"`` or
            ``"trace"``.
        budget_cores : float, optional
            What all probes may take of a core.
        interval_seconds : float, optional
            Time between two pulls.
        group_limits : sequence of int, optional
            Limits of the size groups in bytes, ascending; counts begin afresh.
        nodes : sequence of int, optional
            Numbers of the nodes that this is for; all, unless given.
        """
        subsystems: dict[str, dict[str, Any]] = {}
        for name, state in (points or {}).items():
            subsystem, dot, point = name.partition(".")
            if not dot:
                raise InputError(f"`{name}` is no point; write one such as `fs.Read`", kind="Point", given=name)
            if state not in _STATES:
                message = f"`{state}` is no state of a point; it is one of {', '.join(_STATES)}"
                raise InputError(message, kind="PointState", given=state)
            subsystems.setdefault(subsystem, {"points": {}})["points"][point] = state
        change: dict[str, Any] = {"subsystems": subsystems}
        if budget_cores is not None:
            change["budget_cores"] = budget_cores
        if interval_seconds is not None:
            change["interval_ms"] = round(interval_seconds * _MS_PER_SECOND)
        if group_limits is not None:
            change["groups"] = ",".join(str(limit) for limit in group_limits)
        self._change(change, nodes)

    @contextmanager
    def lease(self, name: str, *, seconds: int = 600) -> Iterator[Self]:
        """Have the right to change things alone, for a ``with`` statement and no longer than so many seconds.

        Parameters
        ----------
        name : str
            Who you are, for those who are refused meanwhile.
        seconds : int, optional
            How long it lasts at most, from 1 to 3600.
        """
        self._token = self._asked({"do": "lease", "name": name, "seconds": seconds, "wait": False})["token"]
        try:
            yield self
        finally:
            token, self._token = self._token, None
            self._asked({"do": "release", "token": token})

    def _change(self, change: dict[str, Any], nodes: Sequence[int] | None) -> None:
        if nodes is not None:
            change["nodes"] = list(nodes)
        if self._token is not None:
            change["token"] = self._token
        self._asked({"do": "set", **change})

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            line = self._answers.readline()
        except OSError as error:
            raise AgentError(f"the agent at `{self._path}` is gone: {error}", kind="Gone", path=self._path) from error
        if not line.endswith("\n"):
            raise AgentError(f"the agent at `{self._path}` is gone", kind="Gone", path=self._path)
        answer: dict[str, Any] = json.loads(line)
        if answer.pop("is") == "refused":
            raise AgentError(answer["why"], kind="Refused", path=self._path)
        return answer
