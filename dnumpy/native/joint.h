/* A compiled kernel's rows, in batches that threads draw. */

#ifndef DNUMPY_JOINT_H
#define DNUMPY_JOINT_H

#include <fenv.h>

#include "crew.h"
#include "interrupts.h"

#define FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

#define WHOLE (-2) /* the place of a stride, of an operand of which all rows read the same */

typedef int (*Code)(void *, void *, npy_int64, npy_int64, npy_int64);

typedef struct {
    npy_int64 at, stride, first; /* the place in a frame, the bytes of a tile, the first tile's */
} Partial;

typedef struct {
    Code code;
    npy_int64 *fields[MOST_CREW], *noted[MOST_CREW]; /* a frame for each thread */
    Partial partials[MOST_ARGUMENTS];                /* outputs whose address moves on with the batches */
    int count;                                       /* of these */
    npy_int64 rows, batch, tile;
    int64_t next, members; /* counters */
    int raised;
    volatile int stopped;
    Alert alert;
} Joint;

/* Run all rows; the flags that the code raised, -1 with an error, which a signal's handler raised. */
int run_joint(Joint *joint, int threads);

#endif
