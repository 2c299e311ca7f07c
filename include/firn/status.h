/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * Statuses: what every function of firn returns, and how to say it to a person.
 *
 * A status is an int: 0 is good, a negative one failed and left its outputs untouched, a positive
 * one succeeded with a remark. The list below is the only one: the enum, the names, the sentences,
 * the hints and docs/statuses.md are made from it.
 *
 *     firn_layout layout;
 *     firn_error error;
 *     if (firn_layout_parse("t50w10s12", &layout, &error) < 0) {
 *         fprintf(stderr, "%s\n", error.text);
 *     }
 *
 * It does not log, and it keeps no "last error": what failed is told to the caller alone.
 */
#ifndef FIRN_STATUS_H
#define FIRN_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "firn/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number, sentence, hint) */
#define FIRN_STATUS_LIST(X)                                                                        \
    X(FIRN_OK, 0, "good", "nothing to do")                                                         \
    X(FIRN_R_NO_LEASE, 1, "the registry is open, but no worker is free yet",                       \
      "wait with firn_wait(), or look at who holds them with 'firn workers'")                      \
    X(FIRN_E_ARGUMENT, -1, "an argument is not allowed",                                           \
      "see the function's header block for what each argument may be")                             \
    X(FIRN_E_MEMORY, -2, "out of memory", "free some, or raise the process's limit")               \
    X(FIRN_E_BUFFER, -3, "the buffer is too small", "the function's header block says its size")   \
    X(FIRN_E_RANDOM, -4, "the kernel gave no random bytes", "check getrandom(2) in the sandbox")   \
    X(FIRN_E_UNSUPPORTED, -5, "this system cannot do that",                                        \
      "use Linux 4.14 or later, or do without the option")                                         \
    X(FIRN_E_LAYOUT_SYNTAX, -10, "the layout text is not understood",                              \
      "write it like t41w10s12@2025-01-01, or name a preset such as twitter")                      \
    X(FIRN_E_LAYOUT_BITS, -11, "the layout's fields do not fit in 64 bits",                        \
      "make a field narrower")                                                                     \
    X(FIRN_E_LAYOUT_TICK, -12, "the layout's tick is not allowed",                                 \
      "use whole microseconds, 1us to 1s, that divide one second evenly")                          \
    X(FIRN_E_LAYOUT_EPOCH, -13, "the layout's epoch is not allowed",                               \
      "use a date from 1970 up to now; as a number it is in Unix milliseconds")                    \
    X(FIRN_E_LAYOUT_LIFE, -14, "the layout's life is over, or nearly",                             \
      "take a later epoch or a wider time field")                                                  \
    X(FIRN_E_LAYOUT_DECODE, -15, "this layout can be read but not generated",                      \
      "choose a layout without unknown (x) bits")                                                  \
    X(FIRN_E_FIELD_RANGE, -16, "a field's value does not fit in the layout",                       \
      "see the layout's limits with 'firn layout'")                                                \
    X(FIRN_E_TIME_RANGE, -17, "the instant is outside the layout's life",                          \
      "see the layout's first and last instant with 'firn layout'")                                \
    X(FIRN_E_ID_RANGE, -18, "the layout cannot make this id",                                      \
      "try 'firn explain --all' to see which layouts can")                                         \
    X(FIRN_E_TEXT_LENGTH, -20, "the text has the wrong length",                                    \
      "see firn/codec.h for each form's length")                                                   \
    X(FIRN_E_TEXT_ALPHABET, -21, "the text has a character that its form does not use",            \
      "see firn/codec.h for each form's alphabet")                                                 \
    X(FIRN_E_TEXT_OVERFLOW, -22, "the text is above the largest 64-bit number",                    \
      "the largest id is 18446744073709551615")                                                    \
    X(FIRN_E_TIME_SYNTAX, -23, "the time is not understood",                                       \
      "write 2026-10-14T10:00:00.123Z, Unix milliseconds, 'now', or an offset such as -1h")        \
    X(FIRN_E_SEQUENCE_FULL, -30, "no id is left in this tick",                                     \
      "try again in the next tick, or use a function that waits")                                  \
    X(FIRN_E_CLOCK_WAIT, -31, "the clock is a little behind the last id",                          \
      "try again when it has caught up, or use a function that waits")                             \
    X(FIRN_E_CLOCK_BACK, -32, "the clock went back further than the options allow",                \
      "check time synchronisation with 'firn doctor'; ids go on when the clock has caught up")     \
    X(FIRN_E_CLOCK_EPOCH, -33, "the clock is before the layout's epoch", "set the clock")          \
    X(FIRN_E_LAYOUT_END, -34, "the layout has no ticks left",                                      \
      "move to a realm with a later epoch or a wider time field")                                  \
    X(FIRN_E_WINDOW, -35, "the lease's window is over", "renew it with firn_renew()")              \
    X(FIRN_E_RETIRED, -36, "the lease was given up", "take a new one with firn_renew()")           \
    X(FIRN_E_DEADLINE, -37, "no id could be made before the deadline",                             \
      "allow more time, or more workers")                                                          \
    X(FIRN_E_AHEAD, -38, "the id given is too far ahead of this clock",                            \
      "check both clocks, or raise after_max_ms")                                                  \
    X(FIRN_E_QUIESCED, -39, "the generator is quiesced", "call firn_resume() after the snapshot")  \
    X(FIRN_E_URL, -50, "the registry's URL is not understood",                                     \
      "write sqlite:/path/to/file, static:7?path=/path/to/file, or mem:name")                      \
    X(FIRN_E_BACKEND, -51, "this build has no such registry",                                      \
      "'firn doctor' lists the registries built in")                                               \
    X(FIRN_E_REGISTRY_MISSING, -52, "there is no registry there",                                  \
      "make one with 'firn init', or correct the path")                                            \
    X(FIRN_E_REGISTRY_FORMAT, -53, "that is not a firn registry",                                  \
      "correct the path; firn does not write into files it did not make")                          \
    X(FIRN_E_REGISTRY_NEWER, -54, "the registry was made by a newer firn",                         \
      "use that version of firn or a later one")                                                   \
    X(FIRN_E_REGISTRY_ACCESS, -55, "the registry cannot be opened or written",                     \
      "check the folder, its permissions and the disk")                                            \
    X(FIRN_E_REGISTRY_IO, -56, "the registry's storage failed",                                    \
      "check the disk: full, or failing; ids go on until the window ends")                         \
    X(FIRN_E_REGISTRY_BUSY, -57, "the registry did not answer in time",                            \
      "try again; many processes at once may be taking leases")                                    \
    X(FIRN_E_REGISTRY_NETWORK, -58, "the registry file lies on a network file system",             \
      "put it on a local disk: file locks and flushes cannot be trusted over a network")           \
    X(FIRN_E_REGISTRY_MOVED, -59, "the registry is not the one its realm was made in",             \
      "if no other copy is in use: firn workers adopt --reason \"…\"")                             \
    X(FIRN_E_REGISTRY_CORRUPT, -60, "a record that must exist is missing or damaged",              \
      "restore the registry, then: firn workers adopt --reason \"…\"")                             \
    X(FIRN_E_REGISTRY_UNSAFE, -61, "the registry accepted a write that it had to refuse",          \
      "do not use this store: it cannot compare and swap")                                         \
    X(FIRN_E_REALM_LAYOUT, -62, "the realm has another layout",                                    \
      "use the realm's layout, or another registry")                                               \
    X(FIRN_E_REALM_EXISTS, -63, "there is a realm already", "use it, or choose another path")      \
    X(FIRN_E_CLOCK_SKEW, -64, "this clock disagrees with the registry's",                          \
      "set the clock; see 'firn doctor'")                                                          \
    X(FIRN_E_WORKERS_BUSY, -65, "every worker is held",                                            \
      "see 'firn workers' for who holds them and until when, or use a layout with more")           \
    X(FIRN_E_WORKER_HELD, -66, "the worker asked for is held",                                     \
      "see 'firn workers' for who holds it and until when, or choose another")                     \
    X(FIRN_E_WORKER_TAKEN, -67, "another process has taken this worker",                           \
      "give each process its own worker number, or let the registry choose")                       \
    X(FIRN_E_CONFLICT, -68, "the stored record is not the one that was read", "read it again")     \
    X(FIRN_E_FORK, -69, "this process was cloned while its parent used the registry",              \
      "use fork() instead of _Fork() or clone(), or open the registry again after exec")           \
    X(FIRN_E_LEASES, -70, "this handle has lost too many leases", "close it and open it again")

