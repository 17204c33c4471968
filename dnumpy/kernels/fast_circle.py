"""The fast functions of float64 that have to do with angles; see :mod:`.fast_double`."""

from __future__ import annotations

import math

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
    word,
)

INF = math.inf

BOUND = 2.0**30  # of the operands whose nearest multiple of pi/2 is found with three parts of it
_BOUND, _ENDLESS = bits_of(BOUND), bits_of(INF)
_TINY = bits_of(2.0**-27)  # below, sin(x) is x, tan(x) is x and cos(x) is 1

_ROUND = 1.5 * 2.0**52
_QUOTIENT = 0.6366197723675814
_P1, _P2, _P3 = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33
_ONE, _TWO, _TO_SIGN, _SIGN = word(1), word(2), word(62), word(63)


# (sin(y) - y) / y**3 of y**2, by fdlibm
_sine_series = polynomial(
    -0.16666666666666632,
    0.00833333333332249,
    -0.0001984126982985795,
    2.7557313707070068e-06,
    -2.5050760253406863e-08,
    1.58969099521155e-10,
)


# (cos(y) - 1 + y**2 / 2) / y**4 of y**2, by fdlibm
_cosine_series = polynomial(
    0.0416666666666666,
    -0.001388888888887411,
    2.480158728947673e-05,
    -2.7557314351390663e-07,
    2.087572321298175e-09,
    -1.1359647557788195e-11,
)


@inlined
def beyond(x: float) -> bool:
    """Say whether the waves of a finite number are left to the C library."""
    return (bits(abs(x)) - _BOUND - _ONE) < (_ENDLESS - _BOUND - _ONE)


@inlined
def _parts(x: float, size: float) -> tuple[float, float, float]:
    """Return ``x`` less a multiple of pi/2 as a number and its tail, and the shifted multiple.

    Beyond the bound the tail is NaN and the flag for invalid operations is raised.
    """
    shifted = fma(x, _QUOTIENT, _ROUND)
    quotient = shifted - _ROUND
    first = fma(-quotient, _P1, x)
    product = quotient * _P2
    y = first - product
    lost = ((first - y) - product) - fma(quotient, _P2, -product)
    poison = size * choose(bits(size) > _BOUND, 2.0**1000, 0.0)  # infinite, or zero
    return y, fma(-quotient, _P3, lost) + (poison - poison), shifted


@inlined
def _sine(y: float, tail: float) -> float:
    z = y * y
    p = _sine_series(z)
    return y + fma(z * y, p, fma(-0.5 * z, tail, tail))


@inlined
def _cosine(y: float, tail: float) -> float:
    z = y * y
    p = _cosine_series(z)
    half = 0.5 * z
    near = 1.0 - half
    return near + (((1.0 - near) - half) + fma(z * z, p, -(y * tail)))


@inlined
def sin(x: float) -> float:
    """Return the sine of an angle."""
    size = abs(x)
    y, tail, shifted = _parts(x, size)
    quarter = bits(shifted)
    found = choose((quarter & _ONE) == _ONE, _cosine(y, tail), _sine(y, tail))
    found = real(bits(found) ^ ((quarter & _TWO) << _TO_SIGN))
    return choose(bits(size) < _TINY, x, found)


@inlined
def cos(x: float) -> float:
    """Return the cosine of an angle."""
    y, tail, shifted = _parts(x, abs(x))
    quarter = bits(shifted) + _ONE
    found = choose((quarter & _ONE) == _ONE, _cosine(y, tail), _sine(y, tail))
    return real(bits(found) ^ ((quarter & _TWO) << _TO_SIGN))


@inlined
def tan(x: float) -> float:
    """Return the tangent of an angle."""
    size = abs(x)
    y, tail, shifted = _parts(x, size)
    odd = (bits(shifted) & _ONE) == _ONE
    sine, cosine = _sine(y, tail), _cosine(y, tail)
    tiny = bits(size) < _TINY
    top = choose(odd, -cosine, sine)
    bottom = choose(odd, sine, cosine)
    return choose(tiny, x, top / choose(tiny, 2.0, bottom))


# ---------------------------------------------------------------- from ratios to angles

_EIGHTH = 0.41421356237309503  # its tangent
_MIDDLE, _FAR = bits_of(_EIGHTH), bits_of(2.414213562373095)
_LITTLE, _LARGE = bits_of(2.0**-900), bits_of(2.0**1000)
_QUARTER, _QUARTER_REST = 0.7853981633974483, 3.061616997868383e-17
_HALF_REST = 6.123233995736766e-17
_PI, _PI_REST = 3.141592653589793, 1.2246467991473532e-16


