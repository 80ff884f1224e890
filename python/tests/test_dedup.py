"""Redundancy elimination between two ends in Python."""

import random

import pytest
from foretop import dedup

DATA = random.Random(1).randbytes(200_000)


def test_versions_arrive_and_what_is_known_costs_little() -> None:
    encoder = dedup.Encoder()
    decoder = dedup.Decoder(encoder.run)
    later = DATA[:50_000] + b"a change" + DATA[50_000:]
    sizes = []
    for version in (DATA, DATA, later):
        group = encoder.encode(version)
        assert decoder.decode(group) == version
        sizes.append(len(group))
    assert sizes[0] > 200_000
    assert max(sizes[1:]) < 200


def test_a_receiver_that_knows_nothing_says_what_it_lacks() -> None:
    encoder = dedup.Encoder(level=0)
    encoder.encode(DATA)
    decoder = dedup.Decoder(encoder.run)
    lacking = decoder.decode(encoder.encode(DATA[:1000]))
    assert lacking == dedup.Lacking([(0, 1000)])
    with pytest.raises(ValueError, match="repair it"):
        decoder.decode(b"")
    assert decoder.repair(DATA[:1000]) == DATA[:1000]


def test_what_is_no_group_is_refused() -> None:
    decoder = dedup.Decoder(bytes(16))
    with pytest.raises(dedup.DedupError) as caught:
        decoder.decode(b"\xff" * 40)
    assert caught.value.kind == "Flags"
    encoder = dedup.Encoder(level=0)
    encoder.encode(DATA)
    decoder = dedup.Decoder(encoder.run)
    decoder.decode(encoder.encode(DATA[:1000]))
    with pytest.raises(dedup.DedupError, match="999 bytes came where 1000"):
        decoder.repair(DATA[:999])


def test_settings_have_limits() -> None:
    for settings in ({"level": 20}, {"anchor_bits": 3}):
        with pytest.raises(ValueError, match="it goes from"):
            dedup.Encoder(**settings)
    with pytest.raises(ValueError, match="too great"):
        dedup.Encoder().encode(bytes((1 << 20) + 1))


def test_an_estimate_is_that_of_the_encoder() -> None:
    encoder = dedup.Encoder()
    sent = [encoder.encode(DATA[i : i + 16384]) for _ in range(2) for i in range(0, len(DATA), 16384)]
    found = dedup.estimate([DATA, DATA])
    assert found.given_bytes == 400_000
    assert found.wire_bytes == sum(map(len, sent))
    assert found.ratio == pytest.approx(2, rel=0.01)
    assert dedup.estimate(DATA, "varg-16", shape=(100, 50, 4)).given_bytes == 200_000


def test_a_method_that_is_none_or_needs_a_shape_is_refused() -> None:
    for segmenter, told in [("chunks", "fastcdc-BYTES"), ("varg-16", "pixels")]:
        with pytest.raises(dedup.SegmenterError, match=told) as caught:
            dedup.estimate(DATA, segmenter)
        assert caught.value.segmenter == segmenter
    for settings in ({"flush": 0}, {"level": 20}, {"shape": (0, 1, 1)}):
        with pytest.raises(ValueError, match="it goes from|no picture"):
            dedup.estimate(DATA, **settings)
