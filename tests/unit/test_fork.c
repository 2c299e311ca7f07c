/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A handle in forked processes: fork(), _Fork() and raw clone(), from threads that are making ids.
 * Children report through shared memory and by how they end, because cmocka is the parent's. A
 * watchdog turns a deadlock into a failure. The big run is scaled by FIRN_TEST_SCALE: 10 is
 * the 10^8 ids that the promise is tested with. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "registry/session.h"
#include "world.h"

#if !FIRN_WITH_SQLITE

int main(void)
{
    (void)puts("this build has no SQLite registry: nothing to test");
    return 0;
}

#elif WORLD_TSAN

int main(void)
{
    (void)puts("ThreadSanitizer does not follow threads into forked children: nothing to test");
    return 0;
}

#else

#define PATH_SIZE      (2 * WORLD_PATHS)
#define URL_SIZE       (PATH_SIZE + 32)
#define WATCHDOG_S     100
#define SHORT_MS       INT64_C(300)
#define TINY_MS        INT64_C(20)
#define PATIENCE_NS    INT64_C(30000000000)
#define GOOD           0
#define FAMILY         6
#define FAMILY_IDS     (WORLD_ASAN ? 5000 : 50000)
#define STORM_FORKS    (WORLD_ASAN ? 40 : 200)
#define BIG_THREADS    8
#define BIG_FORKS      (WORLD_ASAN ? 100 : 1000)
#define BIG_IDS        (WORLD_ASAN ? 1e6 : 1e7)
#define BIG_CHILD_PART 4 /* of ten ids, the children make so many */
#define BIG_BATCH      512
/* t41w4s18: enough ids a millisecond that the layout is not what bounds the big run. */
#define WIDE_LAYOUT    "t41w4s18@2025-01-01"

static char folder[WORLD_PATHS];

/* How a child is made. */
enum way { FORK, BARE_FORK, CLONE, WAYS };

static const char *const way_names[WAYS] = {"fork()", "_Fork()", "clone()"};

static pid_t make_child(enum way way)
{
    switch (way) {
    case BARE_FORK:
        return _Fork();
    case CLONE:
        return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    default:
        return fork();
    }
}

static int outcome_of(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) != child) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

/* A registry that no test has used, and what parent and children tell each other. */
struct place {
    char path[PATH_SIZE];
    char url[URL_SIZE];
    firn_options options;
    firn_error error;
};

static void begin(struct place *place, int64_t window_ms, const char *layout)
{
    static unsigned number;
    firn_registry *registry;
    firn_realm realm = firn_realm_default();
    memset(place, 0, sizeof *place);
    (void)snprintf(place->path, sizeof place->path, "%s/fork-%u.db", folder, number++);
    (void)snprintf(place->url, sizeof place->url, "sqlite:%s", place->path);
    place->options = firn_options_default();
    place->options.timeout_ms = 20000;
    place->options.vmclock_path = NULL;
    place->options.error_out = &place->error;
    realm.window_ms = window_ms;
    (void)snprintf(realm.layout, sizeof realm.layout, "%s", layout);
    assert_int_equal(firn_registry_open(place->url, 20000, &registry, &place->error), FIRN_OK);
    assert_int_equal(firn_registry_create(registry, &realm, &place->error), FIRN_OK);
    firn_registry_close(registry);
}

static firn *open_place(struct place *place)
{
    firn *ids = NULL;
    const int status = firn_open(place->url, &place->options, &ids);
    if (status < 0) {
        print_message("%s\n", place->error.text);
    }
    assert_int_equal(status, FIRN_OK);
    return ids;
}

static firn_state state_of(firn *ids)
{
    firn_state state;
    assert_int_equal(firn_state_get(ids, &state), FIRN_OK);
    return state;
}

static uint64_t one_id(firn *ids)
{
    uint64_t id;
    assert_int_equal(firn_wait(ids, PATIENCE_NS, &id), FIRN_OK);
    return id;
}

