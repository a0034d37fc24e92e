"""Sets of cards as 64-bit masks: counting, choosing, writing; each with a plain Python twin.

Every operand of a mask operation must be ``uint64``, because numba turns ``uint64 op int64`` into
``int64``. With ``NUMBA_DISABLE_JIT=1`` the twins replace the compiled functions.
"""

from __future__ import annotations

import platform

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from ohhell_env.engine.caching import COMPILED, inline

ZERO = np.uint64(0)
ONE = np.uint64(1)
SUIT = np.uint64(0x1FFF)
"""The thirteen cards of suit 0."""

_WORD = (1 << 64) - 1
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)


@intrinsic
def _ctpop(typingctx, mask):
    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _cttz(typingctx, mask):
    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


def _byte_pointer(context, builder, array_type, array, offset):
    data = context.make_array(array_type)(context, builder, array).data
    data = builder.bitcast(data, ir.IntType(8).as_pointer())
    return builder.gep(data, [offset])


@intrinsic
def _pdep(typingctx, source, mask):
    """Deposits the low bits of ``source`` at the positions of ``mask`` (x86-64, BMI2)."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word, word])
        function = builder.module.declare_intrinsic("llvm.x86.bmi.pdep.64", (), kind)
        return builder.call(function, args)

    return types.uint64(types.uint64, types.uint64), codegen


def _has_fast_pdep():
    """Returns whether this processor has a fast pdep; Zen 1 and 2 run it in microcode."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    slow = binding.get_host_cpu_name() in ("znver1", "znver2")
    return bool(binding.get_host_cpu_features().get("bmi2")) and not slow


@intrinsic
def _spread(typingctx, buffer, offset, mask):
    """Writes the 64 bits of a mask as 64 bytes in one wide store."""

    def codegen(context, builder, signature, args):
        target = _byte_pointer(context, builder, signature.args[0], args[0], args[1])
        bits = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        vector = ir.VectorType(ir.IntType(8), 64)
        wide = builder.zext(bits, vector)
        builder.store(wide, builder.bitcast(target, vector.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(buffer, types.int64, types.uint64), codegen


@intrinsic
def _copy64(typingctx, buffer, offset, source, start):
    """Copies 64 bytes of an int8 field of a record in one wide store."""

    def codegen(context, builder, signature, args):
        target = _byte_pointer(context, builder, signature.args[0], args[0], args[1])
        vector = ir.VectorType(ir.IntType(8), 64).as_pointer()
        origin = _byte_pointer(context, builder, signature.args[2], args[2], args[3])
        wide = builder.load(builder.bitcast(origin, vector), align=1)
        builder.store(wide, builder.bitcast(target, vector), align=1)
        return context.get_dummy_value()

    return types.void(buffer, types.int64, source, types.int64), codegen


@intrinsic
def _put8(typingctx, buffer, offset, word):
    """Writes eight bytes at once."""

    def codegen(context, builder, signature, args):
        target = _byte_pointer(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(target, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(buffer, types.int64, types.uint64), codegen


@intrinsic
def _get8(typingctx, source):
    """Reads the eight int8 values of a record's field as one word."""

    def codegen(context, builder, signature, args):
        zero = ir.Constant(ir.IntType(64), 0)
        origin = _byte_pointer(context, builder, signature.args[0], args[0], zero)
        return builder.load(builder.bitcast(origin, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(source), codegen


if COMPILED:

    @inline
    def put8(buffer, offset, word):
        """Writes a word as eight bytes, lowest first, into an int8 buffer."""
        _put8(buffer, offset, word)

    @inline
    def get8(source):
        """Returns the eight int8 values of a record's field as one word, first value lowest."""
        return _get8(source)

    @inline
    def count(mask):
        """Returns the number of cards in a mask."""
        return np.int64(_ctpop(mask))

    @inline
    def lowest(mask):
        """Returns the lowest card of a non-empty mask."""
        return np.int64(_cttz(mask))

    @inline
    def spread(buffer, offset, mask):
        """Writes a mask as 64 bytes of 0 and 1 into an int8 buffer, from ``offset`` on."""
        _spread(buffer, offset, mask)

    @inline
    def copy64(buffer, offset, source, start):
        """Copies 64 int8 values of a record's field, from ``start`` on, into an int8 buffer."""
        _copy64(buffer, offset, source, start)

    @inline
    def mix(word):
        """Returns a scrambled 64-bit word (the finaliser of SplitMix64)."""
        word = (word ^ (word >> _SHIFT_30)) * _MIX_1
        word = (word ^ (word >> _SHIFT_27)) * _MIX_2
        return word ^ (word >> _SHIFT_31)

    @inline
    def add(a, b):
        """Returns the sum of two words, modulo 2^64."""
        return a + b

else:

    def put8(buffer, offset, word):
        """Writes a word as eight bytes, lowest first, into an int8 buffer."""
        buffer[offset : offset + 8] = np.array([word], dtype="<u8").view(np.int8)

    def get8(source):
        """Returns the eight int8 values of a record's field as one word, first value lowest."""
        return np.uint64(int.from_bytes(source.tobytes(), "little"))

    def count(mask):
        """Returns the number of cards in a mask."""
        return int(mask).bit_count()

    def lowest(mask):
        """Returns the lowest card of a non-empty mask."""
        return (int(mask) & -int(mask)).bit_length() - 1

    def spread(buffer, offset, mask):
        """Writes a mask as 64 bytes of 0 and 1 into an int8 buffer, from ``offset`` on."""
        word = np.array([mask], dtype="<u8").view(np.uint8)
        buffer[offset : offset + 64] = np.unpackbits(word, bitorder="little")

    def copy64(buffer, offset, source, start):
        """Copies 64 int8 values of a record's field, from ``start`` on, into an int8 buffer."""
        buffer[offset : offset + 64] = source[start : start + 64]

    def mix(word):
        """Returns a scrambled 64-bit word (the finaliser of SplitMix64)."""
        word = int(word)
        word = ((word ^ (word >> 30)) * int(_MIX_1)) & _WORD
        word = ((word ^ (word >> 27)) * int(_MIX_2)) & _WORD
        return np.uint64(word ^ (word >> 31))

    def add(a, b):
        """Returns the sum of two words, modulo 2^64."""
        return np.uint64((int(a) + int(b)) & _WORD)


@inline
def bit(card):
    """Returns the mask of one card."""
    return ONE << np.uint64(card)


@inline
def has(mask, card):
    """Returns whether a card is in a mask."""
    return (mask >> np.uint64(card)) & ONE != ZERO


@inline
def suit_mask(suit):
    """Returns the mask of all thirteen cards of a suit."""
    return SUIT << np.uint64(13 * suit)


@inline
def above(card):
    """Returns the mask of all numbers above a card."""
    return ~(((ONE << np.uint64(card)) - ONE) | (ONE << np.uint64(card)))


if COMPILED and _has_fast_pdep():

    @inline
    def nth(mask, index):
        """Returns the card at an index (0 = lowest) of a mask with more cards than that."""
        return lowest(_pdep(ONE << np.uint64(index), mask))

else:

    @inline
    def nth(mask, index):
        """Returns the card at an index (0 = lowest) of a mask with more cards than that."""
        for _ in range(index):
            mask = mask & (mask - ONE)
        return lowest(mask)
