/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A server that forks its workers: parent and children draw from one lease, and a child whose parent
 * is gone takes one of its own. Usage: fork [REGISTRY] */
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <firn/firn.h>

#define CHILDREN  4
#define SECOND_NS 1000000000

static int serve(firn *ids, int child)
{
    uint64_t id;
    const int status = firn_wait(ids, SECOND_NS, &id);
    if (status != FIRN_OK) {
        (void)fprintf(stderr, "%s\n", firn_status_text(status));
        return 1;
    }
    (void)printf("child %d: %" PRIu64 "\n", child, id);
    firn_close(ids); /* leaves the parent's lease alone */
    return 0;
}

int main(int count, char **arguments)
{
    firn *ids;
    firn_error error;
    firn_options options = firn_options_default();
    options.create = 1;
    options.renewal = FIRN_RENEWAL_THREAD;
    options.error_out = &error;
    if (firn_open(count > 1 ? arguments[1] : "sqlite:example.db", &options, &ids) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int failed = 0;
    for (int child = 0; child < CHILDREN; child++) {
        const pid_t pid = fork();
        if (pid == 0) {
            return serve(ids, child);
        }
        failed += pid < 0;
    }
    int result;
    while (wait(&result) > 0) {
        failed += result != 0;
    }
    firn_close(ids);
    return failed == 0 ? 0 : 1;
}
