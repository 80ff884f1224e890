"""Playback that slows down: laws on the same traces of arrival, and sound at another speed beside what others make of it.

Laws are compared by a virtual clock, so their figures do not depend on the machine. A stall counts as a rate of 0. Sound is judged
by what can be measured: the pitch of a tone, clicks (the greatest second difference over that of the sound itself), and how far the
spectrum and the envelope are from the sound's own at the same place. Times are those of whole processes, WAV file in and out.
"""

import argparse
import csv
import os
import subprocess
import tempfile
import time
import wave
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from report import machine, print_machine, print_table, save

SEEDS = (1, 2, 3, 4, 5)
MODELS = ("AUTO", "LAST", "none")
RATE = 0.9
HERTZ = 48_000
SECONDS = 60
N_RUNS = 5
# How many seconds of silence are known to nobody before they come.
UNFORETOLD = ("outage",)

Sound = NDArray[np.float64]
Row = dict[str, str]


def main() -> None:
    """Simulate, stretch, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop-play`")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "laws": laws(given.binary, folder, []),
            "laws_live": laws(given.binary, folder, ["--live"]),
            "ablation": ablation(given.binary, folder),
            "stretching": stretching(given.binary, folder),
        }
    print_machine(machine())
    save("playback", figures)


def simulated(binary: Path, folder: Path, arguments: list[str]) -> list[Row]:
    """Return the outcomes of all laws on all made traces, of all seeds."""
    rows = []
    for seed in SEEDS:
        command = [str(binary), "simulate", "--seed", str(seed), "--out", str(folder), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with (folder / "laws.csv").open() as file:
            rows.extend(csv.DictReader(file))
    return rows


def laws(binary: Path, folder: Path, arguments: list[str]) -> dict[str, dict[str, float]]:
    """Compare all laws."""
    found = {law: summed(rows) for law, rows in by_law(simulated(binary, folder, arguments)).items()}
    what = "made while they are played" if arguments else "on demand"
    head = ["law", "stalled", "of Shaka's", "by outages", "mean abs(rate - 1)", "root mean square", "slew a second"]
    rows = [
        [
            law,
            f"{of['stalled_seconds']:.0f} s",
            f"{of['stalled_seconds'] / found['shaka']['stalled_seconds']:.2f}",
            f"{of['unforetold_seconds']:.0f} s",
            f"{of['mean_deviation']:.2%}",
            f"{of['rms_deviation']:.2%}",
            f"{of['slew_per_second']:.1%}",
        ]
        for law, of in found.items()
    ]
    least = found["off"]["least_mean_deviation"]
    title = f"Ten traces {what}, {len(SEEDS)} seeds, 20 min each; nobody could have a mean below {least:.2%}"
    print_table(title, head, rows)
    return found


def ablation(binary: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Take the forecast away, and put a worse one in its place."""
    found = {}
    for model in MODELS:
        rows = simulated(binary, folder, ["--law", "restricted", "--model", model])
        found[model] = summed(rows)
    rows = [
        [model, f"{of['stalled_seconds']:.0f} s", f"{of['mean_deviation']:.2%}", f"{of['rms_deviation']:.2%}"]
        for model, of in found.items()
    ]
    print_table("Our law by who forecasts", ["model", "stalled", "mean abs(rate - 1)", "root mean square"], rows)
    return found


