"""Fits here and in statsmodels, statsforecast and R, on one trace, in one run: what they take, and how good they are.

Every time is the best of several runs. How good a fit is, is worked out here from its coefficients, by one yardstick for all.
"""

import json
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import statsforecast.models
from report import ROOT, machine, print_machine, print_table, save
from statsmodels.regression.linear_model import burg, yule_walker
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.arima.model import ARIMA
from timing import TRACE, Samples, best_seconds, read_samples, rust_program, time_text, versions
from yardstick import log_likelihood, sum_of_squares

AR, LONG_AR, ARMA, ARFIMA = "AR(16) on 600", "AR(512) on 2,000", "ARMA(8,8) on 2,000", "ARFIMA(4,d,4) on 2,000"
N_SAMPLES = {AR: 600, LONG_AR: 2000, ARMA: 2000, ARFIMA: 2000}
# Work, text of our model, the time that the issues which asked for it name.
OURS = [
    (AR, "AR(16)", 8e-6),
    (LONG_AR, "AR(512)", 0.4e-3),
    (ARMA, "ARMA(8,8)", 20e-3),
    (ARFIMA, "ARFIMA(4,d,4,method=ml)", 10e-3),
    (ARFIMA, "ARFIMA(4,d,4)", None),
]


@dataclass
class Fit:
    """What somebody's fit took and found; no time where it was refused."""

    work: str
    who: str
    time_seconds: float | None
    phi: list[float] = field(default_factory=list)
    theta: list[float] = field(default_factory=list)
    d: float = 0.0
    mean: float = 0.0
    converged: bool = True
    to_reach_seconds: float | None = None
    note: str = ""
    sum_of_squares: float | None = None
    log_likelihood: float | None = None

    def judge(self, samples: Samples) -> None:
        """Work out how good it is: the sum of squares of a model without a fraction, the likelihood of one with."""
        if self.time_seconds is None:
            return
        window = samples[: N_SAMPLES[self.work]]
        if self.work == ARFIMA:
            self.log_likelihood = log_likelihood(window, self.phi, self.theta, self.d, self.mean)
        else:
            self.sum_of_squares = sum_of_squares(window, self.phi, self.theta, self.mean)


def main() -> None:
    """Measure, print, save."""
    samples = read_samples()
    fits = [*ours(), *of_statsmodels(samples), *of_statsforecast(samples), *of_r()]
    for fit in fits:
        fit.judge(samples)
    print_table(
        "Fits beside their peers",
        ["fit", "who", "time", "ratio", "sum of squares", "log-likelihood", "to reach", ""],
        [row(fit, fits) for work in N_SAMPLES for fit in fits if fit.work == work],
    )
    print_machine(machine() | versions() | r_versions())
    save("fit_peers", {"fits": [asdict(fit) for fit in fits], "versions": versions() | r_versions()})


def ours() -> list[Fit]:
    """Return our fits; one that this library does not have says so."""
    fits = []
    for work, model, to_reach in OURS:
        who = f"foretop `{model}`"
        found = rust_program("bench-fit", model, str(N_SAMPLES[work]))
        if "refused" in found:
            fits.append(Fit(work, who, None, to_reach_seconds=to_reach, note=found["refused"][:80]))
            continue
        estimates = {key: found[key] for key in ("time_seconds", "phi", "theta", "mean")}
        fits.append(Fit(work, who, **estimates, d=found["d"] or 0.0, to_reach_seconds=to_reach))
    return fits


def of_statsmodels(samples: Samples) -> list[Fit]:
    """Return fits by Yule-Walker and Burg, by least squares of an AR, and by exact likelihood of an ARMA."""
    fits = []
    for work, order in [(AR, 16), (LONG_AR, 512)]:
        window = samples[: N_SAMPLES[work]].copy()
        mean = float(window.mean())
        by_equations = timed(
            lambda window=window, order=order: yule_walker(
                window, order=order, method="mle", demean=True, result_object=False
            )
        )
        fits.append(
            Fit(work, f"statsmodels `yule_walker({order})`", by_equations[0], list(by_equations[1][0]), mean=mean)
        )
        by_burg = timed(lambda window=window, order=order: burg(window, order=order, demean=True))
        fits.append(Fit(work, f"statsmodels `burg({order})`", by_burg[0], list(by_burg[1][0]), mean=mean))
    window = samples[: N_SAMPLES[AR]].copy()
    seconds, regressed = timed(lambda: AutoReg(window, lags=16).fit())
    constant, *phi = regressed.params
    fits.append(Fit(AR, "statsmodels `AutoReg(16)`", seconds, phi, mean=constant / (1.0 - sum(phi))))
    window = samples[: N_SAMPLES[ARMA]].copy()
    seconds, likely = timed(lambda: ARIMA(window, order=(8, 0, 8)).fit())
    fits.append(
        Fit(
            ARMA,
            "statsmodels `ARIMA`, exact likelihood",
            seconds,
            list(likely.arparams),
            list(likely.maparams),
            mean=float(likely.params[0]),
            converged=bool(likely.mle_retvals["converged"]),
        )
    )
    return fits


def of_statsforecast(samples: Samples) -> list[Fit]:
    """Return fits by conditional sum of squares."""
    fits = []
    for work, order in [(AR, (16, 0, 0)), (ARMA, (8, 0, 8))]:
        window = samples[: N_SAMPLES[work]].copy()
        seconds, fitted = timed(
            lambda window=window, order=order: statsforecast.models.ARIMA(order=order, method="CSS").fit(window)
        )
        found = fitted.model_
        coefficients = list(found["coef"].values())
        phi, theta = coefficients[: order[0]], coefficients[order[0] : order[0] + order[2]]
        fits.append(
            Fit(
                work,
                "statsforecast `ARIMA({},{},{})` CSS".format(*order),
                seconds,
                [float(value) for value in phi],
                [float(value) for value in theta],
                mean=float(found["coef"]["intercept"]),
                converged=found["code"] == 0,
            )
        )
    return fits


def of_r() -> list[Fit]:
    """Return what `peers.R` found."""
    command = ["Rscript", str(ROOT / "bench/peers.R"), str(TRACE)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Fit(**json.loads(line)) for line in lines]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time that one call takes, and what it gives."""
    with warnings.catch_warnings():
        # Whether a fit converged is in its result, and in the table.
        warnings.simplefilter("ignore")
        return best_seconds(work), work()


def row(fit: Fit, fits: list[Fit]) -> list[str]:
    """Write one fit as a line of the table; the ratio is to our first fit of the same work."""
    ours = next(other for other in fits if other.work == fit.work)
    both = fit.time_seconds and ours.time_seconds
    return [
        fit.work,
        fit.who,
        time_text(fit.time_seconds) if fit.time_seconds else "",
        f"{fit.time_seconds / ours.time_seconds:,.1f}" if both else "",
        f"{fit.sum_of_squares:,.2f}" if fit.sum_of_squares else "",
        f"{fit.log_likelihood:,.3f}" if fit.log_likelihood and np.isfinite(fit.log_likelihood) else "",
        f"<= {time_text(fit.to_reach_seconds)}" if fit.to_reach_seconds else "",
        fit.note or ("" if fit.converged else "not converged"),
    ]


def r_versions() -> dict[str, str]:
    """Say which R this is."""
    script = 'cat(paste(getRversion()), paste(packageVersion("fracdiff")))'
    found = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(["R", "fracdiff"], found, strict=True))


if __name__ == "__main__":
    main()
