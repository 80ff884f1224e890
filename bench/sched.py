"""Who should compute what: policies on recorded availability, what forecasts and sensors are worth, and what a chunk's start changes.

All policies meet the same workers, moments and costs. Regret is the makespan over the least in which the job could be done by whoever knows
everything. What is simulated does not depend on the machine; only the times of plans (`cargo bench -p sched`) do.
"""

import argparse
import json
import re
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from report import ROOT, machine, print_machine, print_table, save

JOB = ROOT / "examples/sched/pool.toml"
TRACES = ROOT / "testdata/host-load"
# The same seconds as other sensors saw them: Foretop's own, which the runs are simulated on, and three of 1998.
SENSED = ROOT / "testdata/host-sensors"
SENSORS = {"own": "NWS"} | {name: f"NWS@cpu.availability.{name}" for name in ("loadavg", "vmstat", "hybrid")}
MODELS = ("LAST", "MEAN", "NWS", "AUTO", "PERFECT")
# The policies that go by forecasts alone, and the one that is put right while it runs.
BY_FORECAST = ("PREDICTED(q=0.5)", "PREDICTED(q=0.5,tail=0.2)", "RISK(q=0.9)", "CORRECTED(q=0.5)")
STARTS = ("0ms", "500ms", "5s", "20s")
CHUNKS = (1, 2, 5, 10, 20, 50, 100)

Cases = dict[tuple[str, str], list[dict]]


def main() -> None:
    """Simulate, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop-sched`")
    arguments.add_argument("--draws", type=int, default=500)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "regret_ratio": policies(given, folder),
            "forecasting_regret_ratio": forecasting(given, folder),
            "sensors_regret_ratio": sensors(given, folder),
            "beside_self_scheduling_ratio": starts(given, folder),
            "factor_weight": factors(given),
        }
    print_machine(machine())
    save("sched", figures)


def policies(given: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Compare one policy of each kind."""
    cases = simulated(given, folder, JOB, ["all"], ["AUTO"])
    equal = [case["makespan"] for case in cases["EQUAL", "AUTO"]]
    rows = []
    for (policy, _), found in cases.items():
        beside = statistics.median(case["makespan"] / base for case, base in zip(found, equal, strict=True)) - 1
        keys = ("interval_80", "interval_95")
        held = [text for key in keys for text in (f"{share(found, key):.1%}", f"{width(found, key):.1%}")]
        held += [f"{mean(found, key):.1%}" for key in ("units_80", "units_95")]
        rows.append([policy, f"{regret(found):.3f}", f"{beside:+.1%}", f"{mean(found, 'idle'):.1%}", *held])
    head = [
        "policy",
        "makespan over bound",
        "beside EQUAL",
        "idle",
        "80 % held",
        "width",
        "95 % held",
        "width",
        "units 80 %",
        "units 95 %",
    ]
    print_table(f"Policies on recorded host loads, medians of {given.draws} runs", head, rows)
    return {policy: regret(found) for (policy, _), found in cases.items()}


def forecasting(given: argparse.Namespace, folder: Path) -> dict[str, dict[str, float]]:
    """Compare models, for each policy that goes by forecasts."""
    cases = simulated(given, folder, JOB, BY_FORECAST, MODELS)
    found = {policy: {model: regret(cases[policy, model]) for model in MODELS} for policy in BY_FORECAST}
    rows = [[policy, *(f"{of[model]:.3f}" for model in MODELS)] for policy, of in found.items()]
    print_table("What forecasting is worth: makespan over bound by what forecasts", ["policy", *MODELS], rows)
    return found


