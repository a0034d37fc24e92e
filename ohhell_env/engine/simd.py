"""Matrix-vector products in vector instructions, for the players' small networks.

A plain loop over lengths that the compiler knows is equally fast only when unrolled, and then takes
long to compile. Sums use the same order and no fused instructions everywhere, so that a decision is
the same on every machine.
"""

# pyright: basic
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ohhell_env.engine.caching import COMPILED, inline

_FLOAT, _INT = ir.FloatType(), ir.IntType(64)
_LANES = 16


def add_matvec(size, width):
    """Returns a function that adds inputs (size,) times weights (size, width) to sums (width,).

    All arrays are contiguous float32. Only the first ``size`` inputs are used; the compiled code
    does not check the lengths of the arrays.

    Args:
        size: Number of inputs.
        width: Number of sums, a multiple of 8.
    """
    lanes = _LANES if width % _LANES == 0 else 8
    assert width % lanes == 0, f"width must be a multiple of {lanes}, got {width}"
    if not COMPILED:
        return _interpreted(size, width)

    @intrinsic
    def add_rows(typingctx, weights, inputs, sums):
        def codegen(context, builder, signature, args):
            pointers = [
                _data(context, builder, kind, array)
                for kind, array in zip(signature.args, args, strict=True)
            ]
            _write_loop(builder, pointers, size, width, lanes)
            return context.get_dummy_value()

        return types.void(weights, inputs, sums), codegen

    @inline
    def add(weights, inputs, sums):
        add_rows(weights, inputs, sums)  # pyright: ignore

    return add


def _interpreted(size, width):
    def add(weights, inputs, sums):
        for place, row in enumerate(weights.reshape(-1, width)[:size]):
            sums += inputs[place] * row

    return add


def _data(context, builder, kind, array):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(data, _FLOAT.as_pointer())


def _write_loop(builder, pointers, size, width, lanes):
    """Writes a loop over the inputs, with all sums in vector registers."""
    weights, inputs, sums = pointers
    vector = ir.VectorType(_FLOAT, lanes)
    starts = [ir.Constant(_INT, start) for start in range(0, width, lanes)]

    def part(base, start):
        place = builder.gep(base, [start])
        return builder.bitcast(place, vector.as_pointer())

    first = [builder.load(part(sums, start), align=4) for start in starts]
    before = builder.block
    loop, after = builder.append_basic_block("rows"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    place = builder.phi(_INT)
    totals = [builder.phi(vector) for _ in starts]
    value = builder.load(builder.gep(inputs, [place]), align=4)
    wide = builder.insert_element(
        ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    wide = builder.shuffle_vector(wide, ir.Constant(vector, ir.Undefined), zeros)
    row = builder.gep(weights, [builder.mul(place, ir.Constant(_INT, width))])
    added = [
        builder.fadd(total, builder.fmul(wide, builder.load(part(row, start), align=4)))
        for total, start in zip(totals, starts, strict=True)
    ]
    following = builder.add(place, ir.Constant(_INT, 1))
    builder.cbranch(builder.icmp_signed("<", following, ir.Constant(_INT, size)), loop, after)
    place.add_incoming(ir.Constant(_INT, 0), before)
    place.add_incoming(following, loop)
    for total, start, end in zip(totals, first, added, strict=True):
        total.add_incoming(start, before)
        total.add_incoming(end, loop)
    builder.position_at_end(after)
    for start, total in zip(starts, added, strict=True):
        builder.store(total, part(sums, start), align=4)
