"""The exceptions of foretop: one for each family of refusals, with the numbers behind the message as attributes."""

from pathlib import Path


class Error(ValueError):
    """What all refusals of foretop have in common.

    Parameters
    ----------
    message : str
        What was wrong, and what would be right.
    kind : str
        Which of the family's refusals this is, such as ``"TooShort"``.
    **fields : object
        The values behind the message; each becomes an attribute.
    """

    kind: str

    def __init__(self, message: str, *, kind: str = "", **fields: object) -> None:
        super().__init__(message)
        # Attributes and arguments are what a pickle of an exception keeps.
        self.__dict__.update(fields, kind=kind)


class AgentError(Error):
    """An agent that cannot be reached, or refuses what is asked of it.

    Attributes
    ----------
    path : str
        Its socket.
    """

    path: str


class InputError(Error):
    """Samples that are no row of numbers, or an option that is out of range.

    Attributes
    ----------
    given : object
        What was given, where that is short.
    """

    given: object


class SpecError(Error):
    """A text that is no model specification.

    Attributes
    ----------
    given : str
        The part of the text that is wrong, or the whole of it (not for ``Missing`` and ``NestedRefit``).
    model, argument : str
        Where in the specification it is wrong (``Missing``, ``OutOfRange``, ``UnknownWord``; `model` for ``UnknownArgument``).
    min, max : int
        What is taken (``OutOfRange``; `max` for ``TooMany``).
    have : int
        How many models the ranges stand for (``TooMany``).
    """

    given: str
    model: str
    argument: str
    min: int
    max: int
    have: int


class FitError(Error):
    """Samples that do not yield the model that was asked for.

    Attributes
    ----------
    spec : str
        What was to be fitted (all but ``Infinite``).
    have, need : int
        How many known samples there are, and have to be (``TooShort``); how many of them have known predecessors (``TooBroken``).
    idx : int
        The position of the offending sample (``Infinite``).
    value : float
        The offending sample, or the value of all of them (``Infinite``, ``Constant``).
    largest : float
        The largest magnitude among the samples (``TooLarge``).
    spread : float
        How far the samples reach (``TooSmall``).
    d : float
        The fraction that fits best (``FractionOutside``).
    """

    spec: str
    have: int
    need: int
    idx: int
    value: float
    largest: float
    spread: float
    d: float


class RestoreError(Error):
    """Bytes that are no saved predictor.

    Attributes
    ----------
    n_bytes : int
        How many there are (``NotAPredictor``, ``Damaged``).
    given : int
        The version that they state (``UnknownVersion``).
    problem : str
        What does not fit (``Damaged``).
    """

    n_bytes: int
    given: int
    problem: str


class StatisticError(Error):
    """Samples that a statistic cannot be had from.

    Attributes
    ----------
    statistic : str
        What was asked for.
    have, need : int
        How many samples there are, and have to be (``TooShort``); the same without a gap (``TooBroken``).
    idx : int
        The position of the first gap (``Broken``).
    value : float
        That sample, or the value of all of them (``Broken``, ``Constant``).
    largest : float
        The largest magnitude among the samples (``TooLarge``).
    """

    statistic: str
    have: int
    need: int
    idx: int
    value: float
    largest: float


class CompareError(Error):
    """Errors of two forecasters that cannot be compared.

    Attributes
    ----------
    lead : int
        How many steps ahead the forecasts looked (``TooShort``).
    have, need : int
        At how many moments both have an error, and have to have one (``TooShort``).
    """

    lead: int
    have: int
    need: int


class ConfidenceError(Error):
    """A number that is no confidence: not strictly between 0 and 1.

    Attributes
    ----------
    given : str
        The number as given.
    """

    given: str


class TemplateError(Error):
    """A text that is no template of test cases.

    Attributes
    ----------
    key : str
        Which of its keys is wrong (``ListLength``, ``Twice``, ``OutOfRange``).
    given : object
        What is wrong about it (the same, ``Model`` and ``NoMember``).
    """

    key: str
    given: object


class TraceError(Error):
    """Samples that are no trace, or a file that has none.

    Attributes
    ----------
    path : pathlib.Path
        The file or folder, where the samples were to come from one.
    name : str
        The trace (``Infinite``, ``Empty``).
    idx : int
        The position of the offending sample (``Infinite``).
    value : float
        That sample (``Infinite``).
    """

    path: Path
    name: str
    idx: int
    value: float


class CampaignError(Error):
    """Traces that no test cases can be drawn from.

    Attributes
    ----------
    have, need : int
        Samples of the longest trace, and samples that the shortest case takes (``NoRoom``); traces (`have` of ``TraceCount``).
    name : str
        The trace (``NoRoom``, ``SameName``).
    """

    have: int
    need: int
    name: str


class RunError(Error):
    """What keeps a run of test cases from its end.

    Attributes
    ----------
    path : pathlib.Path
        The file or folder that is in the way (all but ``CaseCount``, ``OtherVersion`` and ``WorkersLost``).
    what : str
        What is not the same as in the unfinished run (``OtherCampaign``).
    given : object
        How many cases were asked for (``CaseCount``), which version a worker has (``OtherVersion``), or the range of cases that
        workers were lost with (``WorkersLost``).
    """

    path: Path
    what: str
    given: object


class ResultsError(Error):
    """A file that has no results of test cases, or damaged ones.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    """

    path: Path


class MpiTraceError(Error):
    """What is no trace of an MPI program, or cannot be read.

    Attributes
    ----------
    path : pathlib.Path
        The file or folder (``File`` and ``Nothing``).
    """

    path: Path


class DedupError(Error):
    """A group that is none, or a repair that is not what was asked for."""


class SegmenterError(Error):
    """A way to find redundancy that is not known, or that needs the shape of pictures.

    Attributes
    ----------
    segmenter : str
        What was given.
    """

    segmenter: str


class ComparisonError(Error):
    """Results of two campaigns that have no case in common."""


class SearchError(Error):
    """A search of a sequence library that cannot be begun, or that failed.

    Attributes
    ----------
    status : int
        The exit status of the program, or 0 where it is not what failed.
    """

    status: int
