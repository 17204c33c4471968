"""What generated CUDA kernels are written in: types, casts and one function per op, as C++ text.

An op called ``name`` is ``op_name``, overloaded by the types that NumPy's loop has; a second
output is ``op_name_1``. Integers are NumPy's: they wrap around, a division by zero gives 0, a shift
by more than there are bits gives 0 or the sign. Floats become integers as x86 does it: what does
not fit becomes the smallest one. Halves are computed as floats and rounded after each op. Nothing
is included, so that NVRTC compiles the text by itself; the tests compile it for the host.

Arithmetic, square roots and comparisons are IEEE's, as NumPy's are. The others are CUDA's, whose
programming guide states these largest errors, in units in the last place of double (float)
precision: exp 1 (1), exp2 1 (2), expm1 1 (1), log 1 (1), log2 1 (1), log10 1 (2), log1p 1 (1),
sin 2 (2), cos 2 (2), tan 2 (4), asin 2 (2), acos 2 (2), atan 2 (2), atan2 2 (3), sinh 2 (3),
cosh 1 (2), tanh 1 (2), asinh 3 (3), acosh 3 (4), atanh 2 (3), pow 2 (4), hypot 2 (3), cbrt 1 (1);
fmod, rint, floor, ceil, trunc, ldexp, frexp, modf and nextafter are exact.
"""

from __future__ import annotations

import numpy as np

from dnumpy.kernels.cuda_complex import COMPLEX
from dnumpy.kernels.cuda_faults import FAULTS

# of halves that are equal, as zeros of two signs are: the first before NumPy 2.5, C's since
_EQUAL = "b" if np.signbit(np.nextafter(np.float16(0.0), np.float16(-0.0))) else "a"

