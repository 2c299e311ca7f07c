/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Causal order: a reply's id is greater than the id of what it replies to, though another generator
 * made that one in the same millisecond. Usage: order [REGISTRY] */
#include <inttypes.h>
#include <stdio.h>

#include <firn/firn.h>

#define SECOND_NS 1000000000

int main(int count, char **arguments)
{
    const char *registry = count > 1 ? arguments[1] : "sqlite:example.db";
    firn *writers = NULL;
    firn *repliers = NULL;
    firn_options options = firn_options_default();
    options.create = 1;
    int failed = 1;
    if (firn_open(registry, &options, &writers) >= 0 &&
        firn_open(registry, &options, &repliers) >= 0) {
        uint64_t message;
        uint64_t reply;
        if (firn_wait(writers, SECOND_NS, &message) == FIRN_OK &&
            firn_next_after(repliers, message, &reply) == FIRN_OK) {
            (void)printf("message %" PRIu64 "\nreply   %" PRIu64 "\n", message, reply);
            failed = reply <= message;
        }
    }
    firn_close(repliers);
    firn_close(writers);
    return failed;
}
