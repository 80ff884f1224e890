"""Control of a kernel agent: what is asked of one that plays along, and a real one, which reads /proc without root."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from foretop import InputError
from foretop.kernel import Agent, AgentError, PointState

ROOT = Path(__file__).parents[2]


@contextmanager
def playing(path: Path, answers: list[str]) -> Iterator[list[dict[str, Any]]]:
    """Answer the requests of one connection with these lines, and give what was asked."""
    asked: list[dict[str, Any]] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rw") as lines:
            for answer in answers:
                asked.append(json.loads(lines.readline()))
                lines.write(answer)
                lines.flush()

    thread = Thread(target=serve)
    thread.start()
    try:
        yield asked
    finally:
        thread.join()
        listener.close()


def test_requests_are_those_of_the_format(tmp_path: Path) -> None:
    done = '{"is":"done"}\n'
    leased = '{"is":"leased","token":"1f-1","is_held":true,"ahead":[]}\n'
    answers = [done, leased, done, done, done]
    with playing(tmp_path / "socket", answers) as asked, Agent(tmp_path / "socket") as agent:
        agent.on("vm", "fs", nodes=[7])
        with agent.lease("ann", seconds=60):
            points: dict[str, PointState] = {"fs.Read": "trace", "fs.Write": "inactive"}
            agent.set(points=points, budget_cores=0.01, interval_seconds=0.5, group_limits=[64, 512])
        agent.off()
    assert asked == [
        {"do": "set", "is_on": True, "subsystems": {"vm": {"is_on": True}, "fs": {"is_on": True}}, "nodes": [7]},
        {"do": "lease", "name": "ann", "seconds": 60, "wait": False},
        {
            "do": "set",
            "subsystems": {"fs": {"points": {"Read": "trace", "Write": "inactive"}}},
            "budget_cores": 0.01,
            "interval_ms": 500,
            "groups": "64,512",
            "token": "1f-1",
        },
        {"do": "release", "token": "1f-1"},
        {"do": "set", "is_on": False},
    ]


def test_a_refusal_is_raised_with_its_reason_and_so_is_an_end(tmp_path: Path) -> None:
    answers = ['{"is":"refused","why":"`ann` has the lease for 60 s more"}\n', ""]
    with playing(tmp_path / "socket", answers), Agent(tmp_path / "socket") as agent:
        with pytest.raises(AgentError, match="`ann` has the lease") as refused:
            agent.on()
        assert refused.value.kind == "Refused"
        with pytest.raises(AgentError, match="is gone"):
            agent.status()


def test_where_no_agent_listens_the_way_to_start_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="foretop kernel agent") as error:
        Agent(tmp_path / "socket")
    assert error.value.path == str(tmp_path / "socket")


def test_what_is_no_point_or_state_is_not_asked(tmp_path: Path) -> None:
    with playing(tmp_path / "socket", []), Agent(tmp_path / "socket") as agent:
        with pytest.raises(InputError, match="`Read` is no point"):
            agent.set(points={"Read": "trace"})
        with pytest.raises(InputError, match="inactive, summary, trace"):
            agent.set(points={"fs.Read": "on"})  # type: ignore[dict-item]


def test_a_real_agent_is_controlled(tmp_path: Path) -> None:
    program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/foretop-kernel"
    if not program.exists():
        pytest.skip(f"there is no {program}; `scripts/kernel.sh test` builds it")
    path = tmp_path / "socket"
    command = [
        str(program),
        "agent",
        "--source",
        "proc",
        "--socket",
        str(path),
        "--node",
        "3=host",
        "--node",
        "17=host",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert any(line.startswith("listening at") for line in process.stdout)
            with Agent(path) as agent, Agent(path) as other:
                assert not agent.status()["is_on"]
                with agent.lease("ann"):
                    agent.on()
                    agent.set(points={"fs.Read": "trace"}, interval_seconds=30, nodes=[17])
                    with pytest.raises(AgentError, match="`ann` has the lease"):
                        other.off()
                status = other.status()
                assert (status["is_on"], status["interval_ms"], status["holder"]) == (True, 30_000, None)
                traced = [one["node"] for one in status["subsystems"] if one["points"].get("Read") == "trace"]
                assert traced == [17]
                with pytest.raises(AgentError, match="there is no subsystem `vmm`"):
                    agent.on("vmm")
                assert isinstance(agent.summaries(), list)
                assert agent.traces() == []
                other.off()
                assert not agent.status()["is_on"]
        finally:
            process.terminate()
