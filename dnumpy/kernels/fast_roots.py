"""The fast functions of float64 that have to do with lengths and roots; see :mod:`.fast_double`."""

from __future__ import annotations

import math

from dnumpy.kernels.fast_bits import (
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

_LARGE, _SMALL = bits_of(2.0**500), bits_of(2.0**-500)  # squares of what lies between are in range
_EXPONENT = word(52)
_MANTISSA, _UNIT = word(0x000FFFFFFFFFFFFF), word(0x3FF0000000000000)
_INTEGER = word(0x4330000000000000)
_SHIFT = 1.5 * 2.0**52
_BIAS, _ONE = word(1023), word(1)
_NORMAL, _ENDLESS = bits_of(2.0**-1000), bits_of(math.inf)


# m**(-1/3) from 1 to 2, to 17 bits
_inverse_root = polynomial(
    1.781070708270658,
    -1.5660536402366347,
    1.2437909599344115,
    -0.5978567882490654,
    0.15605969384094634,
    -0.01701662674042502,
)


@inlined
def cbrt(x: float) -> float:
    """Return the cube root."""
    size = abs(x)
    low = bits(size) < _NORMAL
    plain = (bits(size) - _ONE) < (_ENDLESS - _ONE)
    y = choose(plain, size, 2.0) * choose(low, 2.0**57, 0.125)
    word_ = bits(y)
    count = real((word_ >> _EXPONENT) | _INTEGER) - (2.0**52 + 1023.0)
    shifted = fma(count - 1.0, 1.0 / 3.0, _SHIFT)
    third = shifted - _SHIFT
    left = fma(-3.0, third, count)
    m = real((word_ & _MANTISSA) | _UNIT)
    r = _inverse_root(m)
    first = left > 0.5
    second = left > 1.5
    m = m * choose(second, 4.0, choose(first, 2.0, 1.0))
    r = r * choose(second, 0.6299605249474366, choose(first, 0.7937005259840998, 1.0))
    square = r * r
    e = fma(-m * r, square, 1.0)
    r = fma(r * e, fma(e, 2.0 / 9.0, 1.0 / 3.0), r)
    square = r * r
    c = m * square
    c2 = c * c
    off = fma(-c2, c, m) - fma(c, c, -c2) * c
    c = fma(off * (1.0 / 3.0), square, c)
    scale = real((bits(shifted) + _BIAS) << _EXPONENT) * choose(low, 2.0**-19, 2.0)
    return signed(choose(plain, c * scale, size), x)


@inlined
def hypot(x: float, y: float) -> float:
    """Return the length of ``(x, y)``."""
    x, y = abs(x), abs(y)
    endless = (x == math.inf) | (y == math.inf)
    x, y = choose(endless, math.inf, x), choose(endless, math.inf, y)
    large = choose(bits(x) > bits(y), bits(x), bits(y))
    big, little = large > _LARGE, large < _SMALL
    scale = choose(big, 2.0**-600, choose(little, 2.0**600, 0.5))
    back = choose(big, 2.0**600, choose(little, 2.0**-600, 2.0))
    x, y = x * scale, y * scale
    return math.sqrt(fma(x, x, y * y)) * back
