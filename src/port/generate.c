/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* Generators with a clock: the functions of firn/generator.h that read one, wait, or keep a run.
 * What an id is, is src/core's. */
#include "port/generate.h"

int firn__generate_batch(firn_generator *gen, const firn__environment *env, uint64_t count,
                         firn_batch *batch_out)
{
    for (;;) {
        const uint64_t word = firn__load(&gen->word);
        const int64_t now_ns = firn__real_ns(env);
        if (now_ns < gen->epoch_ns) {
            return FIRN_E_CLOCK_EPOCH;
        }
        const int status = firn__generator_take(gen, word, firn__generator_tick(gen, now_ns), count,
                                                false, batch_out);
        if (status != FIRN__STALE) {
            return status;
        }
    }
}

int firn_generator_next(firn_generator *gen, uint64_t *id_out)
{
    if (!firn__generator_ready(gen) || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    return firn__generate_one(gen, NULL, id_out);
}

void firn__generate_fill(const firn_batch *batch, uint64_t *ids_out)
{
    for (uint64_t i = 0; i < batch->count; i++) {
        ids_out[i] = batch->first + i * batch->stride;
    }
}

int firn_generator_next_many(firn_generator *gen, uint64_t *ids_out, size_t count, size_t *made_out)
{
    if (!firn__generator_ready(gen) || ids_out == NULL || made_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    if (count == 0) {
        *made_out = 0;
        return FIRN_OK;
    }
    firn_batch batch;
    const int status = firn__generate_batch(gen, NULL, count, &batch);
    if (status == FIRN_OK) {
        firn__generate_fill(&batch, ids_out);
        *made_out = (size_t)batch.count;
    }
    return status;
}

int firn__generate_wait(firn_generator *gen, const firn__environment *env, int64_t deadline_ns)
{
    int64_t at_ns;
    (void)firn_generator_retry_at_ns(gen, &at_ns);
    if (firn__wait_until(env, at_ns, deadline_ns) < 0) {
        return FIRN_E_DEADLINE;
    }
    firn__count_add(&gen->waits, 1);
    return FIRN_OK;
}

/* The time runs from the first wait on: calls that need none read no second clock. */
static int wait_for_tick(firn_generator *gen, int64_t timeout_ns, int64_t *deadline_ns)
{
    if (*deadline_ns == 0) {
        *deadline_ns = firn__deadline_ns(NULL, timeout_ns);
    }
    return firn__generate_wait(gen, NULL, *deadline_ns);
}

int firn_generator_wait(firn_generator *gen, int64_t timeout_ns, uint64_t *id_out)
{
    int64_t deadline_ns = 0;
    for (;;) {
        int status = firn_generator_next(gen, id_out);
        if (firn__generate_worth_waiting(status)) {
            status = wait_for_tick(gen, timeout_ns, &deadline_ns);
            if (status == FIRN_OK) {
                continue;
            }
        }
        return status;
    }
}

int firn_generator_wait_many(firn_generator *gen, int64_t timeout_ns, uint64_t *ids_out,
                             size_t count, size_t *made_out)
{
    if (!firn__generator_ready(gen) || ids_out == NULL || made_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    int64_t deadline_ns = 0;
    size_t made = 0;
    int status = FIRN_OK;
    while (status == FIRN_OK && made < count) {
        size_t some = 0;
        status = firn_generator_next_many(gen, ids_out + made, count - made, &some);
        made += some;
        if (firn__generate_worth_waiting(status)) {
            status = wait_for_tick(gen, timeout_ns, &deadline_ns);
        }
    }
    *made_out = made;
    return status;
}

int firn_run_init(firn_run *run, firn_generator *gen)
{
    if (run == NULL || !firn__generator_ready(gen)) {
        return FIRN_E_ARGUMENT;
    }
    const uint64_t mark = firn__memory_fork_mark();
    if (mark == 0) {
        return FIRN_E_UNSUPPORTED;
    }
    *run =
        (firn_run){.generator = gen, .fork_mark = mark, .coarse = gen->clock == FIRN_CLOCK_COARSE};
    return FIRN_OK;
}

static int take_run(firn_generator *gen, const firn__environment *env, firn_batch *batch_out)
{
    if (gen->clock == FIRN_CLOCK_COARSE && env == NULL) {
        const uint64_t word = firn__load(&gen->word);
        uint64_t tick;
        if (firn__coarse_tick(gen, word, &tick) &&
            firn__generator_take(gen, word, tick, FIRN__RUN_IDS, false, batch_out) == FIRN_OK) {
            return FIRN_OK;
        }
    }
    return firn__generate_batch(gen, env, FIRN__RUN_IDS, batch_out);
}

int firn__generate_refill(firn_run *run, const firn__environment *env, uint64_t *id_out)
{
    firn_batch batch;
    const firn_generator *gen = run->generator;
    run->left = 0;
    const int status = take_run(run->generator, env, &batch);
    if (status == FIRN_OK) {
        const uint64_t lag_ns = firn__coarse_lag(gen) * gen->tick_ns;
        const uint64_t tick = batch.first >> gen->time_shift;
        run->from_ns = gen->epoch_ns + (int64_t)(tick * gen->tick_ns - lag_ns);
        run->span_ns = gen->tick_ns + lag_ns;
        run->next = batch.first + batch.stride;
        run->stride = batch.stride;
        run->left = batch.count - 1;
        *id_out = batch.first;
    }
    return status;
}

int firn_run_next(firn_run *run, uint64_t *id_out)
{
    if (run == NULL || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    if (firn__generate_run(run, NULL, id_out)) {
        return FIRN_OK;
    }
    const int status = firn_run_init(run, run->generator);
    return status < 0 ? status : firn__generate_refill(run, NULL, id_out);
}
