"""Redundancy elimination: bytes that were sent before are sent as where they were, and checked by a hash.

An :class:`Encoder` and a :class:`Decoder` are the two ends of one direction, over any transport that keeps order; :func:`estimate` says what a method would
save, and sends nothing. ``foretop tunnel`` does the same with a memory on disk.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from foretop._errors import DedupError, SegmenterError
from foretop._native import DedupDecoder, DedupEncoder, dedup_estimate

__all__ = ["Decoder", "DedupError", "Encoder", "Estimate", "Lacking", "SegmenterError", "estimate"]


class Encoder:
    """The sender of one direction. It remembers all that was new, in memory, without a limit.

    Parameters
    ----------
    level : int, optional
        zstd's level for what is new, 0 (as it is) to 19. Unless given, it is 5 where that packs well and 1 where it does not.
    anchor_bits : int
        One anchor in ``2**anchor_bits`` bytes, 4 to 16.

    Examples
    --------
    >>> from foretop import dedup
    >>> encoder = dedup.Encoder()
    >>> decoder = dedup.Decoder(encoder.run)
    >>> release = bytes(range(256)) * 40
    >>> decoder.decode(encoder.encode(release)) == release
    True
    >>> len(encoder.encode(release)) < 100
    True
    """

    def __init__(self, *, level: int | None = None, anchor_bits: int = 8) -> None:
        self._run = secrets.token_bytes(16)
        self._native = DedupEncoder(self._run, level, anchor_bits)

    @property
    def run(self) -> bytes:
        """What the decoder has to be made with: the name of what this encoder remembers, drawn at random."""
        return self._run

    def encode(self, data: bytes) -> bytes:
        """Return the group that stands for the next bytes, at most 1 MiB.

        Parameters
        ----------
        data : bytes
            The bytes.

        Returns
        -------
        bytes
            The group. Groups have no length of their own: the transport has to keep them apart.
        """
        return self._native.encode(data)


class Decoder:
    """The receiver of one direction.

    Parameters
    ----------
    run : bytes
        :attr:`Encoder.run` of the sender.
    anchor_bits : int
        As at the sender.
    """

    def __init__(self, run: bytes, *, anchor_bits: int = 8) -> None:
        self._native = DedupDecoder(run, anchor_bits)

    def decode(self, group: bytes) -> bytes | Lacking:
        """Return what a group stands for, or what of it has to be asked for.

        Parameters
        ----------
        group : bytes
            What :meth:`Encoder.encode` returned; groups come in their order.

        Returns
        -------
        bytes or Lacking
            The bytes that were given, exactly; or the ranges that this end does not remember, which :meth:`repair` takes.

        Raises
        ------
        DedupError
            When it is no group. What comes later cannot be decoded then.
        """
        return _taken(self._native.decode(group))

    def repair(self, data: bytes) -> bytes | Lacking:
        """Return the last group with the bytes that it lacked.

        Parameters
        ----------
        data : bytes
            The bytes of the ranges, one after the other.

        Returns
        -------
        bytes or Lacking
            As :meth:`decode`.

        Raises
        ------
        DedupError
            When they are not as many as were asked for, or not those.
        """
        return _taken(self._native.repair(data))


@dataclass(frozen=True)
class Lacking:
    """What a receiver has to ask the sender for.

    Attributes
    ----------
    ranges : list of (int, int)
        Beginning and end of each range, in the bytes that the group stands for.
    """

    ranges: list[tuple[int, int]]


@dataclass(frozen=True)
class Estimate:
    """What a method would have sent.

    Attributes
    ----------
    given_bytes, wire_bytes, matched_bytes : int
        Bytes that were given; bytes on the wire for them; bytes among those given that were known.
    n_matches, n_entries : int
        Matches, and entries of the index in the end.
    """

    given_bytes: int
    wire_bytes: int
    matched_bytes: int
    n_matches: int
    n_entries: int

    @property
    def ratio(self) -> float:
        """Bytes given for each byte on the wire."""
        return self.given_bytes / max(self.wire_bytes, 1)


def estimate(
    parts: bytes | Iterable[bytes],
    segmenter: str = "anchors-8",
    *,
    level: int | None = None,
    flush: int = 16384,
    shape: tuple[int, int, int] | None = None,
) -> Estimate:
    """Say what a method would send for bytes, and send nothing.

    At most 1 GiB is remembered; older bytes count as new again.

    Parameters
    ----------
    parts : bytes or iterable of bytes
        What would be sent, such as files in their order.
    segmenter : str
        As for ``foretop dedup estimate``: ``anchors-8``, ``fastcdc-1024``, ``lbfs-8192``, ``auto``, …
    level : int, optional
        zstd's level for what is new, 0 (as it is) to 19. Unless given, it is 5 where that packs well and 1 where it does not.
    flush : int
        After how many bytes the receiver has all of them, at most 1 MiB.
    shape : (int, int, int), optional
        Pixels of a row, rows of a picture and bytes of a pixel, for methods in two dimensions.

    Returns
    -------
    Estimate
        Bytes given, known and on the wire.

    Raises
    ------
    SegmenterError
        When there is no such method, or it needs a shape.
    """
    pieces = [bytes(parts)] if isinstance(parts, bytes | bytearray | memoryview) else list(parts)
    return Estimate(**dedup_estimate(pieces, segmenter, level, flush, shape))


def _taken(taken: bytes | list[tuple[int, int]]) -> bytes | Lacking:
    return taken if isinstance(taken, bytes) else Lacking(taken)