def sensors(given: argparse.Namespace, folder: Path) -> dict[str, dict[str, float]]:
    """Compare what forecasts are made from, by one model; whoever splits by speed needs none."""
    policies = ("SPEED", "PREDICTED(q=0.5)", "PREDICTED(q=0.5,tail=0.2)", "CORRECTED(q=0.5)")
    cases = simulated(given, folder, JOB, policies, list(SENSORS.values()), SENSED)
    # Policies that go by no forecast are there once.
    known = {policy: {name: cases.get((policy, model)) for name, model in SENSORS.items()} for policy in policies}
    found = {policy: {name: regret(of) for name, of in by.items() if of} for policy, by in known.items()}
    rows = [[policy, *(f"{of[name]:.3f}" if name in of else "" for name in SENSORS)] for policy, of in found.items()]
    print_table("What a sensor is worth: makespan over bound by what NWS forecasts from", ["policy", *SENSORS], rows)
    return found


def starts(given: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Hold the corrected split against the best chunk size of self-scheduling, by what a chunk costs to start."""
    own = "CORRECTED(q=0.5)"
    chunks = [f"SELF({n_units})" for n_units in CHUNKS]
    rows = []
    ratios = {}
    for start in STARTS:
        job = folder / f"start-{start}.toml"
        job.write_text(JOB.read_text().replace('"500ms"', f'"{start}"'))
        cases = simulated(given, folder, job, [own, "WFACTORING(2)", *chunks], ["AUTO"])
        regrets = {policy: regret(of) for (policy, _), of in cases.items()}
        best = min(chunks, key=regrets.__getitem__)
        ratios[start] = regrets[own] / regrets[best]
        rows.append([start, f"{regrets[own]:.3f}", f"{regrets['WFACTORING(2)']:.3f}", f"{regrets[best]:.3f} {best}"])
    head = ["start of a chunk", own, "WFACTORING(2)", "best chunk size of SELF"]
    print_table("What a chunk's start changes: makespan over bound", head, rows)
    return ratios


def factors(given: argparse.Namespace) -> dict[str, float]:
    """Say what decides who wins: one thing varied at a time."""
    command = [
        given.binary,
        "simulate",
        JOB,
        "--traces",
        TRACES,
        "--draws",
        str(given.draws // 5),
        "--model",
        "AUTO",
        "--vary",
    ]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    table, weights = told.split("one thing varied at a time\n\n")[1].split("\n\n")[:2]
    head, *rows = [re.split(r" {2,}", line.strip()) for line in table.splitlines()]
    print_table(f"What decides who wins: the best of both kinds, medians of {given.draws // 5} runs", head, rows)
    changes = [line.rsplit(": changes the ratio by a factor of ", 1) for line in weights.splitlines()]
    print_table("How much each decides", ["varied", "changes the ratio by a factor of"], changes)
    return {factor: float(weight) for factor, weight in changes}


def simulated(
    given: argparse.Namespace,
    folder: Path,
    job: Path,
    policies: tuple[str, ...] | list[str],
    models: tuple[str, ...] | list[str],
    traces: Path = TRACES,
) -> Cases:
    """Return all runs by policy and model, in the order in which policies were named."""
    out = folder / "cases.jsonl"
    command = [given.binary, "simulate", job, "--traces", traces, "--draws", str(given.draws), "--out", out]
    command += [word for policy in policies for word in ("--policy", policy)]
    command += [word for model in models for word in ("--model", model)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    cases: Cases = defaultdict(list)
    for line in out.read_text().splitlines():
        case = json.loads(line)
        cases[case["policy"], case["advisor"]].append(case)
    return cases


def regret(cases: list[dict]) -> float:
    """Return the median makespan over the bound."""
    return statistics.median(case["makespan"] / case["bound"] for case in cases)


def mean(cases: list[dict], key: str) -> float:
    """Return the mean of what stands under a key, where something does."""
    return statistics.fmean(case[key] for case in cases if case[key] is not None)


def share(cases: list[dict], key: str) -> float:
    """Return the share of runs whose makespan lay in its interval."""
    return statistics.fmean(case[key]["lower"] <= case["makespan"] <= case[key]["upper"] for case in cases)


def width(cases: list[dict], key: str) -> float:
    """Return the median width of intervals over what was forecast."""
    return statistics.median((case[key]["upper"] - case[key]["lower"]) / case["forecast"] for case in cases)


if __name__ == "__main__":
    main()
