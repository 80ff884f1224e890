"""Pictures of forecasts, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foretop._optional import imported
from foretop._samples import read_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from foretop._axis import Axis
    from foretop._native import Forecast
    from foretop._samples import Row, Samples

# Of a model, so much more of the past is drawn than of what is to come, and never less than so many samples.
_PAST_PER_FUTURE, _N_PAST_MIN = 3, 60


def forecast_axes(
    forecast: Forecast, history: Samples | None, confidence: float | list[float], ax: Axes | None
) -> Axes:
    """Draw a forecast; called by :meth:`Forecast.plot`."""
    past: tuple[Any, Row] | None = None
    if history is not None:
        samples, axis = read_series(history)
        end = _first_position(forecast) if axis is None else len(samples)
        past = _labels(axis, end - len(samples), len(samples)), samples
    return _draw(forecast, past, "forecast", confidence, ax)


def model_axes(
    forecast: Forecast,
    samples: Row | None,
    first: int,
    axis: Axis | None,
    label: str,
    confidence: float | list[float],
    ax: Axes | None,
) -> Axes:
    """Draw the end of a model's samples, the first of which is at position `first`, and a forecast; called by :meth:`Model.plot`."""
    past: tuple[Any, Row] | None = None
    if samples is not None:
        n_drawn = min(len(samples), max(_PAST_PER_FUTURE * len(forecast), _N_PAST_MIN))
        drawn = samples[len(samples) - n_drawn :]
        past = _labels(axis, first + len(samples) - n_drawn, n_drawn), drawn
    return _draw(forecast, past, label, confidence, ax)


def _draw(
    forecast: Forecast, past: tuple[Any, Row] | None, label: str, confidence: float | list[float], ax: Axes | None
) -> Axes:
    axes: Axes = imported("matplotlib.pyplot", "plots").subplots(layout="constrained")[1] if ax is None else ax
    index = _drawable(forecast.index)
    if past is not None:
        axes.plot(_drawable(past[0]), past[1], color="0.4", label="samples")
    (line,) = axes.plot(index, forecast.mean, label=label)
    levels = [confidence] if isinstance(confidence, float) else confidence
    # The widest first, so that the narrow ones stand out.
    for level in sorted(levels, reverse=True):
        axes.fill_between(
            index,
            *forecast.interval(level),
            color=line.get_color(),
            alpha=0.2,
            linewidth=0,
            label=f"{100 * level:g} % interval",
        )
    axes.legend()
    if ax is None and getattr(index, "dtype", np.dtype(float)).kind == "M":
        dates = imported("matplotlib.dates", "plots")
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(axes.xaxis.get_major_locator()))
    return axes


def _labels(axis: Axis | None, first: int, n: int) -> Any:
    return np.arange(first, first + n) if axis is None else axis.labels(first, n)


def _first_position(forecast: Forecast) -> int:
    """Return where a forecast begins whose history has no index: at its own label if that is a number."""
    first = forecast.index[0] if len(forecast) else 0
    return int(first) if isinstance(first, int | np.integer) else 0


def _drawable(index: Any) -> Any:
    """Return what matplotlib can place: it knows neither periods nor spans of time, which become seconds."""
    if hasattr(index, "to_timestamp"):
        return index.to_timestamp()
    return index.total_seconds() if hasattr(index, "total_seconds") else index
