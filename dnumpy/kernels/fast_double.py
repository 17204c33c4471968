"""The fast functions of float64, element by element and without branches.

Polynomials are minimax (found by Remez's exchange in 110 digits). A function meets every operand:
what is out of a formula's reach is replaced before it is computed, so that only those
floating-point flags are raised that NumPy raises too (and underflow, and inexactness).
"""

from __future__ import annotations

import math

from dnumpy.kernels.fast_bits import (
    at_most,
    bits,
    bits_of,
    choose,
    fma,
    inlined,
    is_or_nan,
    polynomial,
    real,
    signed,
    word,
)

INF = math.inf

# ---------------------------------------------------------------- exp and what is made of it

_LOG2E = 1.4426950408889634
_LN2, _LN2_REST = 0.6931471805599453, 2.3190468138462996e-17
_SHIFT = 1.5 * 2.0**52 + 2046.0  # added, it rounds to an integer, 2046 above it in the low bits
_ONE, _EXPONENT, _BIAS, _TWICE = word(1), word(52), word(1023), word(2046)
_HUGE = 2.0**1023
_MOST, _MOST2, _FLAT = bits_of(750.0), bits_of(1100.0), bits_of(20.0)


# (exp(r) - 1 - r) / r**2 for abs(r) <= log(2) / 2
_growth = polynomial(
    0.5000000000000013,
    0.16666666666666702,
    0.0416666666665096,
    0.008333333333305222,
    0.0013888888948701222,
    0.00019841269921636224,
    2.480148805529576e-05,
    2.7557212571562887e-06,
    2.763199765693965e-07,
    2.511901589100403e-08,
)


@inlined
def _powered(grown: float, shifted: float, x: float) -> float:
    """Return ``grown`` times a power of two, ``x`` where it is infinity or NaN."""
    count = bits(shifted)
    half = count >> _ONE
    first, second = real(half << _EXPONENT), real((count - half) << _EXPONENT)
    strange = is_or_nan(x, INF)
    return choose(strange, x, grown * first) * choose(strange, _HUGE, second)


@inlined
def _grown(y: float, count: float) -> float:
    """Return exp of ``y`` less a multiple of log(2)."""
    r = fma(count, -_LN2, y)
    r = fma(count, -_LN2_REST, r)
    return 1.0 + fma(r * r, _growth(r), r)


@inlined
def exp(x: float) -> float:
    """Return e**x."""
    y = signed(at_most(abs(x), _MOST), x)
    shifted = fma(y, _LOG2E, _SHIFT)
    return _powered(_grown(y, shifted - _SHIFT), shifted, x)


@inlined
def exp2(x: float) -> float:
    """Return 2**x."""
    y = signed(at_most(abs(x), _MOST2), x)
    shifted = y + _SHIFT
    part = y - (shifted - _SHIFT)
    r = part * _LN2
    rest = fma(part, _LN2, -r) + part * _LN2_REST
    return _powered(1.0 + (r + fma(r * r, _growth(r), rest)), shifted, x)


@inlined
def _half_exp(size: float) -> float:
    """Return e**size / 2 for a size that is not negative."""
    y = at_most(size, _MOST)
    shifted = fma(y, _LOG2E, _SHIFT)
    return _powered(_grown(y, shifted - _SHIFT), shifted - 1.0, size)


@inlined
def expm1(x: float) -> float:
    """Return e**x - 1."""
    y = signed(at_most(abs(x), _MOST), x)
    y = choose(y < -50.0, -50.0, y)
    shifted = fma(y, _LOG2E, _SHIFT)
    top = shifted > _SHIFT + 1023.0  # 2**1024 is out of reach: half of it, twice
    count = shifted - _SHIFT
    r = fma(count, -_LN2, y)
    r = fma(count, -_LN2_REST, r)
    grown = fma(r * r, _growth(r), r)
    scale = real((bits(choose(top, _SHIFT + 1023.0, shifted)) - _BIAS) << _EXPONENT)
    found = fma(scale, grown, scale - choose(top, 0.5, 1.0))
    strange = is_or_nan(x, INF)
    over = choose(strange, _HUGE, choose(count > 1024.0, _HUGE, choose(top, 2.0, 1.0)))
    return signed(choose(strange, x, found) * over, x)


@inlined
def tanh(x: float) -> float:
    """Return the hyperbolic tangent."""
    y = 2.0 * at_most(abs(x), _FLAT)
    shifted = fma(y, _LOG2E, _SHIFT)
    count = shifted - _SHIFT
    r = fma(count, -_LN2, y)
    r = fma(count, -_LN2_REST, r)
    grown = fma(r * r, _growth(r), r)
    scale = real((bits(shifted) - _BIAS) << _EXPONENT)
    grown = fma(scale, grown, scale - 1.0)
    return choose(x != x, x, signed(grown / (grown + 2.0), x))  # noqa: PLR0124 - NaN


# (sinh(y) - y) / y**3 of y**2, up to 1
_sinh_series = polynomial(
    0.16666666666666669,
    0.008333333333333139,
    0.0001984126984143764,
    2.755731915534703e-06,
    2.5052123397400844e-08,
    1.6057240397769124e-10,
    7.759311384066814e-13,
)


