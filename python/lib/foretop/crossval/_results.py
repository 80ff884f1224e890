"""What the results of a campaign show."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foretop import _native
from foretop._tables import Table

if TYPE_CHECKING:
    import pandas as pd

Metric: TypeAlias = Literal["mse", "mae", "crps", "interval"]

# Real numbers; whole numbers and which are missing; or places in a list of words.
Cells: TypeAlias = (
    NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.bool_]] | tuple[NDArray[np.int64], list[str]]
)


@dataclass(frozen=True)
class Report:
    """A report on a campaign.

    Attributes
    ----------
    recommended : str or None
        The model to use; None of results without a case.
    html, markdown : str
        The report as one file that needs nothing else, and the same words and tables without the pictures.
    """

    recommended: str | None
    html: str
    markdown: str

    def __repr__(self) -> str:
        return f"<foretop.crossval.Report: recommends {self.recommended}>"

    def __str__(self) -> str:
        return self.markdown

    def _repr_html_(self) -> str:
        return self.html


def report(
    path: str | PathLike[str],
    *,
    metric: Metric = "mse",
    html: str | PathLike[str] | None = None,
    markdown: str | PathLike[str] | None = None,
) -> Report:
    """Say which model wins for which lead time, by how much, and whether that matters.

    Parameters
    ----------
    path : str or os.PathLike
        Results that :func:`run` or ``foretop crossval run`` has written.
    metric : {"mse", "mae", "crps", "interval"}
        What models are judged by: squared or absolute errors, the continuous ranked probability score, or the score of the 95 % interval.
    html, markdown : str or os.PathLike, optional
        Files to write the report to.

    Returns
    -------
    Report
        The recommended model, and the report.

    Raises
    ------
    ResultsError
        If the file has no results, or damaged ones.
    """
    as_html, as_markdown, recommended = _native.report(fspath(path), metric)
    for target, text in ((html, as_html), (markdown, as_markdown)):
        if target is not None:
            Path(target).write_text(text, encoding="utf-8")
    return Report(recommended, as_html, as_markdown)


def compare(first: str | PathLike[str], second: str | PathLike[str], *, metric: Metric = "mse") -> Table:
    """Compare the cases that two campaigns have in common: the same model on the same window of the same samples.

    Parameters
    ----------
    first, second : str or os.PathLike
        Results that :func:`run` or ``foretop crossval run`` has written.
    metric : {"mse", "mae", "crps", "interval"}
        What models are judged by, as in :func:`report`.

    Returns
    -------
    Table
        A row for each model and lead, with columns ``model``, ``lead``, ``n`` (cases in common), ``ratio`` (geometric mean of the
        second one's loss over the first one's: below 1 the second has the smaller errors), ``n_tested`` (windows apart from each
        other in which the losses differ) and ``p_value`` (of a signed-rank test over these, adjusted by Holm's method for all rows).
        Of the model's errors one step ahead, whatever the lead: the shares of cases in which a test at the level of 0.05 does not
        reject that they have no memory (``ljung_box``), turn around (``turning_points``) and rise (``rises``) as often as noise, and are
        normal (``normality``), and the mean R^2 of the quantile-quantile line (``r_squared``), each of both results, as
        ``ljung_box_first`` and ``ljung_box_second``.

    Raises
    ------
    ComparisonError
        If they have no case in common.
    ResultsError
        If a file has no results, or damaged ones.
    """
    _, _, columns = _native.compare_results(fspath(first), fspath(second), metric)
    return Table({name: np.asarray(column) for name, column in columns.items()})


def read(path: str | PathLike[str]) -> pd.DataFrame:
    """Read results, or timings, into a pandas object.

    Parameters
    ----------
    path : str or os.PathLike
        A file that :func:`run` or ``foretop crossval run`` has written.

    Returns
    -------
    pandas.DataFrame
        A row for each case and lead (of timings, for each case), with the columns of ``docs/formats/crossval.md``; words as
        categories.

    Raises
    ------
    ResultsError
        If the file has no results, or damaged ones.
    """
    import pandas as pd

    columns = _native.read_results(fspath(path))
    return pd.DataFrame({name: _pandas_column(cells) for name, cells in columns.items()})


def _pandas_column(cells: Any) -> Any:
    import pandas as pd

    if not isinstance(cells, tuple):
        return cells
    numbers, rest = cells
    if isinstance(rest, list):
        return pd.Categorical.from_codes(numbers, categories=pd.Index(rest, dtype="str"))
    # Without a gap, plain numbers are what everything else understands.
    return pd.arrays.IntegerArray(numbers, rest) if rest.any() else numbers
