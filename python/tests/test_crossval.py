"""Random test cases: by threads, by Dask, through interruptions; always the same file."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import foretop
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from foretop import crossval
from numpy.testing import assert_allclose
from reference import TESTDATA, read_trace

TRACES = {name: read_trace(name) for name in ("ec2_cpu_utilization_5f5533", "ec2_cpu_utilization_24ae8d")}
TEMPLATE = {"models": ["LAST", "AR(1..16)", "BM(1..8)"], "fit": "200..400", "test": "50..100", "leads": [1, 2, 30]}
N_CASES = 3000


def run(folder: Path, name: str, **options: Any) -> Path:
    """Return the results of the campaign that all tests are about."""
    out = folder / f"{name}.parquet"
    done = crossval.run(TEMPLATE, TRACES, cases=N_CASES, seed=7, out=out, progress=False, **options)
    assert done.path == out and done.timings.exists()
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crossval")


@pytest.fixture(scope="module")
def alone(folder: Path) -> Path:
    """Return what one thread makes of the campaign."""
    return run(folder, "alone", workers=1)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_threads_change_nothing(folder: Path, alone: Path) -> None:
    assert run(folder, "threads", workers=3).read_bytes() == alone.read_bytes()


def test_dask_workers_change_nothing(folder: Path, alone: Path, client: Client) -> None:
    assert run(folder, "dask", client=client).read_bytes() == alone.read_bytes()


def test_the_address_of_a_scheduler_is_a_client(folder: Path, alone: Path, client: Client) -> None:
    address = client.scheduler_info()["address"]
    assert run(folder, "address", client=address).read_bytes() == alone.read_bytes()
