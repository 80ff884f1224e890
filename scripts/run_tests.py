#!/usr/bin/env python3
"""Runs Rust tests, each in a process of its own, the longest first.

What cargo takes for `cargo test` comes after `--`; cargo compiles, this program runs. Short tests of one binary share a process,
one after the other. A test that exceeds its limit is named and killed, and the run continues. Durations are remembered in the
target folder. The last line is `N passed, N failed, N skipped`, unless `TEST_TALLY` names a file that the counts are added to.

Usage: scripts/run_tests.py [OPTION]... -- [CARGO ARGUMENT]...
"""

import argparse
import collections
import fnmatch
import json
import os
import random
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Tests that take turns, as `PACKAGE/TARGET/TEST`, and how many of a group run at once. The programs under MPI spin while they wait.
GROUPS = [("foretop-mpi/it/*", 1), ("mpi-programs/it/*", 1)]
# Binaries whose tests share an expensive value.
WHOLE = ["sim-study/it/*"]
# A process starts in a few milliseconds. Tests of units that took less than a second share one, up to this many seconds.
BATCH_SECONDS = 3.0
BATCH_TESTS = 40
RESULT = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. .*?(ok|FAILED|ignored.*)$")

Job = collections.namedtuple("Job", "binary tests seconds group")
Binary = collections.namedtuple("Binary", "name kind path folder environment")


