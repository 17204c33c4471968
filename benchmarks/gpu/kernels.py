"""The CUDA texts of the hand-fused rivals, as somebody who knows the device would write them.

Each reads what it needs once and writes its result once. Elementwise kernels and sums load 16 bytes
at a time; a row of a matrix waits in shared memory between its passes. Arithmetic is as CuPy
compiles it: IEEE functions, products and additions contracted.
"""

from __future__ import annotations

from dataclasses import dataclass

TEAM = 256  # threads of a block
PACK_BYTES = 16  # that a thread loads at a time where it can
RUN = 16  # rows of a plate that one thread goes down


@dataclass(frozen=True, slots=True)
class Source:
    """A text, the options that it is compiled with, and the kernels that it has."""

    text: str
    names: tuple[str, ...]
    options: tuple[str, ...] = ("--std=c++17",)

    def of(self, real: str) -> Source:
        """Return the text for ``float`` or ``double``."""
        return Source(self.text, self.names, (*self.options, f"-DREAL={real}"))


_GRID = (
    f"""
#define PACK_BYTES {PACK_BYTES}
#define PER ((int)(PACK_BYTES / sizeof(REAL)))
"""
    """
typedef long long Long;
struct __align__(PACK_BYTES) Pack { REAL v[PER]; };
#define FIRST ((Long)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((Long)gridDim.x * blockDim.x)
"""
)

BLACK_SCHOLES = Source(
    _GRID
    + """
__device__ REAL cdf(REAL x)
{
    const REAL t = REAL(1) / (REAL(1) + REAL(0.2316419) * fabs(x));
    REAL inner = REAL(-1.821255978) + REAL(1.330274429) * t;
    inner = REAL(-0.356563782) + t * (REAL(1.781477937) + t * inner);
    inner = t * (REAL(0.319381530) + t * inner);
    const REAL tail = exp(REAL(-0.5) * x * x) * REAL(0.3989422804014327) * inner;
    return x >= REAL(0) ? REAL(1) - tail : tail;
}

__device__ void price(REAL spot, REAL strike, REAL years, REAL& call, REAL& put)
{
    const REAL spread = REAL(0.25) * sqrt(years);
    const REAL d1 = (log(spot / strike) + REAL(0.03 + 0.5 * 0.25 * 0.25) * years) / spread;
    const REAL discounted = strike * exp(REAL(-0.03) * years);
    call = spot * cdf(d1) - discounted * cdf(d1 - spread);
    put = call - spot + discounted;
}

extern "C" __global__ void black_scholes(
    const REAL* __restrict__ spot, const REAL* __restrict__ strike,
    const REAL* __restrict__ years, REAL* __restrict__ call, REAL* __restrict__ put, Long n)
{
    const Long packs = n / PER;
    for (Long i = FIRST; i < packs; i += STEP) {
        const Pack s = ((const Pack*)spot)[i], k = ((const Pack*)strike)[i];
        const Pack y = ((const Pack*)years)[i];
        Pack c, p;
#pragma unroll
        for (int j = 0; j < PER; ++j) price(s.v[j], k.v[j], y.v[j], c.v[j], p.v[j]);
        ((Pack*)call)[i] = c;
        ((Pack*)put)[i] = p;
    }
    for (Long i = packs * PER + FIRST; i < n; i += STEP)
        price(spot[i], strike[i], years[i], call[i], put[i]);
}
""",
    ("black_scholes",),
)

