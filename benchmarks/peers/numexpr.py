"""The programs that are an expression or two in numexpr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numexpr

if TYPE_CHECKING:
    from benchmarks.programs import Host

D1 = "(log(spot / strike) + (0.03 + 0.5 * 0.25**2) * years) / (0.25 * sqrt(years))"
T = "(1.0 / (1.0 + 0.2316419 * abs(d)))"
INNER = (
    "(t * (0.319381530 + t * (-0.356563782 + t * (1.781477937"
    " + t * (-1.821255978 + 1.330274429 * t)))))"
)
TAIL = f"(exp(-0.5 * d * d) * 0.3989422804014327 * {INNER.replace('t', T)})"
CDF = f"where(d >= 0.0, 1.0 - {TAIL}, {TAIL})"


def arrays(host: Host) -> Host:
    """Return the host arrays themselves."""
    return host


def cdf(d: str) -> str:
    """Return the text of the normal distribution of ``d``."""
    return CDF.replace("d", d)


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    """Price calls, then puts from them."""
    names = {"spot": spot, "strike": strike, "years": years}
    names["d1"] = numexpr.evaluate(D1, names)
    names["call"] = numexpr.evaluate(
        f"spot * {cdf('d1')} - strike * exp(-0.03 * years) * {cdf('(d1 - 0.25 * sqrt(years))')}",
        names,
    )
    return names["call"], numexpr.evaluate("call - spot + strike * exp(-0.03 * years)", names)


def multiply_add_sum(a: Any, b: Any, c: Any) -> Any:
    """Sum a product and an addend."""
    return float(numexpr.evaluate("sum(a * b + c)", {"a": a, "b": b, "c": c}))


def jacobi(plate: Any) -> Any:
    """Sweep twenty times."""
    u = plate.copy()
    sides = {"n": u[:-2, 1:-1], "s": u[2:, 1:-1], "w": u[1:-1, :-2], "e": u[1:-1, 2:]}
    for _ in range(20):
        u[1:-1, 1:-1] = numexpr.evaluate("0.25 * (n + s + w + e)", sides)
    return u


PROGRAMS = {"black_scholes": black_scholes, "fma_sum": multiply_add_sum, "jacobi": jacobi}
