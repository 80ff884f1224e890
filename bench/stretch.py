"""Sound played slower and faster: our stretcher beside SoundTouch, Rubber Band and ffmpeg's atempo, on the same made sounds.

Speed is by processor time, of a minute and a half of music beyond the first ten seconds, so that nobody's start counts; the best of
several runs. Our stretcher and ffmpeg read and write plain floats, the others and `foretop play` WAV files.

Quality is judged against the input at the media time that the output stands for, after one shift for each sound, found by the envelopes.
Pitch is by the phase of a sine in pieces of 100 ms; clicks are the largest second difference over that of the input; envelopes are the
power of 10 ms in dB at that time; spectra are that of 32 bands in windows of 40 ms, each window at its best within 15 ms of that
time, since what comes a little early or late is no other sound. Both are root mean squares; 50 dB below the loudest is silence.
"""

import argparse
import math
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from report import PROGRAMS, TARGET, machine, print_machine, print_table, save
from scipy.io import wavfile
from scipy.signal import hilbert, resample_poly

HERTZ = 48_000
RATES = [0.5, 0.9, 1.1, 2.0]
SEED = 1
N_RUNS = 3
TIMED_SECONDS = [10, 100]
SINE_HERTZ = 440
# What is this much quieter than the loudest is not heard beside it.
HEARD_DB = -50.0
SHIFT_SECONDS = 0.1
EARLY_OR_LATE_SECONDS = 0.015
LECTURE = (
    "A stream that arrives too slowly stops again and again. Played a little slower, it goes on, and hardly anybody notices. "
    "The pitch of the voice stays what it was; only the words come later. Packets, kettles and trumpets stop abruptly."
)

Sound = NDArray[np.float64]


