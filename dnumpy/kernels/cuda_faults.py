"""Floating-point faults in generated CUDA kernels, told from operands and results, as C++ text.

A GPU has no flags. A result that is NaN though no operand was is an invalid operation; one that is
infinite though the operands were finite is an overflow, or a division by zero at a pole. Underflow
leaves no such trace and is not told.
"""

from __future__ import annotations

DIVIDE, OVER, INVALID = 1, 2, 4
BITS = {"divide": DIVIDE, "over": OVER, "invalid": INVALID}
WORDS = {DIVIDE: "divide by zero", OVER: "overflow", INVALID: "invalid value"}  # NumPy's
PER_STEP = 4  # bits of a step in a word
STEPS_PER_WORD = 32 // PER_STEP

FAULTS = r"""
#define DIVIDE 1u
#define OVER 2u
#define INVALID 4u
FN b1 none_nan() { return true; }
template <class T, class... R> FN b1 none_nan(T a, R... rest) {
  return !op_isnan(a) && none_nan(rest...);
}
FN b1 all_finite() { return true; }
template <class T, class... R> FN b1 all_finite(T a, R... rest) {
  return op_isfinite(a) && all_finite(rest...);
}
template <class T, class... R> FN u4 fault(b1 pole, T r, R... operands) {
  if (op_isfinite(r)) return 0;
  if (op_isnan(r)) return none_nan(operands...) ? INVALID : 0;
  return all_finite(operands...) ? (pole ? DIVIDE : OVER) : 0;
}
template <class T> FN u4 fault_floor(u4 found, T) { return found == OVER ? OVER | INVALID : found; }
FN u4 fault_floor(u4 found, f2) { return found; }  // NumPy rounds what overflows an infinity
template <class T> FN b1 is_zero(T a) { return !truth(a); }
template <class T> FN b1 pole_divide(T, T b) { return is_zero(b); }
template <class T> FN b1 pole_power(T a, T) { return is_zero(a); }
template <class T> FN b1 pole_reciprocal(T a) { return is_zero(a); }
template <class T> FN b1 pole_always(T) { return true; }
template <class T> FN u4 fault_division(T a, T b) {
  if (b == T(0)) return DIVIDE;
  return kind<T>::is_signed && b == T(-1) && a == lowest<T>::value ? OVER : 0;
}
template <class T> FN u4 fault_next(T r, T a) { return op_isinf(r) && op_isfinite(a) ? OVER : 0; }
template <class T> FN u4 fault_spacing(T r, T a) { return fault_next(r, a); }
FN u4 fault_spacing(f2 r, f2 a) { return op_isinf(a) ? INVALID : fault_next(r, a); }
FN b1 far_apart(f4 a, f4 b) { return op_isinf(a - b); }
FN b1 far_apart(f8 a, f8 b) { return op_isinf(a - b); }
FN b1 far_apart(f2, f2) { return false; }
template <class T> FN u4 fault_log_sum(T r, T a, T b) {
  if (op_isnan(a) || op_isnan(b)) return INVALID;
  return all_finite(a, b) && (far_apart(a, b) || op_isinf(r)) ? OVER : 0;
}
template <class T> FN u4 fault_order(T a, T b) {
  bool last = a.re == b.re && (op_isnan(a.im) || op_isnan(b.im));
  return last || op_isnan(a.re) || op_isnan(b.re) ? INVALID : 0;
}
template <class T> FN u4 fault_reciprocal(T a) { return a == T(0) ? DIVIDE | INVALID : 0; }
template <class T> FN u4 fault_zero(T b) { return b == T(0) ? DIVIDE : 0; }
// x86 converts to 32 bits, or to 64: what fits there and not in T is cut off without a word
template <class T> FN u4 fault_truncation(f8 x) {
  const f8 bottom = sizeof(T) == 8 ? -9223372036854775808.0 : -2147483648.0;
  const f8 top = kind<T>::is_signed || sizeof(T) < 4 ? -bottom : -2 * bottom;
  return trunc(x) >= bottom && x < top ? 0 : INVALID;
}
"""