# `out` holds 0 before; each block adds its part once.
FMA_SUM = Source(
    _GRID
    + """
extern "C" __global__ void fma_sum(
    const REAL* __restrict__ a, const REAL* __restrict__ b, const REAL* __restrict__ c,
    REAL* out, Long n)
{
    const Long packs = n / PER;
    REAL sums[PER] = {};
    for (Long i = FIRST; i < packs; i += STEP) {
        const Pack x = ((const Pack*)a)[i], y = ((const Pack*)b)[i], z = ((const Pack*)c)[i];
#pragma unroll
        for (int j = 0; j < PER; ++j) sums[j] += x.v[j] * y.v[j] + z.v[j];
    }
    REAL sum = 0;
#pragma unroll
    for (int j = 0; j < PER; ++j) sum += sums[j];
    for (Long i = packs * PER + FIRST; i < n; i += STEP) sum += a[i] * b[i] + c[i];
    __shared__ REAL parts[32];
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (int k = 1; k < blockDim.x / 32; ++k) sum += parts[k];
    atomicAdd(out, sum);
}
""",
    ("fma_sum",),
)

# A block has one row, whose elements each thread finds again where it put them.
ROWS = Source(
    """
struct Sum { __device__ REAL operator()(REAL a, REAL b) const { return a + b; } };
struct Max { __device__ REAL operator()(REAL a, REAL b) const { return a > b ? a : b; } };

template <class Op> __device__ REAL of_all(REAL x, Op op)
{
    __shared__ REAL parts[32];
    for (int o = 16; o; o >>= 1) x = op(x, __shfl_xor_sync(~0u, x, o));
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[0];
    for (int k = 1; k < blockDim.x / 32; ++k) x = op(x, parts[k]);
    return x;
}

extern __shared__ double memory[];
#define EACH(j) int j = threadIdx.x; j < columns; j += blockDim.x

extern "C" __global__ void normalise(
    const REAL* __restrict__ x, REAL* __restrict__ out, int columns)
{
    REAL* row = (REAL*)memory;
    const long long start = (long long)blockIdx.x * columns;
    REAL sum = 0, squares = 0;
    for (EACH(j)) sum += row[j] = x[start + j];
    const REAL mean = of_all(sum, Sum()) / columns;
    for (EACH(j)) { const REAL d = row[j] -= mean; squares += d * d; }
    const REAL spread = sqrt(of_all(squares, Sum()) / columns);
    for (EACH(j)) out[start + j] = row[j] / spread;
}

extern "C" __global__ void softmax(
    const REAL* __restrict__ x, REAL* __restrict__ out, int columns)
{
    REAL* row = (REAL*)memory;
    const long long start = (long long)blockIdx.x * columns;
    REAL most = x[start], sum = 0;
    for (EACH(j)) { const REAL v = row[j] = x[start + j]; most = v > most ? v : most; }
    most = of_all(most, Max());
    for (EACH(j)) sum += row[j] = exp(row[j] - most);
    sum = of_all(sum, Sum());
    for (EACH(j)) out[start + j] = row[j] / sum;
}
""",
    ("normalise", "softmax"),
)

# A thread goes down a column and keeps what is above, here and below.
JACOBI = Source(
    f"#define RUN {RUN}\n"
    """
extern "C" __global__ void jacobi(
    const REAL* __restrict__ plate, REAL* __restrict__ out, int rows, int columns)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * RUN;
    if (j >= columns) return;
    const int last = min(first + RUN, rows);
    const long long start = (long long)first * columns + j;
    const REAL* at = plate + start;
    REAL* to = out + start;
    const bool side = j == 0 || j == columns - 1;
    REAL above = first ? at[-columns] : REAL(0), here = *at;
#pragma unroll 4
    for (int i = first; i < last; ++i, at += columns, to += columns) {
        const REAL below = i + 1 < rows ? at[columns] : REAL(0);
        const bool fixed = side || i == 0 || i == rows - 1;
        *to = fixed ? here : REAL(0.25) * (above + below + at[-1] + at[1]);
        above = here;
        here = below;
    }
}
""",
    ("jacobi",),
).of("double")

