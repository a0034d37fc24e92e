"""The random stream of a table: counter-based, unbiased, carried in the table's own record.

The state advances in steps of its own odd constant (as in Steele, Lea and Flood, "Fast splittable
pseudorandom number generators", 2014), and each word drawn is a scrambled state. Both numbers
derive from the seed and the row, so the streams of different rows do not meet.
"""

from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import ONE, add, mix
from ohhell_env.engine.caching import inline

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xD1B54A32D192ED03)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@inline
def seed_stream(row, seed, index):
    """Starts the random stream of row ``index`` under a seed (both uint64)."""
    key = add(mix(add(seed, _GOLDEN)), mix(add(index, _OTHER)))
    row.stream = mix(add(key, _GOLDEN))
    row.stream_step = mix(add(key, _OTHER)) | ONE


@inline
def next_bits(row):
    """Returns the next 64 random bits of a table's stream."""
    row.stream = add(row.stream, row.stream_step)
    return mix(row.stream)


@inline
def below(row, bound):
    """Returns a whole number from 0 to ``bound - 1``, each equally likely (Lemire 2019)."""
    wide = np.uint64(bound)
    product = (next_bits(row) >> _HALF) * wide
    if product & _LOW < wide:
        threshold = ((ONE << _HALF) - wide) % wide
        while product & _LOW < threshold:
            product = (next_bits(row) >> _HALF) * wide
    return np.int64(product >> _HALF)