static int compare_ids(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void assert_distinct(uint64_t *made, size_t count)
{
    qsort(made, count, sizeof *made, compare_ids);
    for (size_t i = 0; i < count; i++) {
        assert_true(made[i] != 0);
        assert_true(i == 0 || made[i] != made[i - 1]);
    }
}

/* The kernel of this machine cannot wipe memory at fork: what then? */

static bool without_wipe;

/* In place of the C library's. */
int madvise(void *at, size_t size, int advice)
{
    if (without_wipe && advice == MADV_WIPEONFORK) {
        return -1;
    }
    return (int)syscall(SYS_madvise, at, size, advice);
}

/* The first test: the library asks the kernel once a process. */
static void runs_are_refused_where_memory_cannot_be_wiped_at_fork(void **state)
{
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static firn_generator generator;
        firn_layout layout;
        firn_run run;
        without_wipe = true;
        if (firn_layout_parse(FIRN_LAYOUT_DEFAULT, &layout, NULL) != FIRN_OK ||
            firn_generator_init(&generator, &layout, 1, NULL, NULL) != FIRN_OK) {
            _exit(1);
        }
        _exit(firn_run_init(&run, &generator) == FIRN_E_UNSUPPORTED ? GOOD : 2);
    }
    assert_int_equal(outcome_of(child), GOOD);
}

/* Makes ids; nothing here may allocate, because a bare clone of a process with threads cannot. */
static int fill(firn *ids, uint64_t *made, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int status;
        do {
            status = firn_next(ids, &made[i]);
        } while (status == FIRN_E_SEQUENCE_FULL || status == FIRN_E_CLOCK_WAIT);
        if (status != FIRN_OK) {
            return -status;
        }
    }
    return GOOD;
}

static void parent_and_children_share_one_lease(void **state)
{
    (void)state;
    for (enum way way = FORK; way < WAYS; way++) {
        struct place place;
        pid_t children[FAMILY];
        const size_t count = (size_t)FAMILY_IDS;
        begin(&place, 60000, FIRN_LAYOUT_DEFAULT);
        firn *ids = open_place(&place);
        uint64_t *made = firn__memory_share((FAMILY + 1) * count * sizeof *made);
        assert_non_null(made);
        print_message("%s\n", way_names[way]);
        for (size_t i = 0; i < FAMILY; i++) {
            children[i] = make_child(way);
            assert_true(children[i] >= 0);
            if (children[i] == 0) {
                _exit(fill(ids, made + (i + 1) * count, count));
            }
        }
        assert_int_equal(fill(ids, made, count), GOOD);
        for (size_t i = 0; i < FAMILY; i++) {
            assert_int_equal(outcome_of(children[i]), GOOD);
        }
        firn_layout layout;
        firn_fields fields;
        assert_int_equal(firn_layout_get(ids, &layout), FIRN_OK);
        for (size_t i = 0; i < (FAMILY + 1) * count; i++) {
            assert_int_equal(firn_layout_decompose(&layout, made[i], &fields), FIRN_OK);
            assert_int_equal(fields.worker, state_of(ids).worker);
        }
        assert_int_equal(state_of(ids).statistics.made, (FAMILY + 1) * count);
        assert_distinct(made, (FAMILY + 1) * count);
        firn__memory_unshare(made, (FAMILY + 1) * count * sizeof *made);
        firn_close(ids);
    }
}

/* A child whose parent renews no more makes ids until the window ends, then takes a worker of its
 * own. What it does is told in told[0 …]: its first id, its last from the shared lease, its own. */
struct tale {
    uint64_t shared_id;
    uint64_t own_id;
    uint64_t shared_worker;
    uint64_t own_worker;
    uint64_t renewals;
};

static int outlive(firn *ids, struct tale *tale)
{
    firn_state now;
    const int64_t end_ns = firn__clock_monotonic_ns() + PATIENCE_NS;
    if (firn_wait(ids, PATIENCE_NS, &tale->shared_id) != FIRN_OK ||
        firn_state_get(ids, &now) != FIRN_OK || !now.leased) {
        return 1;
    }
    tale->shared_worker = now.worker;
    do {
        if (firn_wait(ids, PATIENCE_NS, &tale->own_id) != FIRN_OK ||
            firn_state_get(ids, &now) != FIRN_OK || firn__clock_monotonic_ns() > end_ns) {
            return 2;
        }
        firn__clock_sleep(MS_NS);
    } while (now.renewals == 0); /* its own; the number may well be the old one, free by then */
    tale->own_worker = now.worker;
    tale->renewals = now.renewals;
    return now.healthy && now.conflicts == 0 ? GOOD : 3;
}

/* What the parent does after its fork. */
enum fate { CLOSES, EXITS, STALLS, FATES };

static const char *const fate_names[FATES] = {"closes", "exits", "stops renewing"};

