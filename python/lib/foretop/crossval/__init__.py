"""Which model predicts a signal, found out by many random test cases.

``run`` evaluates cases that are drawn from a template and writes them to a Parquet file, by threads of this process or on a Dask
cluster; ``report`` says which model wins and whether that could be luck; ``compare`` says how two files differ; ``read`` gives the
rows to pandas. Forecasters of other libraries take part as peers: :mod:`foretop.crossval.peers`.
"""

from foretop._errors import CampaignError, ComparisonError, ResultsError, RunError, TemplateError, TraceError
from foretop.crossval import peers
from foretop.crossval._progress import Progress, Standing
from foretop.crossval._results import Report, compare, read, report
from foretop.crossval._run import Outcome, run

__all__ = [
    "CampaignError",
    "ComparisonError",
    "Outcome",
    "Progress",
    "Report",
    "ResultsError",
    "RunError",
    "Standing",
    "TemplateError",
    "TraceError",
    "compare",
    "peers",
    "read",
    "report",
    "run",
]