typedef enum firn_status {
#define FIRN_STATUS_ENUM(name, number, sentence, hint) name = (number),
    FIRN_STATUS_LIST(FIRN_STATUS_ENUM)
#undef FIRN_STATUS_ENUM
        FIRN_STATUS_FORCE_INT = 0x7fffffff
} firn_status;

/* What went wrong, for a person. A value: copy it, keep it on the stack. */
typedef struct firn_error {
    int32_t status;   /* the status that the function returned */
    int32_t position; /* the offset in the text given, from 0; -1 when there is none */
    char text[496];   /* one line: what was wrong, which value, what is allowed, what to do */
} firn_error;

/*
 * The name of a status, such as "FIRN_E_WINDOW".
 *
 * Returns    a constant string; "FIRN_UNKNOWN" for a number that is no status.
 * Threads    safe.
 * Since      0.1
 */
FIRN_API const char *firn_status_name(int status);

/*
 * One sentence on a status, without a capital or a full stop.
 *
 * Returns    a constant string; "unknown status" for a number that is no status.
 * Threads    safe.
 * Since      0.1
 */
FIRN_API const char *firn_status_text(int status);

/*
 * What a person can do about a status.
 *
 * Returns    a constant string; "" for a number that is no status.
 * Threads    safe.
 * Since      0.1
 */
FIRN_API const char *firn_status_hint(int status);

/*
 * The statuses by index, for tables and bindings.
 *
 * index      from 0; firn_status_at(0) is FIRN_OK.
 * status_out [1] the status.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        index is past the last status
 * Threads    safe.
 * Since      0.1
 */
FIRN_API int firn_status_at(size_t index, int *status_out);

/*
 * The version of the library that runs, such as "0.1.0"; FIRN_VERSION is the header's.
 *
 * Returns    a constant string.
 * Threads    safe.
 * Since      0.1
 */
FIRN_API const char *firn_version(void);

#ifdef __cplusplus
}
#endif

#endif
