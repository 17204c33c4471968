"""The fast functions of float32; see :mod:`.fast_double` and :mod:`.fast_circle` for the methods.

Numba widens what is computed with its own numbers: constants are made float32 by ``f``, and
integers unsigned 32-bit ones again by ``u``.
"""

from __future__ import annotations

import math

import numpy as np

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
)

f, u = np.float32, np.uint32
INF = f(math.inf)

# ---------------------------------------------------------------- exp and what is made of it

_LOG2E, _LN2, _LN2_REST = f(1.4426950408889634), f(0.6931471805599453), f(-1.904654299957768e-09)
_SHIFT = f(1.5 * 2.0**23 + 254.0)  # added, it rounds to an integer, 254 above it in the low bits
_ONE, _EXPONENT, _BIAS = u(1), u(23), u(127)
_HUGE = f(2.0**127)
_MOST, _MOST2, _FLAT = bits_of(110.0, "f4"), bits_of(160.0, "f4"), bits_of(10.0, "f4")
_growth = polynomial(
    0.5000000098635069, 0.16666515914648847, 0.04166619497588577, 0.008369239692767271,
    0.0013951197141996402,
)  # fmt: skip


@inlined
def _powered(grown: float, shifted: float, x: float) -> float:
    """Return ``grown`` times a power of two, ``x`` where it is infinity or NaN."""
    count = bits(shifted)
    half = u(count >> _ONE)
    first, second = real(u(half << _EXPONENT)), real(u(u(count - half) << _EXPONENT))
    strange = is_or_nan(x, INF)
    return choose(strange, x, grown * first) * choose(strange, _HUGE, second)


@inlined
def _rest(y: float, count: float) -> float:
    """Return ``y`` less a multiple of log(2)."""
    return fma(count, -_LN2_REST, fma(count, -_LN2, y))


@inlined
def exp(x: float) -> float:
    """Return e**x."""
    y = signed(at_most(abs(x), _MOST), x)
    shifted = fma(y, _LOG2E, _SHIFT)
    r = _rest(y, shifted - _SHIFT)
    return _powered(f(1.0) + fma(r * r, _growth(r), r), shifted, x)


@inlined
def exp2(x: float) -> float:
    """Return 2**x."""
    y = signed(at_most(abs(x), _MOST2), x)
    shifted = y + _SHIFT
    part = y - (shifted - _SHIFT)
    r = part * _LN2
    rest = fma(part, _LN2, -r) + part * _LN2_REST
    return _powered(f(1.0) + (r + fma(r * r, _growth(r), rest)), shifted, x)


@inlined
def _half_exp(size: float) -> float:
    """Return e**size / 2 for a size that is not negative."""
    y = at_most(size, _MOST)
    shifted = fma(y, _LOG2E, _SHIFT)
    r = _rest(y, shifted - _SHIFT)
    return _powered(f(1.0) + fma(r * r, _growth(r), r), shifted - f(1.0), size)


@inlined
def expm1(x: float) -> float:
    """Return e**x - 1."""
    y = signed(at_most(abs(x), _MOST), x)
    y = choose(y < f(-30.0), f(-30.0), y)
    shifted = fma(y, _LOG2E, _SHIFT)
    top = shifted > _SHIFT + f(127.0)  # 2**128 is out of reach: half of it, twice
    count = shifted - _SHIFT
    r = _rest(y, count)
    grown = fma(r * r, _growth(r), r)
    scale = real(u(u(bits(choose(top, _SHIFT + f(127.0), shifted)) - _BIAS) << _EXPONENT))
    found = fma(scale, grown, scale - choose(top, f(0.5), f(1.0)))
    strange = is_or_nan(x, INF)
    over = choose(top, f(2.0), f(1.0))
    over = choose(strange, _HUGE, choose(count > f(128.0), _HUGE, over))
    return signed(choose(strange, x, found) * over, x)


@inlined
def tanh(x: float) -> float:
    """Return the hyperbolic tangent."""
    y = f(2.0) * at_most(abs(x), _FLAT)
    shifted = fma(y, _LOG2E, _SHIFT)
    r = _rest(y, shifted - _SHIFT)
    grown = fma(r * r, _growth(r), r)
    scale = real(u(u(bits(shifted) - _BIAS) << _EXPONENT))
    grown = fma(scale, grown, scale - f(1.0))
    return choose(x != x, x, signed(grown / (grown + f(2.0)), x))  # noqa: PLR0124 - NaN


_sinh_series = polynomial(
    0.1666666648882479, 0.00833335059398047, 0.00019836066675268672, 2.8174384421001767e-06
)