def compiled(arguments: list[str]) -> list[Binary]:
    """Return the test binaries that cargo makes of `arguments`."""
    command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics", *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        sys.exit(ended.returncode)
    sysroot = subprocess.run(["rustc", "--print=sysroot"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    binaries, out_folders = [], {}
    for line in ended.stdout.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "build-script-executed":
            out_folders[message["package_id"]] = message["out_dir"]
        if message.get("reason") != "compiler-artifact" or not message["executable"] or not message["profile"]["test"]:
            continue
        path, folder = message["executable"], str(Path(message["manifest_path"]).parent)
        deps = Path(path).parent
        libraries = [str(deps), str(deps.parent), f"{sysroot}/lib", os.environ.get("LD_LIBRARY_PATH", "")]
        name, version = identity(message["package_id"], folder)
        environment = {
            "CARGO": os.environ.get("CARGO", "cargo"),
            "CARGO_MANIFEST_DIR": folder,
            "CARGO_PKG_NAME": name,
            "CARGO_PKG_VERSION": version,
            "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
        }
        if message["package_id"] in out_folders:
            environment["OUT_DIR"] = out_folders[message["package_id"]]
        kind = message["target"]["kind"][0]
        target = message["target"]["name"] if kind in ("test", "bin") else "lib"
        binaries.append(Binary(f"{name}/{target}", kind, path, folder, environment))
    return binaries


def identity(package_id: str, folder: str) -> tuple[str, str]:
    """Return name and version of a package: cargo's id leaves out a name that is the folder's."""
    name, _, version = package_id.rpartition("#")[2].rpartition("@")
    return name or Path(folder).name, version


def named(binary: Binary, options: argparse.Namespace, *more: str) -> list[str]:
    """Return the names of the tests in `binary` that `options` choose."""
    command = [*binary_command(binary, options), "--list", "--format=terse", *options.filter, *more]
    listed = subprocess.run(
        command,
        cwd=binary.folder,
        env={**os.environ, **binary.environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [line[: -len(": test")] for line in listed.stdout.splitlines() if line.endswith(": test")]


def binary_command(binary: Binary, options: argparse.Namespace) -> list[str]:
    """Return the words that start `binary`."""
    return [*shlex.split(options.runner), binary.path]


def jobs_of(binary: Binary, options: argparse.Namespace, durations: dict[str, float]) -> tuple[list[Job], int]:
    """Return the jobs of `binary`, and how many tests of it are skipped."""
    ignored = set(named(binary, options, "--ignored"))
    every = named(binary, options)
    tests = [test for test in every if (test in ignored) == options.ignored]
    jobs, batch, batch_seconds = [], [], 0.0
    is_whole = any(fnmatch.fnmatch(f"{binary.name}/", f"{pattern[:-1]}") for pattern in WHOLE)
    for test in tests:
        key = f"{binary.name}/{test}"
        group = next((pattern for pattern, _ in GROUPS if fnmatch.fnmatch(key, pattern)), None)
        seconds = durations.get(key, 0.05 if binary.kind != "test" else 1.0)
        if not is_whole and (binary.kind == "test" or seconds >= 1.0):
            jobs.append(Job(binary, [test], seconds, group))
            continue
        if batch and not is_whole and (batch_seconds + seconds > BATCH_SECONDS or len(batch) == BATCH_TESTS):
            jobs.append(Job(binary, batch, batch_seconds, None))
            batch, batch_seconds = [], 0.0
        batch, batch_seconds = [*batch, test], batch_seconds + seconds
    if batch:
        jobs.append(Job(binary, batch, batch_seconds, None))
    return jobs, 0 if options.ignored else len(ignored)


class Run:
    """Tests that run, and what came of them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.lock = threading.Condition()
        self.waiting = []
        self.busy = collections.Counter()
        self.n_running = 0
        self.running = {}
        self.seconds = {}
        self.failed = collections.Counter()
        self.n_passed = 0

    def of(self, jobs: list[Job]) -> None:
        """Run all of `jobs`."""
        self.waiting = sorted(jobs, key=lambda job: job.seconds)
        workers = [threading.Thread(target=self.work) for _ in range(self.options.at_once)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def next_job(self) -> Job | None:
        """Wait for a job that may run; return it, or nothing if there is none left."""
        limits = dict(GROUPS)
        with self.lock:
            while True:
                for i in reversed(range(len(self.waiting))):
                    group = self.waiting[i].group
                    if group is None or self.busy[group] < limits[group]:
                        self.busy[group] += 1
                        self.n_running += 1
                        return self.waiting.pop(i)
                # A job that runs may leave others of its group, or tests behind one that failed.
                if not self.n_running:
                    return None
                self.lock.wait()

    def work(self) -> None:
        """Run one job after the other."""
        while (job := self.next_job()) is not None:
            try:
                rest = self.run(job)
            except OSError as error:
                rest = []
                self.note(job, job.tests, 0.0, str(error))
            with self.lock:
                self.busy[job.group] -= 1
                self.n_running -= 1
                if rest:
                    self.waiting.append(job._replace(tests=rest))
                self.lock.notify_all()

    def run(self, job: Job) -> list[str]:
        """Run the tests of `job`; return those that one of them kept from running."""
        binary, options = job.binary, self.options
        command = [*binary_command(binary, options), "--exact", *job.tests, "--test-threads=1"]
        command += ["--ignored"] if options.ignored else []
        began = last = time.monotonic()
        child = subprocess.Popen(
            command,
            cwd=binary.folder,
            env={**os.environ, **binary.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        state = {"stopped": 0.0}
        with self.lock:
            self.running[child.pid] = state
        output, line, left, is_late = bytearray(), b"", list(job.tests), False
        results = {}
        while True:
            readable, _, _ = select.select([child.stdout], [], [], 0.2)
            chunk = os.read(child.stdout.fileno(), 65536) if readable else None
            if chunk == b"" or (chunk is None and child.poll() is not None):
                break
            if time.monotonic() - last - state["stopped"] > options.limit:
                is_late = True
                break
            output += chunk or b""
            *lines, line = (line + (chunk or b"")).split(b"\n")
            for match in filter(None, (RESULT.match(text.decode(errors="replace")) for text in lines)):
                if match[1] in left:
                    now = time.monotonic()
                    left.remove(match[1])
                    results[match[1]] = (match[2], now - last)
                    last, state["stopped"] = now, 0.0
        with self.lock:
            del self.running[child.pid]
        kill_group(child, options)
        status = child.wait()
        child.stdout.close()
        took = time.monotonic() - began
        text = output.decode(errors="replace")
        # A process that a test starts can write between a test's name and its result; the status is right all the same.
        blamed = set(re.findall(r"^    (\S+)$", text.rpartition("\nfailures:\n")[2], re.M)) if status else set()
        if is_late or (left and not blamed and status):
            results[left[0]] = (
                f"took longer than {options.limit} s" if is_late else f"ended with status {status}",
                took,
            )
            rest = left[1:]
        else:
            results.update({test: ("FAILED" if test in blamed else "ok", took / len(job.tests)) for test in left})
            rest = []
        bad = [test for test, (result, _) in results.items() if result != "ok" and not result.startswith("ignored")]
        with self.lock:
            self.n_passed += len(results) - len(bad)
            for test, (_, seconds) in results.items():
                self.seconds[f"{binary.name}/{test}"] = seconds
        for test in bad:
            self.note(job, [test], results[test][1], results[test][0], text if test == bad[0] else "")
        return rest

    def note(self, job: Job, tests: list[str], seconds: float, reason: str, output: str = "") -> None:
        """Count and print tests that failed."""
        with self.lock:
            for test in tests:
                key = f"{job.binary.name}/{test}"
                self.failed[key] += 1
                print(f"\n==== FAILED {key}: {reason}, after {seconds:.1f} s\n{output}", flush=True)

    def abort(self) -> None:
        """Kill what runs, and end."""
        for pid in list(self.running):
            send(os.killpg, pid, signal.SIGKILL)
        os._exit(130)

    def stop_and_continue(self, seed: int, done: threading.Event) -> None:
        """Stop a running process for seconds, again and again."""
        chance = random.Random(seed)
        while not done.wait(chance.uniform(0.5, 3.0)):
            with self.lock:
                chosen = list(self.running.items())
            if not chosen:
                continue
            pid, state = chance.choice(chosen)
            seconds = chance.uniform(0.5, 4.0)
            # A process that its test has stopped is not to be continued by anyone else.
            stopped = [process for process in running_of_group(pid) if send(os.kill, process, signal.SIGSTOP)]
            if stopped:
                done.wait(seconds)
                state["stopped"] += seconds
                for process in stopped:
                    send(os.kill, process, signal.SIGCONT)


def send(kill: Callable[[int, int], None], pid: int, what: int) -> bool:
    """Send a signal by `os.kill` or `os.killpg`; return whether it could be sent."""
    try:
        kill(pid, what)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def running_of_group(group: int) -> list[int]:
    """Return the processes of a group that are not stopped; its leader, which may start more, comes first."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state not in "TtZX":
            found.append(int(folder.name))
    return sorted(found, key=lambda pid: pid != group)


def kill_group(child: subprocess.Popen, options: argparse.Namespace) -> None:
    """Kill what is left of a test, and what it has started."""
    if not send(os.killpg, child.pid, signal.SIGKILL) and options.runner and child.poll() is None:
        subprocess.run([*shlex.split(options.runner), "kill", "-KILL", "--", f"-{child.pid}"], check=False)


def doctests(options: argparse.Namespace) -> tuple[int, int, int]:
    """Run the examples in comments; return how many passed, failed and were skipped."""
    began = time.monotonic()
    arguments = [argument for argument in options.cargo if argument not in ("--lib", "--bins")]
    ended = subprocess.run(
        ["cargo", "test", "--doc", "--no-fail-fast", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    counts = [
        [int(n) for n in found] for found in re.findall(r"(\d+) passed; (\d+) failed; (\d+) ignored", ended.stdout)
    ]
    passed, failed, skipped = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    if ended.returncode:
        print(f"\n==== FAILED examples in comments\n{ended.stdout}", flush=True)
        failed = max(failed, 1)
    print(f"examples in comments: {passed} passed in {time.monotonic() - began:.0f} s", flush=True)
    return passed, failed, skipped


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    options = argparse.ArgumentParser(description="Runs Rust tests, each in a process of its own.")
    options.add_argument("--ignored", action="store_true", help="run the ignored tests, and no others")
    options.add_argument(
        "--filter", action="append", default=[], help="only tests with this in their names; may be repeated"
    )
    options.add_argument("--doc", action="store_true", help="run the examples in comments too")
    options.add_argument("--at-once", type=int, default=2 * os.cpu_count(), help="tests that run at the same time")
    options.add_argument("--limit", type=float, default=300, help="seconds that a test may take")
    options.add_argument(
        "--runner", default="", help="words before each test's command, such as those that make it root's"
    )
    options.add_argument("--minutes", type=float, default=0, help="run all again and again for this long")
    options.add_argument("--stop", type=int, metavar="SEED", help="stop and continue tests at random moments")
    options.add_argument("cargo", nargs="*", help="arguments of cargo test, after --")
    return options.parse_args()


def main() -> None:
    """Compile, run the tests, and print what came of them."""
    options = read_options()
    memory = Path(os.environ.get("CARGO_TARGET_DIR", "target"), "test-seconds.json")
    durations = json.loads(memory.read_text()) if memory.exists() else {}
    binaries = compiled(options.cargo)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda binary: jobs_of(binary, options, durations), binaries))
    jobs, n_skipped = [job for more, _ in found for job in more], sum(n for _, n in found)
    began, run, done, n_rounds = time.monotonic(), Run(options), threading.Event(), 0
    if options.stop is not None:
        print(f"seed of the stops: {options.stop}", flush=True)
        threading.Thread(target=run.stop_and_continue, args=(options.stop, done), daemon=True).start()
    for what in (signal.SIGINT, signal.SIGTERM):
        signal.signal(what, lambda *_: run.abort())
    extra = (0, 0, 0)
    with ThreadPoolExecutor(1) as pool:
        examples = pool.submit(doctests, options) if options.doc else None
        while n_rounds == 0 or time.monotonic() - began < options.minutes * 60:
            run.of(jobs)
            n_rounds += 1
        extra = examples.result() if examples else extra
    done.set()
    written = memory.with_suffix(".new")
    written.write_text(json.dumps({**durations, **run.seconds}, indent=0, sort_keys=True))
    written.replace(memory)
    slowest = sorted(run.seconds.items(), key=lambda entry: -entry[1])[:20]
    print(f"\n{len(jobs)} processes, {time.monotonic() - began:.0f} s; the slowest tests:")
    for key, seconds in slowest:
        print(f"{seconds:7.1f} s  {key}")
    for key, n in run.failed.most_common():
        print(f"FAILED {key}" + (f": {n} of {n_rounds} runs" if options.minutes else ""))
    counts = run.n_passed + extra[0], sum(run.failed.values()) + extra[1], n_skipped + extra[2]
    if "TEST_TALLY" in os.environ:
        with Path(os.environ["TEST_TALLY"]).open("a") as file:
            print(*counts, file=file)
    else:
        print("{} passed, {} failed, {} skipped".format(*counts))
    sys.exit(1 if counts[1] else 0)


if __name__ == "__main__":
    main()