static int live_on(enum way way, firn *ids, struct tale *tale)
{
    if (way == FORK) {
        const int result = outlive(ids, tale);
        firn_close(ids);
        return result;
    }
    return outlive(ids, tale);
}

static void assert_outlived(enum way way, enum fate fate)
{
    struct place place;
    begin(&place, SHORT_MS, FIRN_LAYOUT_DEFAULT);
    struct tale *tale = firn__memory_share(sizeof *tale);
    assert_non_null(tale);
    print_message("%s, and the parent %s\n", way_names[way], fate_names[fate]);
    if (fate == EXITS) {
        /* The parent must not be this process; the child is adopted by nobody who waits. */
        int told[2];
        char byte = 1;
        assert_int_equal(pipe(told), 0);
        const pid_t parent = fork();
        assert_true(parent >= 0);
        if (parent == 0) {
            firn *ids = NULL;
            if (firn_open(place.url, &place.options, &ids) != FIRN_OK) {
                _exit(1);
            }
            if (make_child(way) == 0) {
                byte = (char)live_on(way, ids, tale);
                _exit(write(told[1], &byte, 1) == 1 ? 0 : 1);
            }
            _exit(GOOD);
        }
        assert_int_equal(outcome_of(parent), GOOD);
        (void)close(told[1]);
        assert_int_equal(read(told[0], &byte, 1), 1);
        (void)close(told[0]);
        assert_int_equal(byte, GOOD);
    } else {
        firn *ids = open_place(&place);
        const pid_t child = make_child(way);
        assert_true(child >= 0);
        if (child == 0) {
            _exit(live_on(way, ids, tale));
        }
        if (fate == CLOSES) {
            firn_close(ids);
        }
        assert_int_equal(outcome_of(child), GOOD);
        if (fate == STALLS) {
            firn_close(ids);
        }
    }
    assert_true(tale->own_id != tale->shared_id);
    assert_true(tale->renewals >= 1);
    firn__memory_unshare(tale, sizeof *tale);
}

static void a_child_that_outlives_its_parent_takes_a_lease_of_its_own(void **state)
{
    (void)state;
    for (enum way way = FORK; way < WAYS; way++) {
        for (enum fate fate = CLOSES; fate < FATES; fate++) {
            assert_outlived(way, fate);
        }
    }
}

static void a_grandchild_takes_a_lease_of_its_own_too(void **state)
{
    struct place place;
    (void)state;
    begin(&place, SHORT_MS, FIRN_LAYOUT_DEFAULT);
    firn *ids = open_place(&place);
    struct tale *tales = firn__memory_share(2 * sizeof *tales);
    assert_non_null(tales);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* First the child gets its own; then its child shares that, and outlives it. */
        int result = outlive(ids, &tales[0]);
        const pid_t grandchild = result == GOOD ? fork() : -1;
        if (grandchild == 0) {
            result = outlive(ids, &tales[1]);
            firn_close(ids);
            _exit(result);
        }
        result = grandchild < 0 ? 10 + result : outcome_of(grandchild);
        firn_close(ids);
        _exit(result);
    }
    assert_int_equal(outcome_of(child), GOOD);
    assert_true(tales[1].shared_worker == tales[0].own_worker);
    assert_true(tales[0].renewals >= 1 && tales[1].renewals >= 1);
    assert_true(tales[1].own_id != tales[0].own_id && tales[1].own_id != tales[1].shared_id);
    firn_close(ids);
    firn__memory_unshare(tales, 2 * sizeof *tales);
}

static void a_childs_close_leaves_the_parents_lease_alone(void **state)
{
    struct place place;
    firn_registry *registry;
    firn_worker worker;
    size_t count;
    (void)state;
    begin(&place, 60000, FIRN_LAYOUT_DEFAULT);
    place.options.renewal = FIRN_RENEWAL_THREAD;
    firn *ids = open_place(&place);
    const uint64_t first = one_id(ids);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        firn_close(ids);
        _exit(GOOD);
    }
    assert_int_equal(outcome_of(child), GOOD);
    assert_true(one_id(ids) > first);
    assert_int_equal(firn_registry_open(place.url, 20000, &registry, &place.error), FIRN_OK);
    assert_int_equal(firn_registry_workers(registry, 0, &worker, 1, &count, NULL), FIRN_OK);
    assert_int_equal(worker.released, 0);
    firn_registry_close(registry);
    assert_int_equal(firn_renew(ids), FIRN_OK);
    assert_int_equal(state_of(ids).conflicts, 0);
    firn_close(ids);
}