LAYER = Source(
    """
extern "C" __global__ void bias_relu(REAL* h, const REAL* __restrict__ bias, int rows, int columns)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    const REAL b = bias[j];
    for (int i = blockIdx.y; i < rows; i += gridDim.y) {
        REAL& v = h[(long long)i * columns + j];
        const REAL w = v + b;
        v = w > REAL(0) ? w : REAL(0);
    }
}

extern "C" __global__ void bias_softmax(
    REAL* s, const REAL* __restrict__ bias, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    REAL* row = s + (long long)i * columns;
    REAL most = row[0] + bias[0], sum = 0;
    for (int j = 1; j < columns; ++j) most = row[j] + bias[j] > most ? row[j] + bias[j] : most;
    for (int j = 0; j < columns; ++j) sum += row[j] = exp(row[j] + bias[j] - most);
    for (int j = 0; j < columns; ++j) row[j] /= sum;
}
""",
    ("bias_relu", "bias_softmax"),
).of("float")

# Each warp has counters of its own in shared memory; `sums` holds 0 before, and after `move`.
KMEANS = Source(
    f"#define WARPS {TEAM // 32}\n"
    """
#define CENTRES 16
#define AXES 4
#define ROOM (CENTRES * (AXES + 1))

extern "C" __global__ void nearest(
    const double* __restrict__ points, const double* __restrict__ centres, double* sums,
    long long n)
{
    __shared__ double places[CENTRES * AXES], counters[WARPS * ROOM];
    for (int k = threadIdx.x; k < CENTRES * AXES; k += blockDim.x) places[k] = centres[k];
    for (int k = threadIdx.x; k < WARPS * ROOM; k += blockDim.x) counters[k] = 0;
    __syncthreads();
    double* mine = counters + threadIdx.x / 32 * ROOM;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const double2 left = ((const double2*)points)[2 * i];
        const double2 right = ((const double2*)points)[2 * i + 1];
        const double p[AXES] = {left.x, left.y, right.x, right.y};
        int label = 0;
        double least = 0;
#pragma unroll
        for (int c = 0; c < CENTRES; ++c) {
            double squared = 0;
#pragma unroll
            for (int a = 0; a < AXES; ++a) {
                const double d = p[a] - places[c * AXES + a];
                squared += d * d;
            }
            if (c == 0 || squared < least) { least = squared; label = c; }
        }
        double* counter = mine + label * (AXES + 1);
#pragma unroll
        for (int a = 0; a < AXES; ++a) atomicAdd(counter + a, p[a]);
        atomicAdd(counter + AXES, 1.0);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < ROOM; k += blockDim.x) {
        double sum = 0;
        for (int w = 0; w < WARPS; ++w) sum += counters[w * ROOM + k];
        atomicAdd(sums + k, sum);
    }
}

extern "C" __global__ void move(double* sums, double* __restrict__ centres)
{
    const int c = threadIdx.x / AXES, a = threadIdx.x % AXES;
    const double count = sums[c * (AXES + 1) + AXES], sum = sums[c * (AXES + 1) + a];
    __syncthreads();
    centres[threadIdx.x] = sum / (count > 1 ? count : 1.0);
    sums[c * (AXES + 1) + a] = 0;
    if (a == 0) sums[c * (AXES + 1) + AXES] = 0;
}
""",
    ("nearest", "move"),
)

MANDELBROT = Source(
    """
extern "C" __global__ void escape(
    const double2* __restrict__ points, long long* __restrict__ times, long long n, int most)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double2 c = points[i];
    double re = 0, im = 0;
    int k = 0;
    for (; k < most; ++k) {
        const double next = re * re - im * im + c.x;
        im = 2 * re * im + c.y;
        re = next;
        if (!(re * re + im * im <= 4.0)) break;
    }
    times[i] = k;
}
""",
    ("escape",),
)

SOURCES = (
    *[source.of(real) for source in (BLACK_SCHOLES, FMA_SUM, ROWS) for real in ("float", "double")],
    JACOBI,
    LAYER,
    KMEANS,
    MANDELBROT,
)
