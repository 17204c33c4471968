"""The fast functions of float32 that have to do with angles; see :mod:`.fast_single`."""

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
    polynomial,
    real,
    signed,
)

f, u = np.float32, np.uint32
INF = f(math.inf)

_BOUND, _ENDLESS = bits_of(2.0**17, "f4"), bits_of(math.inf, "f4")
_TINY = bits_of(2.0**-12, "f4")  # below, sin(x) is x, tan(x) is x and cos(x) is 1
_ROUND, _QUOTIENT = f(1.5 * 2.0**23), f(0.6366197723675814)
_P1, _P2 = f(1.5707963267948966), f(1.5707963267948966 - float(f(1.5707963267948966)))
_P3 = f((1.5707963267948966 - float(_P1) - float(_P2)) + 6.123233995736766e-17)
_ONE, _TWO, _TO_SIGN, _SIGN = u(1), u(2), u(30), u(31)
_sine_series = polynomial(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
_cosine_series = polynomial(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)


@inlined
def beyond(x: float) -> bool:
    """Say whether the waves of a finite number are left to the C library."""
    return bool(u(bits(abs(x)) - u(_BOUND + _ONE)) < u(_ENDLESS - u(_BOUND + _ONE)))


@inlined
def _parts(x: float, size: float) -> tuple[float, float, float]:
    """Return ``x`` less a multiple of pi/2 as a number and its tail, and the shifted multiple."""
    shifted = fma(x, _QUOTIENT, _ROUND)
    quotient = shifted - _ROUND
    first = fma(-quotient, _P1, x)
    product = quotient * _P2
    y = first - product
    lost = ((first - y) - product) - fma(quotient, _P2, -product)
    poison = size * choose(bits(size) > _BOUND, f(2.0**120), f(0.0))  # infinite, or zero
    return y, fma(-quotient, _P3, lost) + (poison - poison), shifted


@inlined
def _sine(y: float, tail: float) -> float:
    z = y * y
    return y + fma(z * y, _sine_series(z), fma(f(-0.5) * z, tail, tail))


@inlined
def _cosine(y: float, tail: float) -> float:
    z = y * y
    half = f(0.5) * z
    near = f(1.0) - half
    return near + (((f(1.0) - near) - half) + fma(z * z, _cosine_series(z), -(y * tail)))


@inlined
def sin(x: float) -> float:
    """Return the sine of an angle."""
    size = abs(x)
    y, tail, shifted = _parts(x, size)
    quarter = bits(shifted)
    found = choose(u(quarter & _ONE) == _ONE, _cosine(y, tail), _sine(y, tail))
    found = real(u(bits(found) ^ u(u(quarter & _TWO) << _TO_SIGN)))
    return choose(bits(size) < _TINY, x, found)


@inlined
def cos(x: float) -> float:
    """Return the cosine of an angle."""
    y, tail, shifted = _parts(x, abs(x))
    quarter = u(bits(shifted) + _ONE)
    found = choose(u(quarter & _ONE) == _ONE, _cosine(y, tail), _sine(y, tail))
    return real(u(bits(found) ^ u(u(quarter & _TWO) << _TO_SIGN)))


@inlined
def tan(x: float) -> float:
    """Return the tangent of an angle."""
    size = abs(x)
    y, tail, shifted = _parts(x, size)
    odd = u(bits(shifted) & _ONE) == _ONE
    sine, cosine = _sine(y, tail), _cosine(y, tail)
    tiny = bits(size) < _TINY
    top = choose(odd, -cosine, sine)
    bottom = choose(odd, sine, cosine)
    return choose(tiny, x, top / choose(tiny, f(2.0), bottom))


# ---------------------------------------------------------------- from ratios to angles

_EIGHTH = f(0.41421356237309503)
_MIDDLE, _FAR = bits_of(0.41421356237309503, "f4"), bits_of(2.414213562373095, "f4")
_LITTLE, _LARGE = bits_of(2.0**-80, "f4"), bits_of(2.0**110, "f4")
_QUARTER, _QUARTER_REST = f(0.5) * _P1, f(0.5) * _P2
_PI, _PI_REST = f(2.0) * _P1, f(2.0) * _P2
_arc_tangent_series = polynomial(
    -0.33333315505233246, 0.19998489391032226, -0.1424384635399519, 0.10595974237490427,
    -0.060833647375251855,
)  # fmt: skip


@inlined
def _angle_series(t: float) -> float:
    """Return arctan(t) - t for t up to the tangent of an eighth of pi."""
    z = t * t
    return (t * z) * _arc_tangent_series(z)


@inlined
def arctan(x: float) -> float:
    """Return the angle whose tangent is ``x``."""
    size = abs(x)
    far, middle = bits(size) > _FAR, bits(size) > _MIDDLE
    top = choose(far, f(-1.0), choose(middle, size - f(1.0), size))
    bottom = choose(far, size, choose(middle, size + f(1.0), f(1.0)))
    base = choose(far, _P1, choose(middle, _QUARTER, f(0.0)))
    rest = choose(far, _P2, choose(middle, _QUARTER_REST, f(0.0)))
    t = top / bottom
    return signed(base + (t + (_angle_series(t) + rest)), x)


@inlined
def arctan2(y: float, x: float) -> float:
    """Return the angle of the point ``(x, y)``."""
    broken = (x != x) | (y != y)  # noqa: PLR0124 - NaN
    across, up = choose(broken, f(2.0), abs(x)), choose(broken, f(2.0), abs(y))
    steep = bits(up) > bits(across)
    large, small = choose(steep, up, across), choose(steep, across, up)
    scale = choose(bits(large) < _LITTLE, f(2.0**40), f(2.0))
    scale = choose(bits(large) > _LARGE, f(2.0**-20), scale)
    large, small = large * scale, small * scale
    same = small == INF
    large, small = choose(same, f(2.0), large), choose(same, f(2.0), small)
    middle = small > _EIGHTH * large
    none = large == f(0.0)
    top = choose(middle, small - large, small)
    bottom = choose(none, f(2.0), choose(middle, small + large, large))
    t = top / bottom
    base, rest = choose(middle, _QUARTER, f(0.0)), choose(middle, _QUARTER_REST, f(0.0))
    low = _angle_series(t) + rest
    left = u(bits(x) >> _SIGN) == _ONE
    turned = steep != left
    t, low, base = choose(turned, -t, t), choose(turned, -low, low), choose(turned, -base, base)
    start = choose(steep, _P1, choose(left, _PI, f(0.0)))
    start_rest = choose(steep, _P2, choose(left, _PI_REST, f(0.0)))
    found = (start + base) + (t + (low + start_rest))
    return choose(x != x, x, choose(y != y, y, signed(found, y)))  # noqa: PLR0124 - NaN


# ---------------------------------------------------------------- from sines to angles

_HALF, _TWICE = bits_of(0.5, "f4"), bits_of(2.0, "f4")
_arc_sine_series = polynomial(
    0.16666659876036902, 0.07500510719195959, 0.04451574847600853, 0.031817438511145164,
    0.014403085251136172, 0.0375647144375829,
)  # fmt: skip


@inlined
def _squared(size: float, broken: bool) -> float:
    """Return the square of a size up to a half, (1 - size) / 2 above."""
    near = at_most(size, _HALF)
    capped = choose(broken, f(0.5), at_most(size, _TWICE))
    return choose(bits(size) > _HALF, fma(f(-0.5), capped, f(0.5)), near * near)


@inlined
def arcsin(x: float) -> float:
    """Return the angle whose sine is ``x``."""
    size, broken = abs(x), x != x  # noqa: PLR0124 - NaN
    far = bits(size) > _HALF
    z = _squared(size, broken)
    s = choose(far, np.sqrt(z), size)
    low = (s * z) * _arc_sine_series(z)
    found = choose(far, fma(f(-2.0), s, _P1) - fma(f(2.0), low, -_P2), s + low)
    return choose(broken, x, signed(found, x))


@inlined
def arccos(x: float) -> float:
    """Return the angle whose cosine is ``x``."""
    size, broken = abs(x), x != x  # noqa: PLR0124 - NaN
    far = bits(size) > _HALF
    z = _squared(size, broken)
    s = signed(choose(far, np.sqrt(z), size), x)
    low = (s * z) * _arc_sine_series(z)
    left = u(bits(x) >> _SIGN) == _ONE
    around = choose(left, _PI + f(2.0) * (s + (low + _P2)), f(2.0) * (s + low))
    return choose(broken, x, choose(far, around, _P1 - (s + (low - _P2))))


@inlined
def hypot(x: float, y: float) -> float:
    """Return the length of ``(x, y)``; the squares and their sum are float64."""
    wide, high = np.float64(x), np.float64(y)
    length = f(math.sqrt(fma(wide, wide, high * high)))
    # of bits: LLVM 15 would ask whether ``abs(x) >= INF``, which NaN is a fault in
    endless = (bits(abs(x)) == _ENDLESS) | (bits(abs(y)) == _ENDLESS)
    return choose(endless, INF, length)