TYPES = r"""
#define FN static __device__ __forceinline__
typedef signed char i1; typedef short i2; typedef int i4; typedef long long i8;
typedef unsigned char u1; typedef unsigned short u2; typedef unsigned int u4;
typedef unsigned long long u8;
typedef bool b1; typedef float f4; typedef double f8;
static_assert(sizeof(i8) == 8 && sizeof(i4) == 4, "sizes");

FN u4 bits_of(f4 x) { u4 r; memcpy(&r, &x, 4); return r; }
FN u8 bits_of(f8 x) { u8 r; memcpy(&r, &x, 8); return r; }
FN f4 float_of(u4 x) { f4 r; memcpy(&r, &x, 4); return r; }
FN f8 double_of(u8 x) { f8 r; memcpy(&r, &x, 8); return r; }
#define INF_4 (float_of(0x7f800000u))
#define INF_8 (double_of(0x7ff0000000000000ull))
#define NAN_4 (float_of(0x7fc00000u))
#define NAN_8 (double_of(0x7ff8000000000000ull))

// halves: bits <-> float
#ifdef __CUDA_ARCH__
FN f4 half_value(u2 h) { f4 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(h)); return r; }
FN u2 half_bits(f4 x) { u2 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
FN u2 half_bits(f8 x) { u2 r; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r) : "d"(x)); return r; }
#else
FN f4 half_value(u2 h) {
  u4 sign = (u4)(h & 0x8000u) << 16, e = (h >> 10) & 31, m = h & 1023;
  if (e == 31) return float_of(sign | 0x7f800000u | m << 13);
  if (e) return float_of(sign | (e + 112) << 23 | m << 13);
  f4 small = (f4)m * 5.9604644775390625e-8f;
  return sign ? -small : small;
}
FN u2 half_bits(f8 x) {
  u8 b = bits_of(x); u2 sign = (u2)(b >> 48 & 0x8000u);
  f8 a = double_of(b & 0x7fffffffffffffffull);
  if (a != a) return sign | 0x7e00u;
  if (a >= 65520.0) return sign | 0x7c00u;
  if (a < 6.103515625e-05) return sign | (u2)rint(a * 16777216.0);
  i4 e = (i4)(bits_of(a) >> 52) - 1023;
  f8 m = rint(a * double_of((u8)(1033 - e) << 52));  // 1024 <= m <= 2048
  return sign | (u2)(((e + 15) << 10) + (i4)m - 1024);
}
FN u2 half_bits(f4 x) { return half_bits((f8)x); }
#endif
struct f2 {
  f4 v;
  f2() = default;
  FN_MEMBER explicit f2(f4 x) : v(half_value(half_bits(x))) {}
  FN_MEMBER explicit f2(f8 x) : v(half_value(half_bits(x))) {}
};
FN f2 half_of(u2 bits) { f2 r; r.v = half_value(bits); return r; }

// memory
template <class T> FN T load(const char* p) { return *reinterpret_cast<const T*>(p); }
template <> FN_SPECIAL b1 load<b1>(const char* p) { return *reinterpret_cast<const u1*>(p) != 0; }
template <> FN_SPECIAL f2 load<f2>(const char* p) {
  return half_of(*reinterpret_cast<const u2*>(p));
}
template <class T> FN void store(char* p, T x) { *reinterpret_cast<T*>(p) = x; }
FN void store(char* p, b1 x) { *reinterpret_cast<u1*>(p) = x ? 1 : 0; }
FN void store(char* p, f2 x) { *reinterpret_cast<u2*>(p) = half_bits(x.v); }
FN void store_bytes(char* p, i8 x) { for (i4 k = 0; k < 8; k++) p[k] = (char)(x >> 8 * k); }
template <class T, i4 N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) lanes { T v[N]; };
template <class T> FN T unpacked(T x) { return x; }

// kinds of types
template <class T> struct kind { static const bool integer = true, is_signed = T(-1) < T(0); };
template <> struct kind<f4> { static const bool integer = false, is_signed = true; };
template <> struct kind<f8> { static const bool integer = false, is_signed = true; };
template <class T> struct wide { typedef u4 type; };
template <> struct wide<i8> { typedef u8 type; };
template <> struct wide<u8> { typedef u8 type; };
#define W typename wide<T>::type
template <class T> struct lowest {
  static const T value = kind<T>::is_signed ? T(T(1) << (sizeof(T) * 8 - 1)) : T(0);
};

// casts
FN i8 to_long(f8 x) {
  const f8 top = 9223372036854775808.0;
  return x >= -top && x < top ? (i8)x : (i8)0x8000000000000000ull;
}
FN i4 to_int(f8 x) {
  return x > -2147483649.0 && x < 2147483648.0 ? (i4)x : (i4)0x80000000u;
}
FN u4 to_uint(f8 x) {
  return x >= 2147483648.0 ? (u4)to_int(x - 2147483648.0) ^ 0x80000000u : (u4)to_int(x);
}
FN u8 to_ulong(f8 x) {
  return x >= 9223372036854775808.0 ? (u8)to_long(x - 9223372036854775808.0) ^ 0x8000000000000000ull
                                    : (u8)to_long(x);
}
template <class T> struct as {
  template <class S> static FN_MEMBER T from(S x) { return (T)x; }
  static FN_MEMBER T from(f4 x) { return from((f8)x); }
  static FN_MEMBER T from(f8 x) { return (T)to_int(x); }
  static FN_MEMBER T from(f2 x) { return from((f8)x.v); }
};
template <> FN_SPECIAL i8 as<i8>::from(f8 x) { return to_long(x); }
template <> FN_SPECIAL u4 as<u4>::from(f8 x) { return to_uint(x); }
template <> FN_SPECIAL u4 as<u4>::from(f2 x) { return (u4)to_long(x.v); }
template <> FN_SPECIAL u8 as<u8>::from(f8 x) { return to_ulong(x); }
template <> struct as<b1> {
  template <class S> static FN_MEMBER b1 from(S x) { return x != S(0); }
  static FN_MEMBER b1 from(f2 x) { return x.v != 0; }
};
template <> struct as<f4> {
  template <class S> static FN_MEMBER f4 from(S x) { return (f4)x; }
  static FN_MEMBER f4 from(f2 x) { return x.v; }
};
template <> struct as<f8> {
  template <class S> static FN_MEMBER f8 from(S x) { return (f8)x; }
  static FN_MEMBER f8 from(f2 x) { return (f8)x.v; }
};
template <> struct as<f2> {
  template <class S> static FN_MEMBER f2 from(S x) { return f2((f4)x); }
  static FN_MEMBER f2 from(f8 x) { return f2(x); }
  static FN_MEMBER f2 from(f2 x) { return x; }
};
"""