static void a_child_does_not_touch_its_parents_connection(void **state)
{
    struct place place;
    (void)state;
    begin(&place, SHORT_MS, FIRN_LAYOUT_DEFAULT);
    firn *ids = open_place(&place);
    const firn__session *parents = ids->session;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const firn__holder before = parents->holder;
        const int renewed = firn_renew(ids);
        const bool own = ids->session != parents && ids->session->holder.store != before.store;
        const bool untouched = memcmp(&parents->holder, &before, sizeof before) == 0;
        _exit(renewed == FIRN_OK && own && untouched ? GOOD : 1);
    }
    assert_int_equal(outcome_of(child), GOOD);
    assert_int_equal(firn_renew(ids), FIRN_OK);
    assert_int_equal(state_of(ids).conflicts, 0);
    firn_close(ids);
}

static void a_childs_copy_of_a_run_drops_what_it_holds(void **state)
{
    (void)state;
    for (enum way way = FORK; way < WAYS; way++) {
        struct place place;
        firn_run run = {.generator = NULL};
        const size_t count = 100;
        /* Ticks of a second, so that the run is still good when the child uses it. */
        begin(&place, 60000, "t33w10s12/1s@2025-01-01");
        firn *ids = open_place(&place);
        uint64_t *made = firn__memory_share(2 * count * sizeof *made);
        assert_non_null(made);
        assert_int_equal(firn_next_run(ids, &run, &made[0]), FIRN_OK);
        const pid_t child = make_child(way);
        assert_true(child >= 0);
        for (size_t i = child == 0 ? count : 1; i < (child == 0 ? 2 * count : count); i++) {
            if (firn_next_run(ids, &run, &made[i]) != FIRN_OK) {
                made[i] = 0;
            }
        }
        if (child == 0) {
            _exit(GOOD);
        }
        assert_int_equal(outcome_of(child), GOOD);
        assert_distinct(made, 2 * count);
        firn__memory_unshare(made, 2 * count * sizeof *made);
        firn_close(ids);
    }
}

static void a_quiesce_reaches_children_that_share_the_lease(void **state)
{
    struct place place;
    int gate[2];
    (void)state;
    begin(&place, 60000, FIRN_LAYOUT_DEFAULT);
    firn *ids = open_place(&place);
    assert_int_equal(pipe(gate), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char byte;
        uint64_t id;
        _exit(read(gate[0], &byte, 1) == 1 && firn_next(ids, &id) == FIRN_E_QUIESCED ? GOOD : 1);
    }
    assert_int_equal(firn_quiesce(ids), FIRN_OK);
    assert_int_equal(write(gate[1], "x", 1), 1);
    assert_int_equal(outcome_of(child), GOOD);
    (void)close(gate[0]);
    (void)close(gate[1]);
    firn_close(ids);
}

static void a_quiesce_reaches_children_with_leases_of_their_own(void **state)
{
    struct place place;
    int ready[2];
    int gate[2];
    char byte;
    (void)state;
    begin(&place, 60000, FIRN_LAYOUT_DEFAULT);
    firn *ids = open_place(&place);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(gate), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t id;
        const bool own = firn_renew(ids) == FIRN_OK && firn_wait(ids, PATIENCE_NS, &id) == FIRN_OK;
        const bool told = write(ready[1], "x", 1) == 1 && read(gate[0], &byte, 1) == 1;
        _exit(own && told && firn_next(ids, &id) == FIRN_E_QUIESCED ? GOOD : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(firn_quiesce(ids), FIRN_OK);
    assert_int_equal(write(gate[1], "x", 1), 1);
    const int outcome = outcome_of(child);
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)close(gate[0]);
    (void)close(gate[1]);
    firn_close(ids);
    assert_int_equal(outcome, GOOD);
}

/* Forks while another thread uses the registry all the time. */

struct renewer {
    firn *ids;
    pthread_t thread;
    uint64_t stop;
    uint64_t renewals;
    int failure;
};

static void *renew_always(void *context)
{
    struct renewer *renewer = context;
    while (firn__load(&renewer->stop) == 0 && renewer->failure == FIRN_OK) {
        renewer->failure = firn_renew(renewer->ids);
        renewer->renewals++;
    }
    return NULL;
}