class Stretcher(NamedTuple):
    """A program that is given files without and with a WAV header, a place for its output, and a rate."""

    name: str
    command: Callable[[Path, Path, float], list[str]]
    suffix: str = ".wav"


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keep", type=Path, default=TARGET / "bench" / "stretched", help="where sounds are left")
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop-play`")
    arguments.add_argument("--also", action="append", default=[], choices=["signalsmith"], help="if it was built in")
    given = arguments.parse_args()
    stretchers = [*STRETCHERS, *(foretop_play(given.binary, by) for by in ["own", *given.also])]
    kept = given.keep
    kept.mkdir(parents=True, exist_ok=True)
    sounds = made_sounds()
    qualities: dict[str, dict[float, list[list[float]]]] = {}
    pitches: dict[str, list[tuple[float, float]]] = {}
    for name, sound in sounds.items():
        original = kept / f"{name}.wav"
        write(original, sound)
        for stretcher in stretchers:
            for rate in RATES:
                output = kept / f"{name}-{rate:g}-{stretcher.name.replace(' ', '-')}.wav"
                out = stretched(stretcher, original, output, rate)
                if name == "sine":
                    pitches.setdefault(stretcher.name, []).append(pitch_errors(out))
                judged = judge(read(original), out, rate)
                qualities.setdefault(stretcher.name, {}).setdefault(rate, []).append(judged)
    speeds = {stretcher.name: times_real_time(stretcher) for stretcher in stretchers}
    report(list(sounds), speeds, pitches, qualities)


def report(
    sounds: list[str],
    speeds: dict[str, float],
    pitches: dict[str, list[tuple[float, float]]],
    qualities: dict[str, dict[float, list[list[float]]]],
) -> None:
    """Print all tables and save the figures."""
    rows = [[name, f"{speed:,.0f}"] for name, speed in speeds.items()]
    print_table("Music of 48 kHz in stereo at 0.9", ["stretcher", "times real time"], rows)
    head = ["stretcher", *(f"at {rate:g}" for rate in RATES)]
    rows = [[name, *(f"{mean:.2f}, {most:.1f}" for mean, most in found)] for name, found in pitches.items()]
    print_table(f"Pitch of a sine of {SINE_HERTZ} Hz, cents off: median, 95th percentile of 100 ms", head, rows)
    for at, (title, digits) in enumerate(
        [
            ("Largest second difference over the input's", 2),
            ("Distance of envelopes, dB", 2),
            ("Distance of spectra, dB", 2),
        ]
    ):
        rows = [
            [name, *(" / ".join(f"{values[at]:.{digits}f}" for values in by_rate[rate]) for rate in RATES)]
            for name, by_rate in qualities.items()
        ]
        print_table(f"{title}: {' / '.join(sounds)}", head, rows)
    print_machine(machine() | versions())
    figures = {"sounds": sounds, "times_real_time": speeds, "pitch_cents": pitches, "quality": qualities}
    save("stretch", {"versions": versions(), **figures})


def ours(tier: str) -> Stretcher:
    """Return our own program, which takes floats only."""

    def command(given: Path, output: Path, rate: float) -> list[str]:
        return [
            str(PROGRAMS / "bench-stretch"), str(given.with_suffix(".f32")), str(output), str(HERTZ), "2", str(rate), tier,
        ]  # fmt: skip

    return Stretcher(f"Foretop {tier}", command, ".f32")


def foretop_play(binary: Path, by: str) -> Stretcher:
    """Return the whole player, which decodes and decides too."""
    steady = ["--virtual", "--max-slow", "1", "--max-fast", "1", "--stretcher", by]
    return Stretcher(
        "foretop play" if by == "own" else f"foretop play {by}",
        lambda given, output, rate: [str(binary), str(given), *steady, "--out", str(output), "--speed", f"{rate:g}"],
    )


def sound_touch(*options: str) -> Callable[[Path, Path, float], list[str]]:
    """Return the command of SoundTouch."""
    return lambda given, output, rate: [
        "soundstretch", str(given), str(output), f"-tempo={100 * (rate - 1):g}", *options,
    ]  # fmt: skip


def rubber_band(engine: str) -> Callable[[Path, Path, float], list[str]]:
    """Return the command of Rubber Band."""
    return lambda given, output, rate: ["rubberband", engine, "-q", "-T", f"{rate:g}", str(given), str(output)]


def atempo(given: Path, output: Path, rate: float) -> list[str]:
    """Return the command of ffmpeg."""
    plain = ["-f", "f32le", "-ar", str(HERTZ), "-ac", "2"]
    return [
        "ffmpeg", "-v", "error", "-y", "-threads", "1", *plain, "-i", str(given.with_suffix(".f32")),
        "-filter:a", f"atempo={rate:g}", *plain, str(output),
    ]  # fmt: skip


STRETCHERS = [
    ours("full"),
    ours("coarse"),
    ours("plain"),
    Stretcher("SoundTouch", sound_touch()),
    Stretcher("SoundTouch quick", sound_touch("-quick")),
    Stretcher("ffmpeg atempo", atempo, ".f32"),
    Stretcher("Rubber Band R2", rubber_band("-2")),
    Stretcher("Rubber Band R3", rubber_band("-3")),
]


def made_sounds() -> dict[str, Sound]:
    """Speech, a sine, noise and music, in stereo, the same on every run."""
    chance = np.random.default_rng(SEED)
    voice = speech()
    echo = np.concatenate([np.zeros(200), voice[:-200]])
    sine = 0.5 * np.sin(2 * np.pi * SINE_HERTZ * np.arange(6 * HERTZ) / HERTZ)
    hiss = 0.1 * chance.standard_normal((4 * HERTZ, 2))
    return {
        "speech": np.column_stack([voice, 0.8 * voice + 0.2 * echo]),
        "sine": np.column_stack([sine, sine]),
        "noise": hiss,
        "music": music(8, chance),
    }


def speech() -> Sound:
    """Return a few sentences by espeak-ng."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "voice.wav"
        subprocess.run(["espeak-ng", "-v", "en", "-s", "150", "-w", file, LECTURE], check=True)
        hertz, samples = wavfile.read(file)
    common = math.gcd(HERTZ, hertz)
    return 0.8 * resample_poly(samples / 32768, HERTZ // common, hertz // common)


def music(seconds: int, chance: np.random.Generator) -> Sound:
    """Return chords whose partials decay, a bass, and drums of noise, each at its place between the sides."""
    mixed = np.zeros((seconds * HERTZ, 2))

    def add(at_seconds: float, samples: Sound, side: float) -> None:
        at = int(at_seconds * HERTZ)
        n = min(len(samples), len(mixed) - at)
        mixed[at : at + n] += samples[:n, None] * [1 - side, side]

    def note(hertz: float, length_seconds: float, n_partials: int) -> Sound:
        t = np.arange(int(length_seconds * HERTZ)) / HERTZ
        partials = (np.sin(2 * np.pi * k * hertz * t) * np.exp(-k * t) / k for k in range(1, n_partials + 1))
        return sum(partials, np.zeros(len(t))) * np.minimum(1, t / 0.005) * np.minimum(1, (length_seconds - t) / 0.02)

    chords = [[220.0, 261.6, 329.6], [174.6, 220.0, 261.6], [196.0, 246.9, 293.7], [164.8, 207.7, 246.9]]
    for bar in range(seconds):
        chord = chords[bar % len(chords)]
        for at, hertz in enumerate(chord):
            add(bar, 0.12 * note(hertz, 1.0, 8), 0.2 + 0.3 * at)
        for beat in range(2):
            add(bar + beat / 2, 0.25 * note(chord[0] / 4, 0.45, 3), 0.5)
        for beat in range(4):
            hit = chance.standard_normal(HERTZ // 5) * np.exp(-np.arange(HERTZ // 5) / HERTZ * (80 if beat % 2 else 30))
            add(bar + beat / 4, 0.15 * hit, 0.4)
    return mixed


def stretched(stretcher: Stretcher, given: Path, output: Path, rate: float) -> Sound:
    """Return what a stretcher makes of a file, and leave it as a WAV file."""
    made = output.with_suffix(stretcher.suffix)
    subprocess.run(stretcher.command(given, made, rate), check=True, capture_output=True)
    if made == output:
        return read(output)
    sound = np.fromfile(made, "<f4").reshape(-1, 2).astype(float)
    made.unlink()
    wavfile.write(output, HERTZ, np.clip(np.round(sound * 32768), -32768, 32767).astype("<i2"))
    return sound


def write(file: Path, sound: Sound) -> None:
    """Write a sound as WAV, and the very same samples as floats beside it."""
    samples = np.clip(np.round(sound * 32768), -32768, 32767).astype("<i2")
    wavfile.write(file, HERTZ, samples)
    (samples / 32768).astype("<f4").tofile(file.with_suffix(".f32"))


def read(file: Path) -> Sound:
    """Return the samples of a WAV file."""
    return wavfile.read(file)[1] / 32768


def pitch_errors(out: Sound) -> tuple[float, float]:
    """Return the median and the 95th percentile of how many cents pieces of 100 ms are off."""
    # Ends are where stretchers fade.
    left = out[HERTZ // 4 : -HERTZ // 4, 0]
    phase = np.unwrap(np.angle(hilbert(left)))[HERTZ // 10 : -HERTZ // 10]
    piece = HERTZ // 10
    hertz = (phase[piece::piece] - phase[:-piece:piece]) / (2 * np.pi) * HERTZ / piece
    cents = np.abs(1200 * np.log2(hertz / SINE_HERTZ))
    return float(np.median(cents)), float(np.quantile(cents, 0.95))


def judge(given: Sound, out: Sound, rate: float) -> list[float]:
    """Return clicks, and the distances of envelopes and of spectra."""
    clicks = np.max(np.abs(np.diff(out, 2, axis=0))) / np.max(np.abs(np.diff(given, 2, axis=0)))
    shifts = np.arange(-SHIFT_SECONDS, SHIFT_SECONDS, 0.002)
    at_seconds = np.arange(0.3, min(len(given) / HERTZ, len(out) / HERTZ * rate) - 0.3, 0.02)
    envelope = levels(given, at_seconds)
    envelopes = [distance(envelope, levels(out, at_seconds / rate + seconds)) for seconds in shifts]
    shift = shifts[np.argmin(envelopes)]
    spectrum = bands(given, at_seconds)
    places = np.linspace(-EARLY_OR_LATE_SECONDS, EARLY_OR_LATE_SECONDS, 11)
    spectra = [differences(spectrum, bands(out, at_seconds / rate + shift + place)) for place in places]
    nearest = np.min(np.mean(np.square(spectra), axis=2), axis=0)
    return [float(clicks), min(envelopes), float(np.sqrt(np.mean(nearest)))]


def levels(sound: Sound, at_seconds: Sound) -> Sound:
    """Return the power in dB of 10 ms around each moment."""
    starts = np.round((at_seconds - 0.005) * HERTZ).astype(int)
    sums = np.concatenate([[0.0], np.cumsum(np.sum(sound**2, axis=1))])
    return 10 * np.log10(np.maximum(sums[starts + HERTZ // 100] - sums[starts], 0) + 1e-9)


def bands(sound: Sound, at_seconds: Sound) -> Sound:
    """Return the power in dB of bands as wide as the ear's, 50 Hz to 16 kHz, in 40 ms around each moment."""
    window = HERTZ // 25
    starts = np.round(at_seconds * HERTZ).astype(int) - window // 2
    frames = sound[starts[:, None] + np.arange(window)] * np.hanning(window)[:, None]
    power = np.sum(np.abs(np.fft.rfft(frames, axis=1)) ** 2, axis=2)
    scale = 2595 * np.log10(1 + np.array([50, 16000]) / 700)
    edges = 700 * (10 ** (np.linspace(*scale, 33) / 2595) - 1) * window / HERTZ
    return 10 * np.log10(np.add.reduceat(power, np.unique(np.round(edges).astype(int)), axis=1)[:, :-1] + 1e-9)


def distance(given: Sound, out: Sound) -> float:
    """Return the root mean square of the differences."""
    return float(np.sqrt(np.mean(differences(given, out) ** 2)))


def differences(given: Sound, out: Sound) -> Sound:
    """Return by how many dB both differ, where what is too quiet counts as silence."""
    least = max(np.max(given), np.max(out)) + HEARD_DB
    return np.maximum(out, least) - np.maximum(given, least)


def times_real_time(stretcher: Stretcher) -> float:
    """Return how many seconds of music a stretcher plays at 0.9 in a second of a processor."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{seconds}.wav" for seconds in TIMED_SECONDS]
        for file, seconds in zip(files, TIMED_SECONDS, strict=True):
            write(file, np.tile(music(10, np.random.default_rng(SEED)), (seconds // 10, 1)))
        output = Path(folder) / f"out{stretcher.suffix}"
        short, long = (min(cpu_seconds(stretcher.command(file, output, 0.9)) for _ in range(N_RUNS)) for file in files)
    return (TIMED_SECONDS[1] - TIMED_SECONDS[0]) / (long - short)


def cpu_seconds(command: list[str]) -> float:
    """Return the processor time of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def versions() -> dict[str, str]:
    """Say which peers these are, by their Debian packages."""
    # `dpkg-query` answers in the order of the alphabet.
    packages = ["espeak-ng", "ffmpeg", "rubberband-cli", "soundstretch"]
    asked = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}\n", *packages], check=True, capture_output=True, text=True
    )
    return dict(zip(packages, asked.stdout.split(), strict=True))


if __name__ == "__main__":
    main()