REAL = r"""
FN b1 op_isnan(f4 a) { return a != a; }
FN b1 op_isnan(f8 a) { return a != a; }
FN b1 op_isnan(f2 a) { return a.v != a.v; }
template <class T> FN b1 op_isnan(T) { return false; }
FN b1 op_isinf(f4 a) { return fabsf(a) == INF_4; }
FN b1 op_isinf(f8 a) { return fabs(a) == INF_8; }
FN b1 op_isinf(f2 a) { return op_isinf(a.v); }
template <class T> FN b1 op_isinf(T) { return false; }
FN b1 op_isfinite(f4 a) { return fabsf(a) < INF_4; }
FN b1 op_isfinite(f8 a) { return fabs(a) < INF_8; }
FN b1 op_isfinite(f2 a) { return op_isfinite(a.v); }
template <class T> FN b1 op_isfinite(T) { return true; }
FN b1 op_signbit(f4 a) { return bits_of(a) >> 31; }
FN b1 op_signbit(f8 a) { return bits_of(a) >> 63; }
FN b1 op_signbit(f2 a) { return op_signbit(a.v); }

#define BOTH(name, sign) \
  FN b1 op_##name(f2 a, f2 b) { return a.v sign b.v; } \
  FN b1 op_##name(i8 a, u8 b) { return a < 0 ? -1 sign 0 : (u8)a sign b; } \
  FN b1 op_##name(u8 a, i8 b) { return b < 0 ? 0 sign -1 : a sign (u8)b; } \
  template <class T> FN b1 op_##name(T a, T b) { return a sign b; }
BOTH(less, <) BOTH(less_equal, <=) BOTH(greater, >) BOTH(greater_equal, >=)
BOTH(equal, ==) BOTH(not_equal, !=)
#undef BOTH

template <class T> FN T op_positive(T a) { return a; }
template <class T> FN T op_conjugate(T a) { return a; }

// arithmetic
#define ARITHMETIC(name, sign) \
  FN f4 op_##name(f4 a, f4 b) { return a sign b; } \
  FN f8 op_##name(f8 a, f8 b) { return a sign b; } \
  FN f2 op_##name(f2 a, f2 b) { return f2(a.v sign b.v); } \
  template <class T> FN T op_##name(T a, T b) { return (T)((W)a sign (W)b); }
ARITHMETIC(add, +) ARITHMETIC(subtract, -) ARITHMETIC(multiply, *)
#undef ARITHMETIC
FN b1 op_add(b1 a, b1 b) { return a || b; }
FN b1 op_multiply(b1 a, b1 b) { return a && b; }
FN f4 op_divide(f4 a, f4 b) { return a / b; }
FN f8 op_divide(f8 a, f8 b) { return a / b; }
FN f2 op_divide(f2 a, f2 b) { return f2(a.v / b.v); }
FN f4 op_negative(f4 a) { return -a; }
FN f8 op_negative(f8 a) { return -a; }
FN f2 op_negative(f2 a) { a.v = -a.v; return a; }
template <class T> FN T op_negative(T a) { return (T)((W)0 - (W)a); }
FN f4 op_absolute(f4 a) { return fabsf(a); }
FN f8 op_absolute(f8 a) { return fabs(a); }
FN f2 op_absolute(f2 a) { a.v = fabsf(a.v); return a; }
FN b1 op_absolute(b1 a) { return a; }
template <class T> FN T op_absolute(T a) { return a < T(0) ? op_negative(a) : a; }
FN f4 op_fabs(f4 a) { return fabsf(a); }
FN f8 op_fabs(f8 a) { return fabs(a); }
FN f2 op_fabs(f2 a) { return op_absolute(a); }
template <class T> FN T op_square(T a) { return op_multiply(a, a); }
FN f4 op_reciprocal(f4 a) { return 1.0f / a; }
FN f8 op_reciprocal(f8 a) { return 1.0 / a; }
FN f2 op_reciprocal(f2 a) { return f2(1.0f / a.v); }
template <class T> FN T op_reciprocal(T a) { return as<T>::from(1.0 / (f8)a); }
FN f2 op_sign(f2 a) { a.v = a.v > 0 ? 1 : a.v < 0 ? -1 : a.v == 0 ? 0 : a.v; return a; }
template <class T> FN T op_sign(T a) {
  return a > T(0) ? T(1) : a < T(0) ? T(-1) : a == T(0) ? T(0) : a;
}

// the larger and the smaller one
template <class T> FN T op_maximum(T a, T b) {
  return op_isnan(a) || op_greater_equal(a, b) ? a : b;
}
template <class T> FN T op_minimum(T a, T b) { return op_isnan(a) || op_less_equal(a, b) ? a : b; }
template <class T> FN T op_fmax(T a, T b) { return op_isnan(b) || op_greater_equal(a, b) ? a : b; }
template <class T> FN T op_fmin(T a, T b) { return op_isnan(b) || op_less_equal(a, b) ? a : b; }
template <class T> FN T op_clip(T a, T low, T high) {
  T x = op_isnan(a) || op_greater(a, low) ? a : low;
  return op_isnan(x) || op_less(x, high) ? x : high;
}
FN f2 op_clip(f2 a, f2 low, f2 high) {
  f2 x = op_isnan(a) || a.v >= low.v ? a : low;
  return op_isnan(x) || x.v <= high.v ? x : high;
}

// truth and bits
template <class T> FN b1 truth(T a) { return as<b1>::from(a); }
template <class T> FN b1 op_logical_not(T a) { return !truth(a); }
template <class T> FN b1 op_logical_and(T a, T b) { return truth(a) && truth(b); }
template <class T> FN b1 op_logical_or(T a, T b) { return truth(a) || truth(b); }
template <class T> FN b1 op_logical_xor(T a, T b) { return truth(a) != truth(b); }
template <class T> FN T op_bitwise_and(T a, T b) { return (T)(a & b); }
template <class T> FN T op_bitwise_or(T a, T b) { return (T)(a | b); }
template <class T> FN T op_bitwise_xor(T a, T b) { return (T)(a ^ b); }
FN b1 op_invert(b1 a) { return !a; }
template <class T> FN T op_invert(T a) { return (T)~a; }
template <class T> FN T op_left_shift(T a, T b) {
  return (u8)b < sizeof(T) * 8 ? (T)((W)a << (i4)b) : T(0);
}
template <class T> FN T op_right_shift(T a, T b) {
  return (u8)b < sizeof(T) * 8 ? (T)(a >> (i4)b) : a < T(0) ? T(-1) : T(0);
}
template <class T> FN u1 op_bitwise_count(T a) {
  u8 x = (u8)(W)op_absolute(a); u1 n = 0;
  if (sizeof(T) < 4) x &= (1ull << (sizeof(T) * 8 & 63)) - 1;
  for (; x; x &= x - 1) n++;
  return n;
}

// division of integers
template <class T> FN T op_floor_divide(T a, T b) {
  if (b == T(0)) return T(0);
  if (kind<T>::is_signed && b == T(-1)) return op_negative(a);
  T q = (T)(a / b);
  return (T)(q * b) != a && (a < T(0)) != (b < T(0)) ? (T)(q - 1) : q;
}
template <class T> FN T op_fmod(T a, T b) {
  return b == T(0) || (kind<T>::is_signed && b == T(-1)) ? T(0) : (T)(a % b);
}
template <class T> FN T op_remainder(T a, T b) {
  T r = op_fmod(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? (T)(r + b) : r;
}
template <class T> FN T op_power(T a, T b) {
  W base = (W)a, r = 1;
  for (u8 n = (u8)b; n; n >>= 1) { if (n & 1) r *= base; base *= base; }
  return (T)r;
}
template <class T> FN T op_gcd(T a, T b) {
  a = op_absolute(a); b = op_absolute(b);
  W x = (W)a, y = (W)b;
  while (y) { W z = x % y; x = y; y = z; }
  return (T)x;
}
template <class T> FN T op_lcm(T a, T b) {
  W g = (W)op_gcd(a, b);
  return g ? (T)((W)op_absolute(a) / g * (W)op_absolute(b)) : T(0);
}
"""