static void forks_during_renewals_never_deadlock(void **state)
{
    struct place place;
    (void)state;
    begin(&place, TINY_MS, FIRN_LAYOUT_DEFAULT);
    struct renewer renewer = {.ids = open_place(&place)};
    assert_int_equal(pthread_create(&renewer.thread, NULL, renew_always, &renewer), 0);
    for (int i = 0; i < STORM_FORKS; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            uint64_t id;
            (void)alarm(WATCHDOG_S / 2); /* ends this child alone */
            /* Every other one needs the registry itself, and so does its own child. */
            const int renewed = i % 2 == 0 ? firn_renew(renewer.ids) : FIRN_OK;
            const pid_t grandchild = i % 8 == 0 ? fork() : -1;
            if (grandchild == 0) {
                _exit(firn_renew(renewer.ids) == FIRN_OK ? GOOD : 3);
            }
            const int below = grandchild > 0 ? outcome_of(grandchild) : GOOD;
            const int status = i % 2 == 0 ? FIRN_OK : firn_wait(renewer.ids, PATIENCE_NS, &id);
            firn_close(renewer.ids);
            _exit(renewed == FIRN_OK && status == FIRN_OK && below == GOOD ? GOOD : 4);
        }
        assert_int_equal(outcome_of(child), GOOD);
    }
    firn__store(&renewer.stop, 1);
    assert_int_equal(pthread_join(renewer.thread, NULL), 0);
    assert_int_equal(renewer.failure, FIRN_OK);
    print_message("%d forks during %" PRIu64 " renewals\n", STORM_FORKS, renewer.renewals);
    assert_true(renewer.renewals > 10);
    firn_close(renewer.ids);
}

/* A child that was cloned in the middle of its parent's use of the registry stamps what is left of
 * the window, and then refuses: the libraries below may hold locks that nobody will release. */
static void a_clone_in_the_middle_of_a_registry_call_is_said(void **state)
{
    struct place place;
    uint64_t refused = 0;
    (void)state;
    begin(&place, TINY_MS, FIRN_LAYOUT_DEFAULT);
    struct renewer renewer = {.ids = open_place(&place)};
    firn__session *session = renewer.ids->session;
    assert_int_equal(pthread_create(&renewer.thread, NULL, renew_always, &renewer), 0);
    const int64_t end_ns = firn__clock_monotonic_ns() + PATIENCE_NS;
    while (refused == 0 && firn__clock_monotonic_ns() < end_ns) {
        while (firn__load(&session->in_use) == 0) {
        }
        const pid_t child = make_child(CLONE);
        assert_true(child >= 0);
        if (child == 0) {
            firn_state now;
            if (firn__load(&session->in_use) == 0) {
                _exit(GOOD); /* it came too late */
            }
            const int renewed = firn_renew(renewer.ids);
            (void)firn_state_get(renewer.ids, &now);
            _exit(renewed == FIRN_E_FORK && now.reason == FIRN_E_FORK && !now.healthy ? 1 : 2);
        }
        const int outcome = outcome_of(child);
        assert_true(outcome == GOOD || outcome == 1);
        refused += outcome == 1;
    }
    firn__store(&renewer.stop, 1);
    assert_int_equal(pthread_join(renewer.thread, NULL), 0);
    assert_int_equal(renewer.failure, FIRN_OK);
    assert_true(refused >= 1);
    firn_close(renewer.ids);
}

/* The big run. Ids are gathered in one shared array; each batch has a place of its own in it. */

struct big {
    firn *ids;
    uint64_t *made;
    uint64_t total;
    uint64_t *taken; /* shared: how much of the array is given out */
    uint64_t *forks; /* shared */
    uint64_t children;
    uint64_t child_ids;
};

/* Makes a batch in its place. Allocates nothing: it also runs in bare clones. */
static int make_batch(const struct big *big, uint64_t count)
{
    const uint64_t at = firn__fetch_add(big->taken, count);
    size_t made = 0;
    if (at + count > big->total) {
        return GOOD; /* the array is full */
    }
    const int status = firn_wait_many(big->ids, PATIENCE_NS, big->made + at, count, &made);
    return status == FIRN_OK && made == count ? GOOD : -status;
}

static int make_in_child(const struct big *big)
{
    int result = GOOD;
    for (uint64_t left = big->child_ids; left > 0 && result == GOOD;) {
        const uint64_t count = left < BIG_BATCH ? left : BIG_BATCH;
        result = make_batch(big, count);
        left -= count;
    }
    return result;
}

