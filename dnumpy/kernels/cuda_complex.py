"""Complex numbers in generated CUDA kernels: NumPy's formulas, as C++ text.

Quotients and reciprocals are Smith's, moduli are hypot's; order is lexicographic, and a number with
a NaN in it counts as NaN. Exponentials, sines and their kin are products of real functions, a few
units in the last place of the modulus from NumPy's; inverse functions and powers are left to CuPy.
"""

from __future__ import annotations

COMPLEX = r"""
template <class T> struct cplx { T re, im; };
typedef cplx<f4> c8; typedef cplx<f8> c16;
#define C template <class T> FN
C cplx<T> make(T re, T im) { cplx<T> z; z.re = re; z.im = im; return z; }
template <class T> struct as<cplx<T>> {
  template <class S> static FN_MEMBER cplx<T> from(S x) { return make(as<T>::from(x), T(0)); }
  template <class S> static FN_MEMBER cplx<T> from(cplx<S> x) { return make((T)x.re, (T)x.im); }
};
C b1 truth(cplx<T> a) { return a.re != T(0) || a.im != T(0); }
template <class T, class S> FN T real_as(cplx<S> x) { return as<T>::from(x.re); }
template <> FN_SPECIAL b1 real_as<b1, f4>(cplx<f4> x) { return truth(x); }
template <> FN_SPECIAL b1 real_as<b1, f8>(cplx<f8> x) { return truth(x); }
C b1 op_isnan(cplx<T> a) { return op_isnan(a.re) || op_isnan(a.im); }
C b1 op_isinf(cplx<T> a) { return op_isinf(a.re) || op_isinf(a.im); }
C b1 op_isfinite(cplx<T> a) { return op_isfinite(a.re) && op_isfinite(a.im); }
#define ORDER(name, sign, last) \
  C b1 op_##name(cplx<T> a, cplx<T> b) { \
    bool real = a.re sign b.re && !op_isnan(a.im) && !op_isnan(b.im); \
    return real || (a.re == b.re && a.im last b.im); \
  }
ORDER(less, <, <) ORDER(less_equal, <, <=) ORDER(greater, >, >) ORDER(greater_equal, >, >=)
C b1 op_equal(cplx<T> a, cplx<T> b) { return a.re == b.re && a.im == b.im; }
C b1 op_not_equal(cplx<T> a, cplx<T> b) { return a.re != b.re || a.im != b.im; }
C b1 before(cplx<T> a, cplx<T> b) { return a.re < b.re || (a.re == b.re && a.im < b.im); }
C cplx<T> op_clip(cplx<T> a, cplx<T> low, cplx<T> high) {
  cplx<T> x = op_isnan(a) || before(low, a) ? a : low;
  return op_isnan(x) || before(x, high) ? x : high;
}
C cplx<T> op_positive(cplx<T> a) { return a; }
C cplx<T> op_negative(cplx<T> a) { return make(-a.re, -a.im); }
C cplx<T> op_conjugate(cplx<T> a) { return make(a.re, -a.im); }
C cplx<T> op_add(cplx<T> a, cplx<T> b) { return make(a.re + b.re, a.im + b.im); }
C cplx<T> op_subtract(cplx<T> a, cplx<T> b) { return make(a.re - b.re, a.im - b.im); }
C cplx<T> op_multiply(cplx<T> a, cplx<T> b) {
  return make(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
C cplx<T> op_square(cplx<T> a) {
  return make(a.re * a.re - a.im * a.im, a.re * a.im + a.im * a.re);
}
C cplx<T> op_divide(cplx<T> a, cplx<T> b) {
  T re = op_absolute(b.re), im = op_absolute(b.im);
  if (re >= im) {
    if (re == T(0) && im == T(0)) return make(a.re / re, a.im / re);
    T ratio = b.im / b.re, scale = T(1) / (b.re + b.im * ratio);
    return make((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
  }
  T ratio = b.re / b.im, scale = T(1) / (b.re * ratio + b.im);
  return make((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}
C cplx<T> op_reciprocal(cplx<T> a) {
  if (op_absolute(a.im) <= op_absolute(a.re)) {
    T ratio = a.im / a.re, d = a.re + a.im * ratio;
    return make(T(1) / d, -ratio / d);
  }
  T ratio = a.re / a.im, d = a.re * ratio + a.im;
  return make(ratio / d, T(-1) / d);
}
C T op_absolute(cplx<T> a) { return op_hypot(a.re, a.im); }
C cplx<T> op_rint(cplx<T> a) { return make(op_rint(a.re), op_rint(a.im)); }
C T times_sign(T x, T value) { return x == T(0) && !op_isfinite(value) ? x : x * value; }
C cplx<T> op_exp(cplx<T> a) {
  if (a.im == T(0)) return make(op_exp(a.re), a.im);
  T r = op_exp(a.re);
  if (r == T(0)) return make(op_copysign(T(0), op_cos(a.im)), op_copysign(T(0), op_sin(a.im)));
  return make(r * op_cos(a.im), r * op_sin(a.im));
}
C cplx<T> op_log(cplx<T> a) {
  T x = op_absolute(a.re), y = op_absolute(a.im), big = x > y ? x : y, small = x > y ? y : x;
  T modulus = op_hypot(x, y), re;
  if (modulus > T(0.5) && modulus < T(2))
    re = op_log1p((big - T(1)) * (big + T(1)) + small * small) / T(2);
  else if (op_isfinite(big) && op_isinf(modulus))
    re = op_log(op_hypot(x / T(2), y / T(2))) + op_log(T(2));
  else re = op_log(modulus);
  return make(re, op_arctan2(a.im, a.re));
}
C cplx<T> op_log2(cplx<T> a) {
  cplx<T> z = op_log(a); const T e = T(1.442695040888963407359924681001892137);
  return make(z.re * e, z.im * e);
}
C cplx<T> op_log10(cplx<T> a) {
  cplx<T> z = op_log(a); const T e = T(0.434294481903251827651128918916605082);
  return make(z.re * e, z.im * e);
}
C cplx<T> op_sqrt(cplx<T> a) {
  if (a.re == T(0) && a.im == T(0)) return make(T(0), a.im);
  if (op_isinf(a.im)) return make(op_absolute(a.im), a.im);
  if (op_isinf(a.re)) {
    T rest = op_isnan(a.im) ? a.im : T(0);
    return a.re > T(0) ? make(a.re, op_isnan(a.im) ? a.im : op_copysign(T(0), a.im))
                       : make(rest, op_copysign(-a.re, a.im));
  }
  T half = T(0.5), up = T(1), back = T(1);
  const T large = sizeof(T) * T(1e36);  // twice the modulus might overflow
  if (op_absolute(a.re) > large || op_absolute(a.im) > large) { up = half * half; back = T(2); }
  T re = a.re * up, im = a.im * up;
  T t = op_sqrt((op_absolute(re) + op_hypot(re, im)) * half);
  if (op_isnan(t)) return make(t, t);
  if (re >= T(0)) return make(t * back, im / (T(2) * t) * back);
  return make(op_absolute(im) / (T(2) * t) * back, op_copysign(t, im) * back);
}
C cplx<T> op_sinh(cplx<T> a) {
  if (a.im == T(0)) return make(op_sinh(a.re), a.im);
  return make(times_sign(op_sinh(a.re), op_cos(a.im)), op_cosh(a.re) * op_sin(a.im));
}
C cplx<T> op_cosh(cplx<T> a) {
  if (a.im == T(0)) return make(op_cosh(a.re), a.re * a.im);
  return make(op_cosh(a.re) * op_cos(a.im), times_sign(op_sinh(a.re), op_sin(a.im)));
}
C cplx<T> op_sin(cplx<T> a) { cplx<T> z = op_sinh(make(-a.im, a.re)); return make(z.im, -z.re); }
C cplx<T> op_cos(cplx<T> a) { return op_cosh(make(-a.im, a.re)); }
C cplx<T> op_tanh(cplx<T> a) {
  if (op_absolute(a.re) > T(20)) {
    T e = op_exp(T(-2) * op_absolute(a.re));
    return make(op_copysign(T(1), a.re), T(4) * op_sin(a.im) * op_cos(a.im) * e);
  }
  T t = op_tan(a.im), s = op_sinh(a.re), b = T(1) + t * t, r = op_sqrt(T(1) + s * s);
  if (op_isinf(t)) return make(r / s, T(1) / t);
  T d = T(1) + b * s * s;
  return make(b * r * s / d, t / d);
}
C cplx<T> op_tan(cplx<T> a) { cplx<T> z = op_tanh(make(-a.im, a.re)); return make(z.im, -z.re); }
C b1 op_logical_not(cplx<T> a) { return !truth(a); }
C b1 op_logical_and(cplx<T> a, cplx<T> b) { return truth(a) && truth(b); }
C b1 op_logical_or(cplx<T> a, cplx<T> b) { return truth(a) || truth(b); }
C b1 op_logical_xor(cplx<T> a, cplx<T> b) { return truth(a) != truth(b); }
#undef C
"""