# (arctan(t) - t) / t**3 of t**2, up to the tangent of pi/8
_arc_tangent_series = polynomial(
    -0.3333333333333321,
    0.19999999999955856,
    -0.1428571428038842,
    0.11111110791922142,
    -0.09090897978854079,
    0.07692063858689252,
    -0.06663142924792892,
    0.058481572965068104,
    -0.050404567832065546,
    0.03809264156657583,
    -0.017936841336331454,
)


@inlined
def _angle_series(t: float) -> float:
    """Return arctan(t) - t for t up to the tangent of an eighth of pi."""
    z = t * t
    p = _arc_tangent_series(z)
    return (t * z) * p


@inlined
def arctan(x: float) -> float:
    """Return the angle whose tangent is ``x``."""
    size = abs(x)
    far, middle = bits(size) > _FAR, bits(size) > _MIDDLE
    top = choose(far, -1.0, choose(middle, size - 1.0, size))
    bottom = choose(far, size, choose(middle, size + 1.0, 1.0))
    base = choose(far, _P1, choose(middle, _QUARTER, 0.0))
    rest = choose(far, _P2, choose(middle, _QUARTER_REST, 0.0))
    t = top / bottom
    return signed(base + (t + (_angle_series(t) + rest)), x)


@inlined
def arctan2(y: float, x: float) -> float:
    """Return the angle of the point ``(x, y)``."""
    broken = (x != x) | (y != y)  # noqa: PLR0124 - NaN
    across, up = choose(broken, 2.0, abs(x)), choose(broken, 2.0, abs(y))
    steep = bits(up) > bits(across)
    large, small = choose(steep, up, across), choose(steep, across, up)
    scale = choose(bits(large) > _LARGE, 2.0**-100, choose(bits(large) < _LITTLE, 2.0**100, 2.0))
    large, small = large * scale, small * scale
    same = small == INF
    large, small = choose(same, 2.0, large), choose(same, 2.0, small)
    middle = small > _EIGHTH * large
    none = large == 0.0
    top = choose(middle, small - large, small)
    bottom = choose(none, 2.0, choose(middle, small + large, large))
    t = top / bottom
    base, rest = choose(middle, _QUARTER, 0.0), choose(middle, _QUARTER_REST, 0.0)
    # the angle is base + t + low, taken from a half or the whole of pi where the point lies there
    low = _angle_series(t) + rest
    left = (bits(x) >> _SIGN) == _ONE
    turned = steep != left
    t, low, base = choose(turned, -t, t), choose(turned, -low, low), choose(turned, -base, base)
    start = choose(steep, _P1, choose(left, _PI, 0.0))
    start_rest = choose(steep, _P2, choose(left, _PI_REST, 0.0))
    found = (start + base) + (t + (low + start_rest))
    return choose(x != x, x, choose(y != y, y, signed(found, y)))  # noqa: PLR0124 - NaN


# ---------------------------------------------------------------- from sines to angles

_HALF, _TWICE = bits_of(0.5), bits_of(2.0)


# (arcsin(s) - s) / s**3 of s**2, up to a half
_arc_sine_series = polynomial(
    0.16666666666666763,
    0.07499999999970264,
    0.04464285717512015,
    0.03038194268363769,
    0.02237221565990691,
    0.017351600097087843,
    0.013980961400287444,
    0.011397776363663827,
    0.010786526988517826,
    0.003683050116985621,
    0.02176347764717837,
    -0.021077258433876724,
    0.03267686608143648,
)


@inlined
def _arc_series(s: float, z: float) -> float:
    """Return arcsin(s) - s where ``z`` is s**2, up to a quarter."""
    p = _arc_sine_series(z)
    return (s * z) * p


@inlined
def arcsin(x: float) -> float:
    """Return the angle whose sine is ``x``."""
    size = abs(x)
    far = bits(size) > _HALF
    near = at_most(size, _HALF)
    broken = x != x  # noqa: PLR0124 - NaN
    z = choose(far, fma(-0.5, choose(broken, 0.5, at_most(size, _TWICE)), 0.5), near * near)
    s = choose(far, math.sqrt(z), size)
    low = _arc_series(s, z)
    found = choose(far, fma(-2.0, s, _P1) - fma(2.0, low, -_P2), s + low)
    return choose(broken, x, signed(found, x))


@inlined
def arccos(x: float) -> float:
    """Return the angle whose cosine is ``x``."""
    size = abs(x)
    far = bits(size) > _HALF
    near = at_most(size, _HALF)
    broken = x != x  # noqa: PLR0124 - NaN
    z = choose(far, fma(-0.5, choose(broken, 0.5, at_most(size, _TWICE)), 0.5), near * near)
    s = signed(choose(far, math.sqrt(z), size), x)
    low = _arc_series(s, z)
    around = choose((bits(x) >> _SIGN) == _ONE, _PI + 2.0 * (s + (low + _P2)), 2.0 * (s + low))
    found = choose(far, around, _P1 - (s + (low - _P2)))
    return choose(broken, x, found)