@inlined
def sinh(x: float) -> float:
    """Return the hyperbolic sine."""
    size = abs(x)
    near = bits(size) < _UNIT
    half = _half_exp(choose(near, 1.0, size))
    y = at_most(size, _UNIT)
    z = y * y
    small = fma(y * z, _sinh_series(z), y)
    return signed(choose(near, small, half - 0.25 / half), x)


@inlined
def cosh(x: float) -> float:
    """Return the hyperbolic cosine."""
    half = _half_exp(abs(x))
    return half + 0.25 / half


# ---------------------------------------------------------------- logarithms

_BELOW = word(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)  # from the root of a half to 1
_ROOT = word(0x3FE6A09E667F3BCD)
_MANTISSA = word(0x000FFFFFFFFFFFFF)
_INTEGER = word(0x4330000000000000)  # of 2**52: or-ed with an integer below it, the sum of both
_LN2_SHORT, _LN2_TAIL = 0.6931471805592082, 7.371002565167799e-13  # 40 bits, and the rest
_LG2_SHORT, _LG2_TAIL = 0.30102999566361177, 3.694239077158931e-13
_LOG10E, _LOG10E_REST = 0.4342944819032518, 1.098319650216765e-17
_LOG2E_REST = 2.0355273740931033e-17
_NORMAL, _UNIT, _ENDLESS = bits_of(2.0**-1000), bits_of(1.0), bits_of(INF)
_MINUS = word(1 << 63)


# R(s**2) where log((1 + s) / (1 - s)) = s * (2 + R(s**2) * s**2)
_log_series = polynomial(
    0.6666666666666735,
    0.3999999999941308,
    0.28571428742790783,
    0.22222198527626563,
    0.18183566883994873,
    0.15313980738085597,
    0.14796688485809872,
)


@inlined
def _quotient(x: float, above: float, plain: bool, f: float) -> float:
    """Return f / (2 + f) where ``plain``, elsewhere the logarithm of ``above``.

    It divides by zero, or zero by zero, where ``above`` is zero or negative, and is otherwise ``x``
    over 2, which is infinity or NaN.
    """
    negative = (bits(above) - (_MINUS + _ONE)) < _ENDLESS
    zero = above == 0.0
    top = choose(zero, -1.0, choose(negative, 0.0, x))
    bottom = choose(zero | negative, 0.0, 2.0)
    return choose(plain, f, top) / choose(plain, 2.0 + f, bottom)


@inlined
def _log(x: float, scale: float, scale_rest: float, unit: float, unit_rest: float) -> float:
    """Return log(x) * scale; ``unit`` is log(2) * scale in short, so that its multiples are exact.

    A zero is divided by as NumPy does, and a negative number gives NaN in the same division.
    """
    plain = (bits(x) - _ONE) < (_ENDLESS - _ONE)
    y = choose(plain, x, 2.0)
    low = bits(y) < _NORMAL
    moved = bits(y * choose(low, 2.0**54, 0.5)) + _BELOW
    count = real((moved >> _EXPONENT) | _INTEGER) - choose(low, 2.0**52 + 1077.0, 2.0**52 + 1022.0)
    f = real((moved & _MANTISSA) + _ROOT) - 1.0
    s = _quotient(x, x, plain, f)
    half = 0.5 * f * f
    head = f - half
    z = s * s
    tail = fma(s, fma(z, _log_series(z), half), (f - head) - half)
    if scale == 1.0:
        found = fma(count, unit, head)
        lost = fma(count, unit, -found) + head
        return choose(plain, found + (lost + fma(count, unit_rest, tail)), s)
    big = head * scale
    rest = fma(head, scale, -big) + fma(head, scale_rest, tail * scale)
    whole = count * unit
    found = whole + big
    rest = rest + ((whole - found) + big)
    return choose(plain, found + fma(count, unit_rest, rest), s)


@inlined
def log(x: float) -> float:
    """Return the natural logarithm."""
    return _log(x, 1.0, 0.0, _LN2_SHORT, _LN2_TAIL)


@inlined
def log2(x: float) -> float:
    """Return the logarithm to base 2."""
    return _log(x, _LOG2E, _LOG2E_REST, 1.0, 0.0)


@inlined
def log10(x: float) -> float:
    """Return the logarithm to base 10."""
    return _log(x, _LOG10E, _LOG10E_REST, _LG2_SHORT, _LG2_TAIL)


@inlined
def log1p(x: float) -> float:
    """Return log(1 + x)."""
    plain = (bits(x) < _ENDLESS) | ((bits(x) - _MINUS) < _UNIT)
    y = choose(plain, x, 0.0)
    u = 1.0 + y
    back = u - 1.0
    lost = (1.0 - (u - back)) + (y - back)
    moved = bits(u) + _BELOW
    biased = moved >> _EXPONENT
    count = real(biased | _INTEGER) - (2.0**52 + 1023.0)
    shrink = real((_TWICE - biased) << _EXPONENT)
    lost = choose(y > 2.0**60, 0.0, lost * shrink)
    f = (real((moved & _MANTISSA) + _ROOT) - 1.0) + lost
    s = _quotient(x, x + 1.0, plain, f)
    half = 0.5 * f * f
    z = s * s
    tail = fma(s, fma(z, _log_series(z), half), fma(count, _LN2_TAIL, -half))
    found = fma(count, _LN2_SHORT, f + tail)
    return choose(plain, signed(found, x), s)
