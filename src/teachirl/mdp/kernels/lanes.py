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

from .compiling import lent, part

WIDTH = 4
FOUR = ir.VectorType(ir.DoubleType(), WIDTH)
PLACES = ir.VectorType(ir.IntType(32), WIDTH)
FABS = f"llvm.fabs.v{WIDTH}f64"


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


def _entry(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """A pointer to entry i of an array, counted along its rows."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [i])


def _place(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """A pointer to the four numbers from there on."""
    return builder.bitcast(_entry(context, builder, kind, array, i), FOUR.as_pointer())


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


@intrinsic
def filled(typing, number):
    """A number in all lanes."""
    return four(types.float64), lambda context, builder, signature, given: _in_all(builder, *given)


@intrinsic
def entry(typing, array, i):
    """Entry i of an array, counted along its rows."""
    _check(array)

    def code(context, builder, signature, given):
        return builder.load(_entry(context, builder, signature.args[0], *given))

    return types.float64(array, types.uint64), code


@intrinsic
def put(typing, array, i, number):
    """Write a number to where `entry` reads it."""
    _check(array)

    def code(context, builder, signature, given):
        builder.store(given[2], _entry(context, builder, signature.args[0], given[0], given[1]))
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.float64), code


@intrinsic
def times(typing, values, others):
    """values · others"""
    return four(four, four), lambda context, builder, signature, given: builder.fmul(*given)


@intrinsic
def sum_of(typing, values):
    """Of all lanes, in a fixed order."""

    def code(context, builder, signature, given):
        lanes = [builder.extract_element(given[0], ir.IntType(32)(i)) for i in range(WIDTH)]
        return builder.fadd(builder.fadd(lanes[0], lanes[2]), builder.fadd(lanes[1], lanes[3]))

    return types.float64(four), code


@intrinsic
def minus(typing, values, others):
    """values − others"""

    def code(context, builder, signature, given):
        return builder.fsub(*given)

    return four(four, four), code


@intrinsic
def magnitude(typing, values):
    """|values|"""

    def code(context, builder, signature, given):
        kind = ir.FunctionType(FOUR, [FOUR])
        return builder.call(builder.module.declare_intrinsic(FABS, fnty=kind), given)

    return four(four), code


def _kept_unless(builder: Any, comparison: str, given: Any) -> Any:
    kept, new = given
    return builder.select(builder.fcmp_ordered(comparison, new, kept), new, kept)


@intrinsic
def lesser(typing, kept, new):
    """What is new where it is less, otherwise what is kept, as `min` has it."""

    def code(context, builder, signature, given):
        return _kept_unless(builder, "<", given)

    return four(four, four), code


@intrinsic
def greater(typing, kept, new):
    """What is new where it is greater, otherwise what is kept, as `max` has it."""

    def code(context, builder, signature, given):
        return _kept_unless(builder, ">", given)

    return four(four, four), code


@lent
def dot(a, i, b, j, count):
    """⟨a, b⟩ of so many entries, from i and j on, counted along the rows."""
    w, x, one = np.uint64(WIDTH), np.uint64(0), np.uint64(1)
    even, odd = zero(), zero()
    while x + w + w <= count:
        even = plus(even, 1.0, times(load(a, i + x), load(b, j + x)))
        odd = plus(odd, 1.0, times(load(a, i + x + w), load(b, j + x + w)))
        x += w + w
    if x + w <= count:
        even = plus(even, 1.0, times(load(a, i + x), load(b, j + x)))
        x += w
    total = sum_of(plus(even, 1.0, odd))
    while x < count:
        total += entry(a, i + x) * entry(b, j + x)
        x += one
    return total


@lent
def inner(a, b):
    """⟨a, b⟩"""
    return dot(a, np.uint64(0), b, np.uint64(0), np.uint64(a.size))


@lent
def take_off(a, i, share, b, j, count):
    """a ← a − share · b, so many entries from i and j on, counted along the rows."""
    w, x, one = np.uint64(WIDTH), np.uint64(0), np.uint64(1)
    while x + w <= count:
        store(a, i + x, plus(load(a, i + x), -share, load(b, j + x)))
        x += w
    while x < count:
        put(a, i + x, entry(a, i + x) - share * entry(b, j + x))
        x += one


@lent
def rotate(a, i, j, c, s, count):
    """(c, s; −s, c) times rows of so many entries, those from i and from j on."""
    w, x, one = np.uint64(WIDTH), np.uint64(0), np.uint64(1)
    while x + w <= count:
        upper, lower = load(a, i + x), load(a, j + x)
        store(a, i + x, plus(times(filled(c), upper), s, lower))
        store(a, j + x, plus(times(filled(c), lower), -s, upper))
        x += w
    while x < count:
        above, below = entry(a, i + x), entry(a, j + x)
        put(a, i + x, c * above + s * below)
        put(a, j + x, c * below - s * above)
        x += one


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