struct big_thread {
    const struct big *big;
    pthread_t thread;
    uint64_t way;
    int failure;
};

static void *make_and_fork(void *context)
{
    struct big_thread *self = context;
    const struct big *big = self->big;
    const uint64_t between = big->total / big->children;
    while (self->failure == GOOD && firn__load(big->taken) < big->total) {
        self->failure = make_batch(big, BIG_BATCH);
        const uint64_t due = firn__load(big->taken) / between;
        uint64_t forks = firn__load(big->forks);
        if (self->failure != GOOD || forks >= big->children || forks > due ||
            !firn__compare_swap(big->forks, &forks, forks + 1)) {
            continue;
        }
        const pid_t child = make_child((enum way)(self->way++ % WAYS));
        if (child == 0) {
            _exit(make_in_child(big));
        }
        self->failure = child < 0 ? 250 : outcome_of(child);
    }
    return NULL;
}

static void a_thousand_forks_over_generating_threads_repeat_no_id(void **state)
{
    struct place place;
    struct big_thread threads[BIG_THREADS] = {{.failure = GOOD}};
    const double scale = world_scale();
    struct big big = {.total = (uint64_t)(BIG_IDS * scale), .children = BIG_FORKS};
    (void)state;
    begin(&place, 3600000, WIDE_LAYOUT);
    big.ids = open_place(&place);
    big.child_ids = big.total * BIG_CHILD_PART / 10 / big.children;
    big.made = firn__memory_share(big.total * sizeof *big.made);
    big.taken = firn__memory_share(2 * sizeof *big.taken);
    assert_non_null(big.made);
    assert_non_null(big.taken);
    big.forks = big.taken + 1;
    for (uint64_t i = 0; i < BIG_THREADS; i++) {
        threads[i].big = &big;
        threads[i].way = i;
        assert_int_equal(pthread_create(&threads[i].thread, NULL, make_and_fork, &threads[i]), 0);
    }
    for (size_t i = 0; i < BIG_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
        assert_int_equal(threads[i].failure, GOOD);
    }
    const uint64_t forks = firn__load(big.forks);
    /* The last batches may find too little room; their places stay empty. */
    qsort(big.made, big.total, sizeof *big.made, compare_ids);
    uint64_t empty = 0;
    uint64_t repeated = 0;
    for (uint64_t i = 0; i < big.total; i++) {
        empty += big.made[i] == 0;
        repeated += i > 0 && big.made[i] != 0 && big.made[i] == big.made[i - 1];
    }
    print_message("%" PRIu64 " ids, %" PRIu64 " forks, %" PRIu64 " repeated\n", big.total - empty,
                  forks, repeated);
    assert_int_equal(repeated, 0);
    assert_true(empty < BIG_BATCH);
    assert_true(forks >= big.children * 9 / 10);
    firn__memory_unshare(big.taken, 2 * sizeof *big.taken);
    firn__memory_unshare(big.made, big.total * sizeof *big.made);
    firn_close(big.ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_refused_where_memory_cannot_be_wiped_at_fork),
        cmocka_unit_test(parent_and_children_share_one_lease),
        cmocka_unit_test(a_child_that_outlives_its_parent_takes_a_lease_of_its_own),
        cmocka_unit_test(a_grandchild_takes_a_lease_of_its_own_too),
        cmocka_unit_test(a_childs_close_leaves_the_parents_lease_alone),
        cmocka_unit_test(a_child_does_not_touch_its_parents_connection),
        cmocka_unit_test(a_childs_copy_of_a_run_drops_what_it_holds),
        cmocka_unit_test(a_quiesce_reaches_children_that_share_the_lease),
        cmocka_unit_test(a_quiesce_reaches_children_with_leases_of_their_own),
        cmocka_unit_test(forks_during_renewals_never_deadlock),
        cmocka_unit_test(a_clone_in_the_middle_of_a_registry_call_is_said),
        cmocka_unit_test(a_thousand_forks_over_generating_threads_repeat_no_id),
    };
    (void)alarm((unsigned)(WATCHDOG_S * (world_scale() > 1 ? world_scale() : 1)));
    if (world_folder_begin(folder) < 0) {
        return 1;
    }
    const int failed = cmocka_run_group_tests_name("forks", tests, NULL, NULL);
    world_folder_end(folder);
    return failed;
}

#endif
