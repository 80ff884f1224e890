"""The first draw of three streams, by an implementation of ChaCha (Bernstein 2008, 8 rounds) in plain Python.

Prints the numbers that a test in crates/crossval/src/draw.rs expects. Needs nothing but Python 3.
"""

import struct

SEED, PURPOSE, BELOW = 7, 0, 1_000_000
MASK = 0xFFFF_FFFF


def quarter(x, a, b, c, d):
    for left, right, other, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[left] = (x[left] + x[right]) & MASK
        x[other] ^= x[left]
        x[other] = ((x[other] << turn) | (x[other] >> (32 - turn))) & MASK


def block(key, counter, stream):
    constants = struct.unpack("<4I", b"expand 32-byte k")
    start = [*constants, *struct.unpack("<8I", key), *struct.unpack("<4I", struct.pack("<2Q", counter, stream))]
    x = list(start)
    for _ in range(4):
        for column in range(4):
            quarter(x, column, 4 + column, 8 + column, 12 + column)
        for first in range(4):
            quarter(x, first, 4 + (first + 1) % 4, 8 + (first + 2) % 4, 12 + (first + 3) % 4)
    return [(word + begun) & MASK for word, begun in zip(x, start, strict=True)]


key = struct.pack("<QB23x", SEED, PURPOSE)
for number in (0, 1, 9):
    low, high = block(key, 0, number)[:2]
    print(((high << 32 | low) * BELOW) >> 64)