FLOATS = r"""
#define ONE(name, f, d) \
  FN f4 op_##name(f4 a) { return f(a); } \
  FN f8 op_##name(f8 a) { return d(a); } \
  FN f2 op_##name(f2 a) { return f2(f(a.v)); }
#define TWO(name, f, d) \
  FN f4 op_##name(f4 a, f4 b) { return f(a, b); } \
  FN f8 op_##name(f8 a, f8 b) { return d(a, b); } \
  FN f2 op_##name(f2 a, f2 b) { return f2(f(a.v, b.v)); }
ONE(sqrt, sqrtf, sqrt) ONE(cbrt, cbrtf, cbrt)
ONE(exp, expf, exp) ONE(exp2, exp2f, exp2) ONE(expm1, expm1f, expm1)
ONE(log, logf, log) ONE(log2, log2f, log2) ONE(log10, log10f, log10) ONE(log1p, log1pf, log1p)
ONE(sin, sinf, sin) ONE(cos, cosf, cos) ONE(tan, tanf, tan)
ONE(arcsin, asinf, asin) ONE(arccos, acosf, acos) ONE(arctan, atanf, atan)
ONE(sinh, sinhf, sinh) ONE(cosh, coshf, cosh) ONE(tanh, tanhf, tanh)
ONE(arcsinh, asinhf, asinh) ONE(arccosh, acoshf, acosh) ONE(arctanh, atanhf, atanh)
ONE(rint, rintf, rint)
TWO(arctan2, atan2f, atan2) TWO(hypot, hypotf, hypot) TWO(copysign, copysignf, copysign)
TWO(power, powf, pow) TWO(float_power, powf, pow) TWO(fmod, fmodf, fmod)
#define ROUND(name, f, d) ONE(name, f, d) template <class T> FN T op_##name(T a) { return a; }
ROUND(floor, floorf, floor) ROUND(ceil, ceilf, ceil) ROUND(trunc, truncf, trunc)
FN f4 degrees_(f4 a) { return a * (180.0f / 3.141592653589793238462643383279502884f); }
FN f8 degrees_(f8 a) { return a * (180.0 / 3.141592653589793238462643383279502884); }
FN f4 radians_(f4 a) { return a * (3.141592653589793238462643383279502884f / 180.0f); }
FN f8 radians_(f8 a) { return a * (3.141592653589793238462643383279502884 / 180.0); }
ONE(degrees, degrees_, degrees_) ONE(rad2deg, degrees_, degrees_)
ONE(radians, radians_, radians_) ONE(deg2rad, radians_, radians_)
FN f2 op_nextafter(f2 a, f2 b) {
  if (a.v != a.v || b.v != b.v) return half_of((u2)0x7e00);
  if (a.v == b.v) return EQUAL_OF_HALVES;
  u2 h = half_bits(a.v);
  if (!(h & 0x7fffu)) return half_of((u2)((half_bits(b.v) & 0x8000u) | 1));
  return half_of((u2)((a.v < b.v) == (a.v > 0) ? h + 1 : h - 1));
}
FN f4 op_nextafter(f4 a, f4 b) { return nextafterf(a, b); }
FN f8 op_nextafter(f8 a, f8 b) { return nextafter(a, b); }
FN f4 op_spacing(f4 a) { return op_isinf(a) ? NAN_4 : nextafterf(a, a < 0 ? -INF_4 : INF_4) - a; }
FN f8 op_spacing(f8 a) { return op_isinf(a) ? NAN_8 : nextafter(a, a < 0 ? -INF_8 : INF_8) - a; }
FN f2 op_spacing(f2 a) {
  f2 end; end.v = INF_4;
  return op_isinf(a) ? half_of((u2)0x7e00) : f2(op_nextafter(a, end).v - a.v);
}

// what NumPy has of its own
template <class T> FN T mod_of(T a, T b, T* div) {
  T mod = op_fmod(a, b);
  if (b == T(0)) { *div = a / b; return mod; }
  *div = (a - mod) / b;
  if (mod != T(0)) {
    if ((b < T(0)) != (mod < T(0))) { mod += b; *div -= T(1); }
  } else mod = op_copysign(T(0), b);
  if (*div != T(0)) {
    T down = op_floor(*div);
    if (*div - down > T(0.5)) down += T(1);
    *div = down;
  } else *div = op_copysign(T(0), a / b);
  return mod;
}
FN f4 op_remainder(f4 a, f4 b) { f4 d; return mod_of(a, b, &d); }
FN f8 op_remainder(f8 a, f8 b) { f8 d; return mod_of(a, b, &d); }
FN f2 op_remainder(f2 a, f2 b) { return f2(op_remainder(a.v, b.v)); }
FN f4 op_floor_divide(f4 a, f4 b) { f4 d; if (b == 0) return a / b; mod_of(a, b, &d); return d; }
FN f8 op_floor_divide(f8 a, f8 b) { f8 d; if (b == 0) return a / b; mod_of(a, b, &d); return d; }
FN f2 op_floor_divide(f2 a, f2 b) { return f2(op_floor_divide(a.v, b.v)); }
template <class T> FN T op_divmod(T a, T b) { return op_floor_divide(a, b); }
template <class T> FN T op_divmod_1(T a, T b) { return op_remainder(a, b); }
template <class T> FN T step_of(T x, T half) {
  return op_isnan(x) ? x : x == T(0) ? half : x < T(0) ? T(0) : T(1);
}
TWO(heaviside, step_of, step_of)
FN f4 log_sum(f4 a, f4 b) {
  if (a == b) return a + 0.693147180559945309417232121458176568f;
  f4 t = a - b;
  return t > 0 ? a + log1pf(expf(-t)) : t <= 0 ? b + log1pf(expf(t)) : t;
}
FN f8 log_sum(f8 a, f8 b) {
  if (a == b) return a + 0.693147180559945309417232121458176568;
  f8 t = a - b;
  return t > 0 ? a + log1p(exp(-t)) : t <= 0 ? b + log1p(exp(t)) : t;
}
FN f4 log2_sum(f4 a, f4 b) {
  if (a == b) return a + 1;
  const f4 e = 1.442695040888963407359924681001892137f;
  f4 t = a - b;
  return t > 0 ? a + e * log1pf(exp2f(-t)) : t <= 0 ? b + e * log1pf(exp2f(t)) : t;
}
FN f8 log2_sum(f8 a, f8 b) {
  if (a == b) return a + 1;
  const f8 e = 1.442695040888963407359924681001892137;
  f8 t = a - b;
  return t > 0 ? a + e * log1p(exp2(-t)) : t <= 0 ? b + e * log1p(exp2(t)) : t;
}
TWO(logaddexp, log_sum, log_sum) TWO(logaddexp2, log2_sum, log2_sum)
FN i4 within(i8 n) { return n > 100000 ? 100000 : n < -100000 ? -100000 : (i4)n; }
template <class I> FN f4 op_ldexp(f4 a, I n) { return ldexpf(a, within(n)); }
template <class I> FN f8 op_ldexp(f8 a, I n) { return ldexp(a, within(n)); }
template <class I> FN f2 op_ldexp(f2 a, I n) { return f2(ldexpf(a.v, within(n))); }
FN f4 op_frexp(f4 a) { i4 n; return op_isfinite(a) ? frexpf(a, &n) : a; }
FN f8 op_frexp(f8 a) { i4 n; return op_isfinite(a) ? frexp(a, &n) : a; }
FN f2 op_frexp(f2 a) { return f2(op_frexp(a.v)); }
FN i4 op_frexp_1(f4 a) { i4 n = 0; if (op_isfinite(a)) frexpf(a, &n); return n; }
FN i4 op_frexp_1(f8 a) { i4 n = 0; if (op_isfinite(a)) frexp(a, &n); return n; }
FN i4 op_frexp_1(f2 a) { return op_frexp_1(a.v); }
FN f4 part_(f4 a) { return copysignf(op_isinf(a) ? 0.0f : a - truncf(a), a); }
FN f8 part_(f8 a) { return copysign(op_isinf(a) ? 0.0 : a - trunc(a), a); }
ONE(modf, part_, part_) ONE(modf_1, truncf, trunc)
""".replace("EQUAL_OF_HALVES", _EQUAL)

