/* Rows of an array. Short ones beside one row, or beside an element for each (`x - x.mean(0)`, `p / p.sum(1)[:,
   None]`): NumPy calls its inner loop for each row. Here it is called for many rows at a time, beside as
   many copies of that row, or of each element, in a little memory that stays near. */

#include "loops.h"

#define MOST_IN_ROW 64 /* elements: with more, what comes with a call counts little */
#define MOST_COPIED 16 /* the same where each row or element has to be copied by itself */
#define FEWEST_ROWS 4
#define CHUNK 512      /* elements of the copies */
#define WIDEST 16      /* bytes of an element */

enum { AS_IT_LIES, APART, ONE_ROW, ONE_EACH, ONE_NUMBER, OTHERWISE };

/* How an operand lies beside rows of n elements. */
static int
kind_of(const Walked *x, npy_intp n, npy_intp bytes)
{
    npy_intp outer = x->steps[0], inner = x->steps[1];
    return inner == bytes && outer == n * bytes ? AS_IT_LIES
           : inner == bytes && outer == 0      ? ONE_ROW
           : inner == 0 && outer == 0          ? ONE_NUMBER
           : inner == 0                        ? ONE_EACH
           : inner == bytes                    ? APART
                                               : OTHERWISE;
}

int
are_short_rows(const Loop *loop, const npy_intp *shape, int axes, const Walked *walked, int count)
{
    npy_intp bytes = PyDataType_ELSIZE(loop->read), made = PyDataType_ELSIZE(loop->made);
    if (axes != 2 || !loop->is_steady || shape[1] > MOST_IN_ROW || shape[0] < FEWEST_ROWS ||
        bytes > WIDEST || kind_of(&walked[count - 1], shape[1], made) != AS_IT_LIES) {
        return 0;
    }
    for (int k = 0; k < count - 1; k++) {
        int kind = kind_of(&walked[k], shape[1], bytes);
        if (kind == OTHERWISE || ((kind == ONE_EACH || kind == APART) && shape[1] > MOST_COPIED)) {
            return 0;
        }
    }
    return 1;
}

/* Copy an element to each of n places, for so many elements. */
#define DEFINE_SPREAD(NAME, T)                                                                     \
    static void NAME(const char *from, npy_intp step, npy_intp rows, npy_intp n, char *to)         \
    {                                                                                              \
        T *out = (T *)to;                                                                          \
        for (npy_intp i = 0; i < rows; i++, from += step, out += n) {                              \
            T one;                                                                                 \
            memcpy(&one, from, sizeof one);                                                        \
            for (npy_intp j = 0; j < n; j++) {                                                     \
                out[j] = one;                                                                      \
            }                                                                                      \
        }                                                                                          \
    }

typedef struct {
    npy_uint64 low, high;
} Pair;

DEFINE_SPREAD(spread_bytes, npy_uint8)
DEFINE_SPREAD(spread_shorts, npy_uint16)
DEFINE_SPREAD(spread_words, npy_uint32)
DEFINE_SPREAD(spread_longs, npy_uint64)
DEFINE_SPREAD(spread_pairs, Pair)

static void
spread(const char *from, npy_intp step, npy_intp rows, npy_intp n, char *to, npy_intp bytes)
{
    switch (bytes) {
        case 1: spread_bytes(from, step, rows, n, to); break;
        case 2: spread_shorts(from, step, rows, n, to); break;
        case 4: spread_words(from, step, rows, n, to); break;
        case 8: spread_longs(from, step, rows, n, to); break;
        default: spread_pairs(from, step, rows, n, to); break;
    }
}

void
run_short_rows(const Loop *loop, const npy_intp *shape, const Walked *walked, int count)
{
    npy_uint64 copies[2][CHUNK * WIDEST / sizeof(npy_uint64)];
    npy_intp n = shape[1], bytes = PyDataType_ELSIZE(loop->read), made = PyDataType_ELSIZE(loop->made);
    npy_intp most = CHUNK / n, steps[3];
    int kinds[3];
    for (int k = 0; k < count; k++) {
        kinds[k] = k == count - 1 ? AS_IT_LIES : kind_of(&walked[k], n, bytes);
        steps[k] = k == count - 1 ? made : kinds[k] == ONE_NUMBER ? 0 : bytes;
        for (npy_intp i = 0; kinds[k] == ONE_ROW && i < most && i < shape[0]; i++) {
            memcpy((char *)copies[k] + i * n * bytes, walked[k].data, (size_t)(n * bytes));
        }
    }
    for (npy_intp row = 0; row < shape[0]; row += most) {
        npy_intp rows = row + most < shape[0] ? most : shape[0] - row, extent = rows * n;
        char *args[3];
        for (int k = 0; k < count; k++) {
            args[k] = kinds[k] == AS_IT_LIES || kinds[k] == ONE_NUMBER
                          ? walked[k].data + row * walked[k].steps[0]
                          : (char *)copies[k];
            for (npy_intp i = 0; kinds[k] == APART && i < rows; i++) {
                memcpy(args[k] + i * n * bytes, walked[k].data + (row + i) * walked[k].steps[0],
                       (size_t)(n * bytes));
            }
            if (kinds[k] == ONE_EACH) {
                spread(walked[k].data + row * walked[k].steps[0], walked[k].steps[0], rows, n, args[k],
                       bytes);
            }
        }
        loop->run(args, &extent, steps, loop->data);
    }
}

/* With as little as can be between the calls. */
void
run_rows(const Loop *loop, const npy_intp *shape, const Walked *walked, int count)
{
    const Walked *of[] = {&walked[0], &walked[1], &walked[count - 1]};
    npy_intp inner[] = {of[0]->steps[1], of[1]->steps[1], of[2]->steps[1]};
    char *row[] = {of[0]->data, of[1]->data, of[2]->data};
    for (npy_intp i = 0; i < shape[0]; i++) {
        char *args[] = {row[0], row[1], row[2]};
        npy_intp extent = shape[1];
        loop->run(args, &extent, inner, loop->data);
        for (int k = 0; k < 3; k++) {
            row[k] += of[k]->steps[0];
        }
    }
}

/* Whether an element's bits depend on what it is met beside: zeros of either sign, and exponents that are
   one number for all, of which NumPy takes a root. Which elements of a smaller operand NumPy's iterator
   puts side by side is its own business. */
int
is_met_beside(const char *name, int type)
{
    static const char *const beside[] = {"maximum", "minimum", "fmax", "fmin", "power", "float_power"};
    int found = 0;
    for (size_t k = 0; k < sizeof beside / sizeof *beside; k++) {
        found |= strcmp(name, beside[k]) == 0;
    }
    return found && !PyTypeNum_ISINTEGER(type);
}

/* Whether an operand is smaller than the result along some of its axes. */
int
is_spread(const Walked *walked, int axes, int count)
{
    int found = 0;
    for (int k = 0; k < count; k++) {
        int steps = 0, none = 0;
        for (int j = 0; j < axes; j++) {
            none |= walked[k].steps[j] == 0;
            steps |= walked[k].steps[j] != 0;
        }
        found |= none && steps;
    }
    return found;
}