@inlined
def sinh(x: float) -> float:
    """Return the hyperbolic sine."""
    size = abs(x)
    near = bits(size) < _UNIT
    half = _half_exp(choose(near, f(1.0), size))
    y = at_most(size, _UNIT)
    z = y * y
    small = fma(y * z, _sinh_series(z), y)
    return signed(choose(near, small, half - f(0.25) / half), x)


@inlined
def cosh(x: float) -> float:
    """Return the hyperbolic cosine."""
    half = _half_exp(abs(x))
    return half + f(0.25) / half


# ---------------------------------------------------------------- logarithms

_ROOT, _BELOW = u(0x3F3504F3), u(0x3F800000 - 0x3F3504F3)
_MANTISSA, _INTEGER, _TWICE, _MINUS = u(0x007FFFFF), u(0x4B000000), u(254), u(1 << 31)
_NORMAL, _UNIT, _ENDLESS = bits_of(2.0**-100, "f4"), bits_of(1.0, "f4"), bits_of(math.inf, "f4")
_LN2_SHORT, _LN2_TAIL = f(0.693359375), f(-2.1219444005469057e-4)
_LG2_SHORT, _LG2_TAIL = f(0.301025390625), f(4.605038981195214e-06)
_LOG10E, _LOG10E_REST = f(0.4342944819032518), f(0.4342944819032518 - float(f(0.4342944819032518)))
_LOG2E_REST = f(1.4426950408889634 - float(_LOG2E))
_log_series = polynomial(0.6666677652125811, 0.3997752226402376, 0.29872296896304235)


@inlined
def _quotient(x: float, above: float, plain: bool, part: float) -> float:
    """Return part / (2 + part) where ``plain``, elsewhere the logarithm of ``above``."""
    negative = u(bits(above) - u(_MINUS + _ONE)) < _ENDLESS
    zero = above == f(0.0)
    top = choose(zero, f(-1.0), choose(negative, f(0.0), x))
    bottom = choose(zero | negative, f(0.0), f(2.0))
    return choose(plain, part, top) / choose(plain, f(2.0) + part, bottom)


@inlined
def _log(x: float, scale: float, scale_rest: float, unit: float, unit_rest: float) -> float:
    """Return log(x) * scale; ``unit`` is log(2) * scale in short, so that its multiples are exact.

    A zero is divided by as NumPy does, and a negative number gives NaN in the same division.
    """
    plain = u(bits(x) - _ONE) < u(_ENDLESS - _ONE)
    y = choose(plain, x, f(2.0))
    low = bits(y) < _NORMAL
    moved = u(bits(y * choose(low, f(2.0**25), f(0.5))) + _BELOW)
    count = real(u(u(moved >> _EXPONENT) | _INTEGER))
    count = count - choose(low, f(2.0**23 + 152.0), f(2.0**23 + 126.0))
    part = real(u(u(moved & _MANTISSA) + _ROOT)) - f(1.0)
    s = _quotient(x, x, plain, part)
    half = f(0.5) * part * part
    z = s * s
    head = part - half
    tail = fma(s, fma(z, _log_series(z), half), (part - head) - half)
    if scale == f(1.0):
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
    return _log(x, f(1.0), f(0.0), _LN2_SHORT, _LN2_TAIL)


@inlined
def log2(x: float) -> float:
    """Return the logarithm to base 2."""
    return _log(x, _LOG2E, _LOG2E_REST, f(1.0), f(0.0))


@inlined
def log10(x: float) -> float:
    """Return the logarithm to base 10."""
    return _log(x, _LOG10E, _LOG10E_REST, _LG2_SHORT, _LG2_TAIL)


@inlined
def log1p(x: float) -> float:
    """Return log(1 + x)."""
    plain = (bits(x) < _ENDLESS) | (u(bits(x) - _MINUS) < _UNIT)
    y = choose(plain, x, f(0.0))
    whole = f(1.0) + y
    back = whole - f(1.0)
    lost = (f(1.0) - (whole - back)) + (y - back)
    moved = u(bits(whole) + _BELOW)
    biased = u(moved >> _EXPONENT)
    count = real(u(biased | _INTEGER)) - f(2.0**23 + 127.0)
    shrink = real(u(u(_TWICE - biased) << _EXPONENT))
    lost = choose(y > f(2.0**30), f(0.0), lost * shrink)
    part = (real(u(u(moved & _MANTISSA) + _ROOT)) - f(1.0)) + lost
    s = _quotient(x, x + f(1.0), plain, part)
    half = f(0.5) * part * part
    z = s * s
    tail = fma(s, fma(z, _log_series(z), half), fma(count, _LN2_TAIL, -half))
    found = fma(count, _LN2_SHORT, part + tail)
    return choose(plain, signed(found, x), s)
