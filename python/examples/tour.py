# %% [markdown]
# # A tour of foretop
#
# From a recorded trace to forecasts with honest error bars. Run it as a script (`python tour.py FOLDER` draws into that folder),
# or cell by cell in an editor that knows `# %%`. It needs pandas and matplotlib besides foretop.

# %%
"""A tour of foretop: look at a series, fit, forecast, step, judge, and do it for many series at once."""

import pickle
import sys
from pathlib import Path

import foretop
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

FOLDER = Path(sys.argv[1]) if len(sys.argv) == 2 else Path("tour")
TRACES = Path(__file__).resolve().parents[2] / "testdata" / "nab"


def draw(figure: Figure, name: str) -> None:
    """Save a figure into the folder of the tour."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / f"{name}.png", dpi=100)
    plt.close(figure)


# %% [markdown]
# ## A series
#
# CPU use of a server in percent, every five minutes. Where a row is missing, `asfreq` puts a gap (NaN), so that samples are evenly spaced.


# %%
def read_trace(name: str) -> pd.Series:
    """Read one of Numenta's traces, evenly spaced."""
    trace = pd.read_csv(TRACES / f"{name}.csv", index_col="timestamp", parse_dates=True)["value"]
    return trace[~trace.index.duplicated()].asfreq("5min")


y = read_trace("ec2_cpu_utilization_5f5533")
known, coming = y[:3600], y[3600:]
print(f"{len(y)} samples from {y.index[0]} to {y.index[-1]}, {y.isna().sum()} of them gaps")

# %% [markdown]
# ## What it remembers
#
# Autocorrelations say what a model can use; partial ones say how far back an autoregressive model has to look.

# %%
figure, (whole, partial) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
bound = 1.96 / np.sqrt(known.count())
for axes, correlations, title in [
    (whole, foretop.acf(known, 60), "autocorrelation"),
    (partial, foretop.pacf(known, 60), "partial autocorrelation"),
]:
    axes.vlines(np.arange(1, 61), 0, correlations[1:], color="tab:blue")
    axes.axhspan(-bound, bound, color="0.9")
    axes.set(title=title, ylim=(-0.2, 1))
partial.set(xlabel="lag (5 minutes)")
draw(figure, "correlations")

# %% [markdown]
# ## Fit, and look ahead
#
# A specification is text. The model says what it found, and forecasts means with a standard error for each lead. The forecast's index
# continues that of the series.

# %%
model = foretop.fit(known, "AR(16)")
print(model)
forecast = model.forecast(60)
inference = model.inference()
if inference is not None:
    print(f"phi(1) has a standard error of {inference.standard_errors['phi1']:.3f}; AICc {inference.aicc:.1f}")
print(forecast.to_frame(confidence=0.95).head(3).round(3).to_string())

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.plot(y[3500:3660], color="0.4", label="what came")
axes.plot(forecast.index, forecast.mean, color="tab:blue", label=model.spec)
for lower, upper in zip(*forecast.interval([0.5, 0.8, 0.95]), strict=True):
    axes.fill_between(forecast.index, lower, upper, color="tab:blue", alpha=0.15, linewidth=0)
axes.set(title="five hours ahead, with 50, 80 and 95 % intervals", ylabel="CPU (%)")
axes.legend()
figure.autofmt_xdate()
draw(figure, "forecast")

# %% [markdown]
# ## Step as samples come
#
# A step takes one sample, well under a microsecond, and the next forecast starts from there. A `REFIT` fits itself anew on the way.

# %%
predictor = foretop.fit(known, "REFIT(AR(16),every=100,window=1500)").predictor()
n_inside = 0
for sample in coming:
    lower, upper = predictor.forecast(1).interval(0.95)
    n_inside += int(lower[0] <= sample <= upper[0])
    predictor.step(sample)
print(f"{n_inside} of {len(coming)} samples inside their 95 % intervals; {predictor.n_refits} refits on the way")

# %% [markdown]
# ## Judge
#
# `evaluate` does the same for every lead, and keeps score. What everything has to beat is the last value, and the mean.

# %%
scores = {
    spec: foretop.evaluate(y, spec, horizon=30, n_fit=1500, refit_every=250)
    for spec in ("MEAN", "LAST", "BM(32)", "AR(16)", "ARMA(2,1)")
}
print(scores["AR(16)"].to_frame().loc[[1, 10, 30], ["n", "mean_squared", "coverage_95"]].round(3).to_string())

figure, (errors, coverage) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for spec, score in scores.items():
    errors.plot(score["lead"], score["mean_squared"], label=spec)
    coverage.plot(score["lead"], 100 * score["coverage_95"])
coverage.axhline(95, color="0.4", linestyle=":")
errors.set(title="mean squared error", xlabel="lead")
coverage.set(title="inside 95 % intervals (%)", xlabel="lead")
figure.legend(loc="outside upper center", ncols=len(scores))
draw(figure, "scores")

# %% [markdown]
# ## Long memory
#
# The Hurst exponent in four ways: 0.5 is none, 1 is as much as a stationary series can have.

# %%
requests = read_trace("elb_request_count_8c0756").interpolate().to_numpy()
for method in ("rescaled_range", "aggregated_variance", "whittle", "gph"):
    estimate = foretop.hurst(requests, method=method)
    print(f"Hurst exponent by {method}: {estimate.exponent:.3f} (standard error {estimate.standard_error:.3f})")

pox, spectrum = foretop.pox_plot(requests), foretop.periodogram(requests)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.loglog(pox.length, pox.rescaled_range, ".", markersize=3)
left.set(title="pox plot", xlabel="length", ylabel="rescaled range")
right.loglog(spectrum.frequency, spectrum.power, linewidth=0.5)
right.set(title="periodogram", xlabel="frequency (radians a step)")
draw(figure, "memory")

# %% [markdown]
# ## Many series at once
#
# A fleet fits one specification to each row, on all cores. Here its rows are windows of the trace, an hour apart; gaps are filled before.

# %%
filled = y.interpolate().to_numpy()
rows = np.array([filled[end - 600 : end] for end in range(600, 3600, 12)])
fleet = foretop.Fleet(rows, "AR(16)")
ahead = fleet.forecast(60)
truth = np.array([filled[end : end + 60] for end in range(600, 3600, 12)])
lower, upper = ahead.interval(0.95)
inside = np.mean((lower <= truth) & (truth <= upper), axis=0)
print(f"{len(fleet)} series; inside 95 % intervals: {inside[0]:.1%} at lead 1, {inside[-1]:.1%} at lead 60")

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
size = np.abs(truth - ahead.mean)
picture = axes.imshow(
    size, aspect="auto", origin="lower", extent=(0.5, 60.5, 0, len(fleet)), vmax=np.quantile(size, 0.99)
)
axes.set(title="error of each forecast", xlabel="lead", ylabel="window")
figure.colorbar(picture, label="CPU (%)")
draw(figure, "fleet")

# %% [markdown]
# ## Put it away, and go on tomorrow
#
# Models, predictors, forecasts and fleets pickle. A predictor's state is also available as plain bytes, for what is not Python.

# %%
state = predictor.save()
restored = foretop.Predictor.restore(state)
twin = pickle.loads(pickle.dumps(predictor))
same = np.array_equal(restored.forecast(60).mean, twin.forecast(60).mean)
print(f"{len(state)} bytes; the restored predictor and the pickled one {'agree' if same else 'differ'}")