PICKS = r"""
template <class T> struct pick { T value; i8 index; };
template <class T> FN pick<T> at_index(T value, i8 index) {
  pick<T> p; p.value = value; p.index = index; return p;
}
template <class T> FN pick<T> better(bool b_wins, bool a_nan, bool b_nan, pick<T> a, pick<T> b) {
  bool earlier = b.index < a.index;
  if (a_nan || b_nan) return a_nan && b_nan ? (earlier ? b : a) : a_nan ? a : b;
  return b_wins ? b : a;
}
template <class T> FN pick<T> op_argmax(pick<T> a, pick<T> b) {
  bool more = op_greater(b.value, a.value) || (op_equal(b.value, a.value) && b.index < a.index);
  return better(more, op_isnan(a.value), op_isnan(b.value), a, b);
}
template <class T> FN pick<T> op_argmin(pick<T> a, pick<T> b) {
  bool less = op_less(b.value, a.value) || (op_equal(b.value, a.value) && b.index < a.index);
  return better(less, op_isnan(a.value), op_isnan(b.value), a, b);
}
"""

# what CUDA and the host's compiler spell in different ways
DIALECT = r"""
#ifndef FN_MEMBER
#define FN_MEMBER __device__ __forceinline__
#define FN_SPECIAL __device__ __forceinline__
#endif
"""


def header(*, complex_numbers: bool) -> str:
    """Return what stands before a kernel, with complex numbers where it has some."""
    parts = [DIALECT, TYPES, REAL, FLOATS]
    if complex_numbers:
        parts.append(COMPLEX)
    return "".join([*parts, PICKS, FAULTS])
