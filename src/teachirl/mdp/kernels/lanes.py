"""Four numbers at a time: rows of many right hand sides, in vector registers.

Numba leaves sums of short rows in memory, or takes them number by number. Here a `Four` is a value
of its own, which the compiler keeps in a register, and what belongs to many right hand sides [S, m]
is read and written four lanes at a time. No sum is reordered: a lane has the same digits whoever is
beside it, and whatever the processor has for a vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

from .layouts import part

WIDTH = 4
FOUR = ir.VectorType(ir.DoubleType(), WIDTH)
PLACES = ir.VectorType(ir.IntType(32), WIDTH)


class Four(types.Type):
    """Four floats in a register."""

    def __init__(self) -> None:
        super().__init__(name="Four")


@register_model(Four)
class FourModel(models.PrimitiveModel):
    """A vector, as LLVM has it."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FOUR)


four = Four()


def _place(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """A pointer to the four numbers from entry i of an array on, counted along its rows."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [i]), FOUR.as_pointer())


def _check(array: Any) -> None:
    if not (array.dtype == types.float64 and array.layout == "C"):
        raise TypingError(f"rows must be of floats, one after the other, got {array}")


@intrinsic
def zero(typing):
    """0 in all lanes."""
    return four(), lambda context, builder, signature, given: ir.Constant(FOUR, [0.0] * WIDTH)


@intrinsic
def load(typing, array, i):
    """The four numbers from entry i of an array on, counted along its rows."""
    _check(array)

    def code(context, builder, signature, given):
        found = builder.load(_place(context, builder, signature.args[0], *given))
        found.align = 8
        return found

    return four(array, types.uint64), code


@intrinsic
def store(typing, array, i, values):
    """Write four numbers to where `load` reads them."""
    _check(array)

    def code(context, builder, signature, given):
        place = _place(context, builder, signature.args[0], given[0], given[1])
        builder.store(given[2], place).align = 8
        return context.get_dummy_value()

    return types.void(array, types.uint64, four), code


def _in_all(builder: Any, number: Any) -> Any:
    nothing = ir.Constant(FOUR, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(PLACES, [0] * WIDTH))


@intrinsic
def plus(typing, total, share, values):
    """total + share · values, the product rounded before the sum."""

    def code(context, builder, signature, given):
        return builder.fadd(given[0], builder.fmul(_in_all(builder, given[1]), given[2]))

    return four(four, types.float64, four), code


@part
def back_up(operator, discount, b, x, out, backwards):
    """out ← b + discount · Mx, a row after the other, the operator being I − γM.

    b, x and out are [S, m] and may be the same: then it is a Gauss–Seidel sweep. Twelve lanes at a
    time hide how long a sum takes. What takes arrays is not called in here, row by row: Numba would
    count references to each.
    """
    indptr, indices, data = operator.indptr, operator.indices, operator.data
    n, m, one, w = np.uint64(x.shape[0]), np.uint64(x.shape[1]), np.uint64(1), np.uint64(WIDTH)
    for row in range(np.uint64(0), n):
        s = n - one - row if backwards else row
        first, last = np.uint64(indptr[s]), np.uint64(indptr[s + one])
        lane = np.uint64(0)
        while lane + w + w + w <= m:
            sum_0, sum_1, sum_2 = zero(), zero(), zero()
            for j in range(first, last):
                i, share = np.uint64(indices[j]) * m + lane, data[j]
                sum_0 = plus(sum_0, share, load(x, i))
                sum_1 = plus(sum_1, share, load(x, i + w))
                sum_2 = plus(sum_2, share, load(x, i + w + w))
            i = s * m + lane
            store(out, i, plus(load(b, i), discount, sum_0))
            store(out, i + w, plus(load(b, i + w), discount, sum_1))
            store(out, i + w + w, plus(load(b, i + w + w), discount, sum_2))
            lane += w + w + w
        while lane + w <= m:
            sum_0 = zero()
            for j in range(first, last):
                sum_0 = plus(sum_0, data[j], load(x, np.uint64(indices[j]) * m + lane))
            i = s * m + lane
            store(out, i, plus(load(b, i), discount, sum_0))
            lane += w
        while lane < m:
            even, odd = 0.0, 0.0
            j = first
            while j + one < last:
                even += data[j] * x[indices[j], lane]
                odd += data[j + one] * x[indices[j + one], lane]
                j += one + one
            if j < last:
                even += data[j] * x[indices[j], lane]
            out[s, lane] = b[s, lane] + discount * (even + odd)
            lane += one