def by_law(rows: list[Row]) -> dict[str, list[Row]]:
    """Sort rows by law, in their order."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["law"]].append(row)
    return found


def summed(rows: list[Row]) -> dict[str, float]:
    """Sum what is a time, and weigh by time what is a mean. Outages count apart."""
    seconds = sum(float(row["seconds"]) for row in rows)

    def mean(name: str, power: int = 1) -> float:
        return sum(float(row[name]) ** power * float(row["seconds"]) for row in rows) / seconds

    def stalled(are_unforetold: bool) -> float:
        return sum(float(row["stalled_seconds"]) for row in rows if (row["trace"] in UNFORETOLD) == are_unforetold)

    return {
        "stalled_seconds": stalled(False),
        "unforetold_seconds": stalled(True),
        "mean_deviation": mean("mean_deviation"),
        "rms_deviation": mean("rms_deviation", 2) ** 0.5,
        "least_mean_deviation": mean("least_mean_deviation"),
        "slew_per_second": max(float(row["slew_per_second"]) for row in rows),
    }


def stretching(binary: Path, folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Play four sounds at 0.9 with each tool."""
    tempo = f"{(RATE - 1) * 100:.0f}"
    tools = {
        "foretop": [str(binary), "{from}", "--virtual", "--out", "{to}", "--speed", str(RATE)],
        "SoundTouch": ["soundstretch", "{from}", "{to}", f"-tempo={tempo}"],
        "SoundTouch, quick": ["soundstretch", "{from}", "{to}", f"-tempo={tempo}", "-quick"],
        "ffmpeg atempo": ["ffmpeg", "-y", "-loglevel", "error", "-i", "{from}", "-af", f"atempo={RATE}", "{to}"],
        "Rubber Band R2": ["rubberband", "-q", "-T", str(RATE), "{from}", "{to}"],
        "Rubber Band R3": ["rubberband-r3", "-q", "-T", str(RATE), "{from}", "{to}"],
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    sounds = made(folder)
    for tool, command in tools.items():
        found[tool] = {}
        for name, (path, sound) in sounds.items():
            to = folder / "stretched.wav"
            to.unlink(missing_ok=True)
            line = [part.replace("{from}", str(path)).replace("{to}", str(to)) for part in command]
            cpu = min(cpu_seconds(line) for _ in range(N_RUNS))
            found[tool][name] = {"times_real_time": SECONDS / cpu} | judged(sound, read(to))
    for name in sounds:
        rows = []
        for tool, of in found.items():
            of_sound = of[name]
            cents = f"{of_sound['cents']:+.2f}" if name == "tone" else ""
            rows.append(
                [
                    tool,
                    f"{of_sound['times_real_time']:.0f}",
                    f"{of_sound['click_ratio']:.2f}",
                    f"{of_sound['spectrum_db']:.2f} dB",
                    f"{of_sound['envelope_db']:.2f} dB",
                    cents,
                ]
            )
        head = ["tool", "times real time", "clicks", "spectrum off by", "envelope off by", "pitch, cents"]
        print_table(f"{name.capitalize()} at {RATE}, {HERTZ // 1000} kHz stereo", head, rows)
    return found


def made(folder: Path) -> dict[str, tuple[Path, Sound]]:
    """Make speech, a tone, noise and something like music, as stereo WAV files."""
    chance = np.random.default_rng(1)
    at = np.arange(SECONDS * HERTZ) / HERTZ
    tone = 0.5 * np.sin(2 * np.pi * 220 * at)
    # Chords of decaying partials, one each half a second, over soft noise.
    music = 0.02 * chance.standard_normal(at.size)
    for beat in np.arange(0, SECONDS, 0.5):
        since = at[at >= beat] - beat
        for pitch in chance.choice([110, 165, 220, 262, 330, 392, 440], size=3, replace=False):
            for partial in (1, 2, 3):
                music[at >= beat] += 0.12 / partial * np.sin(2 * np.pi * pitch * partial * since) * np.exp(-4 * since)
    said = folder / "said.wav"
    text = "The rate follows a forecast of what arrives, and changes by two percent a second at most. " * 12
    subprocess.run(["espeak-ng", "-w", str(said), text], check=True)
    speech_path = folder / "speech.wav"
    convert = ["ffmpeg", "-y", "-loglevel", "error", "-i", str(said), "-af", "apad", "-t", str(SECONDS)]
    subprocess.run([*convert, "-ac", "2", "-ar", str(HERTZ), str(speech_path)], check=True)
    sounds = {"speech": (speech_path, read(speech_path))}
    noise = 0.2 * chance.standard_normal(at.size)
    for name, sound in {"tone": tone, "noise": noise, "music": music}.items():
        path = folder / f"{name}.wav"
        write(path, np.clip(sound, -0.99, 0.99))
        sounds[name] = (path, read(path))
    return sounds


def write(path: Path, sound: Sound) -> None:
    """Write the same sound to two channels."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(HERTZ)
        file.writeframes(np.repeat((sound * 32_767).astype("<i2"), 2).tobytes())


def read(path: Path) -> Sound:
    """Return the first channel, whatever the sample format."""
    decode = ["ffmpeg", "-loglevel", "error", "-i", str(path), "-f", "s16le", "-ac", "2", "-ar", str(HERTZ), "-"]
    raw = subprocess.run(decode, check=True, capture_output=True).stdout
    return np.frombuffer(raw, dtype="<i2")[::2] / 32_768


def cpu_seconds(command: list[str]) -> float:
    """Return the processor time of a process, or its wall time where that is longer than nothing but waiting."""
    before = os.times()
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall = time.perf_counter() - began
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu if cpu > 0 else wall


def judged(sound: Sound, stretched: Sound) -> dict[str, float]:
    """Hold a stretched sound against the sound itself."""
    return {
        "cents": 1_200 * float(np.log2(pitch(stretched) / pitch(sound))),
        "click_ratio": roughness(stretched) / roughness(sound),
        "spectrum_db": distance(sound, stretched, spectrum),
        "envelope_db": distance(sound, stretched, envelope),
    }


def pitch(sound: Sound) -> float:
    """Return the strongest frequency of the middle, between bins by a parabola."""
    size = 1 << 17
    middle = sound[len(sound) // 2 :][:size]
    power = np.log(np.abs(np.fft.rfft(middle * np.hanning(middle.size), size)) + 1e-12)
    top = int(np.argmax(power[1:-1])) + 1
    left, here, right = power[top - 1 : top + 2]
    return (top + (left - right) / (2 * (left - 2 * here + right))) * HERTZ / size


def roughness(sound: Sound) -> float:
    """Return the greatest second difference."""
    return float(np.abs(np.diff(sound, 2)).max())


def spectrum(piece: Sound) -> NDArray[np.float64]:
    """Return the power in bands of a third of an octave."""
    power = np.abs(np.fft.rfft(piece * np.hanning(piece.size))) ** 2
    edges = 100 * 2 ** (np.arange(22) / 3) * piece.size / HERTZ
    return np.array([power[int(low) : int(high) + 1].mean() for low, high in zip(edges, edges[1:], strict=False)])


def envelope(piece: Sound) -> NDArray[np.float64]:
    """Return the power of eight parts."""
    return np.array([np.mean(part**2) for part in np.array_split(piece, 8)])


def distance(sound: Sound, stretched: Sound, of: Callable[[Sound], NDArray[np.float64]]) -> float:
    """Return the mean distance in decibels over pieces at the same place. What is 50 dB below the whole does not count."""
    size = HERTZ // 5
    total = []
    for start in range(0, min(len(sound), int(RATE * len(stretched))) - size, size):
        mine, theirs = sound[start:][:size], stretched[int(start / RATE) :][: int(size / RATE)]
        if np.mean(mine**2) > 1e-6:
            levels = [10 * np.log10(power / (power.sum() + 1e-12) + 1e-5) for power in (of(mine), of(theirs))]
            total.append(np.abs(levels[0] - levels[1]).mean())
    return float(np.mean(total))


if __name__ == "__main__":
    main()
