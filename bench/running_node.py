"""A node in a process of its own, on a free port and a data directory that goes away with it."""

import json
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

PATIENCE_SECONDS = 120.0

T = TypeVar("T")


class RunningNode:
    """A `foretop up` with all its sensors; use it as a context manager.

    Attributes
    ----------
    data_dir
        Where its store is.
    started
        The monotonic time just before the process was started, in seconds.
    """

    def __init__(self, binary: Path, *, every: str = "1s", root: Path = Path("/"), configuration: str = "") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="foretop-bench-")
        self.data_dir = Path(self._folder.name) / "data"
        self._output = Path(self._folder.name) / "output"
        command = [str(binary), "up", "--listen", "127.0.0.1:0", "--every", every, "--data-dir", str(self.data_dir)]
        command += ["--root", str(root)]
        if configuration:
            file = Path(self._folder.name) / "foretop.toml"
            file.write_text(configuration)
            command += ["--config", str(file)]
        self.started = time.monotonic()
        with self._output.open("w") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        self._url = ""

    def __enter__(self) -> Self:
        try:
            self._url = self.wait_for("its address", self._printed_url)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._end()

    @property
    def proc(self) -> Path:
        """Its folder in /proc."""
        return Path(f"/proc/{self._process.pid}")

    def fetch(self, path: str, headers: dict[str, str] | None = None) -> bytes | None:
        """Return the body as it comes over the wire, or None where the answer is an error or nobody answers."""
        request = urllib.request.Request(self._url + path, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.read()
        except urllib.error.URLError:
            return None

    def get(self, path: str) -> Any | None:  # noqa: ANN401 (JSON is any value)
        """Return the JSON body of an answer with status 200, else None."""
        body = self.fetch(path)
        return None if body is None else json.loads(body)

    def wait_for(
        self,
        what: str,
        look: Callable[[], T | None],
        *,
        limit_seconds: float = PATIENCE_SECONDS,
        every_seconds: float = 0.005,
    ) -> T:
        """Return what `look` gives as soon as it gives something."""
        deadline = time.monotonic() + limit_seconds
        while time.monotonic() < deadline:
            found = look()
            if found is not None:
                return found
            if self._process.poll() is not None:
                raise RuntimeError(f"foretop ended before {what}: {self._output.read_text()}")
            time.sleep(every_seconds)
        raise TimeoutError(f"waited {limit_seconds:.0f} s in vain for {what}")

    def _printed_url(self) -> str | None:
        found = re.search(r"http://[^\s/]+", self._output.read_text())
        return found and found.group()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
