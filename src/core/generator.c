/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A generator: the step, made to happen in one compare-and-swap, and the counters beside it. Clocks
 * and waiting are src/port's; which worker and which window, src/registry's. */
#include "core/generator.h"

#include <string.h>

#include "core/error.h"

#define RANDOM_BITS_MIN     5
#define BACK_MAX_DEFAULT_MS 10
#define NO_TICK             UINT64_MAX
/* CLOCK_REALTIME_COARSE moves with the kernel's timer, 100 times a second or more. */
#define COARSE_LAG_NS 10000000

_Static_assert(sizeof(firn_generator) <= 256, "a generator fits in four cache lines");
_Static_assert(FIRN__SECOND_NS < INT64_C(1) << 30, "a tick has at most 30 bits of nanoseconds");

void firn_generator_options_fill(firn_generator_options *options, size_t options_size)
{
    const firn_generator_options defaults = {
        .size = options_size,
        .start_ms = INT64_MIN,
        .end_ms = INT64_MAX,
        .back_max_ms = BACK_MAX_DEFAULT_MS,
    };
    /* A caller built against an older header has a shorter struct. */
    memcpy(options, &defaults, options_size < sizeof defaults ? options_size : sizeof defaults);
}

/* With magic = ceil(2^k / tick) and k = 63 + ceil(log2(tick)), the quotient is exact below 2^63:
 * the error magic * tick - 2^k is below tick <= 2^(k - 63). */
static void set_tick_magic(firn_generator *gen)
{
    __extension__ typedef unsigned __int128 wide;
    unsigned bits = 0;
    while (UINT64_C(1) << bits < gen->tick_ns) {
        bits++;
    }
    const wide power = (wide)1 << (63 + bits);
    gen->tick_magic = (uint64_t)((power + gen->tick_ns - 1) / gen->tick_ns);
    gen->tick_magic_shift = (uint8_t)(bits - 1);
}

static bool has_room_for_threads(const firn_layout *layout)
{
    const unsigned word_shift = 64U - layout->time_bits;
    return firn__mask(word_shift) - firn__mask(layout->sequence_bits) >= FIRN__THREADS_MAX;
}

static firn_rules make_rules(const firn_layout *layout, const firn_generator_options *options)
{
    const uint64_t tick_us = (uint64_t)layout->tick_ns / 1000;
    const uint64_t back_max_us = (uint64_t)options->back_max_ms * 1000;
    return (firn_rules){
        .sequence_last = firn__mask(layout->sequence_bits),
        .back_max_ticks = (back_max_us + tick_us - 1) / tick_us,
        .tick_last = firn__tick_last(layout),
        .start_mask = firn__mask(layout->sequence_bits) >> 4,
        .seed = options->sequence_seed,
        .word_shift = (uint8_t)(64 - layout->time_bits),
        .on_clock_back = (uint8_t)options->on_clock_back,
        .sequence_start = (uint8_t)options->sequence_start,
        /* The other policies look at more than the word: see is_closed(). */
        .additive = has_room_for_threads(layout) && options->on_clock_back == FIRN_BACK_CONTINUE,
    };
}

static int check_options(const firn_layout *layout, uint32_t worker,
                         const firn_generator_options *options, firn_error *error_out)
{
    if (layout->time_bits == 0 || layout->tick_ns < FIRN__TICK_MIN_NS) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "the layout was not made by firn_layout_parse()");
    }
    if (layout->unknown_bits != 0) {
        return firn__error(error_out, FIRN_E_LAYOUT_DECODE, FIRN__NO_POSITION, NULL);
    }
    if (worker > firn__mask(firn__worker_number_bits(layout))) {
        return firn__error(error_out, FIRN_E_FIELD_RANGE, FIRN__NO_POSITION,
                           "worker %u: the layout has workers 0 to %u", worker,
                           (unsigned)firn__mask(firn__worker_number_bits(layout)));
    }
    if (options->back_max_ms < 0 || options->back_max_ms > INT64_MAX / 1000000 ||
        options->on_clock_back < FIRN_BACK_CONTINUE || options->on_clock_back > FIRN_BACK_REFUSE ||
        options->sequence_start < FIRN_START_ZERO || options->sequence_start > FIRN_START_CARRIED ||
        options->clock < FIRN_CLOCK_PRECISE || options->clock > FIRN_CLOCK_COARSE) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "generator options: a negative or huge back_max_ms, or an unknown "
                           "on_clock_back, sequence_start or clock");
    }
    if (options->sequence_start != FIRN_START_ZERO && layout->sequence_bits < RANDOM_BITS_MIN) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION,
                           "a random or carried sequence start needs a layout with 32 ids a tick "
                           "or more; this one has %u",
                           1U << layout->sequence_bits);
    }
    return FIRN_OK;
}

/* The options as this library knows them: members that a caller's older struct lacks get their
 * defaults. */
static int read_options(const firn_generator_options *given, firn_generator_options *options)
{
    *options = firn_generator_options_default();
    if (given == NULL) {
        return FIRN_OK;
    }
    if (given->size < sizeof given->size || given->size > sizeof *options) {
        return FIRN_E_ARGUMENT;
    }
    memcpy(options, given, given->size);
    return FIRN_OK;
}

/* The word before the first id: the tick before the window, full. */
static uint64_t first_word(const firn_generator *gen)
{
    return (gen->start_tick - 1) << gen->rules.word_shift | gen->rules.sequence_last;
}

int firn_generator_init(firn_generator *gen, const firn_layout *layout, uint32_t worker,
                        const firn_generator_options *options, firn_error *error_out)
{
    firn_generator_options known;
    if (gen == NULL || layout == NULL || (uintptr_t)gen % 64 != 0 ||
        read_options(options, &known) < 0) {
        return firn__error(error_out, FIRN_E_ARGUMENT, FIRN__NO_POSITION, NULL);
    }
    const int status = check_options(layout, worker, &known, error_out);
    if (status < 0) {
        return status;
    }
    const uint64_t end_tick = firn__tick_until_ms(layout, known.end_ms);
    /* The first word says "all before the window is used"; so an epoch's first tick never is. */
    uint64_t start_tick = firn__tick_from_ms(layout, known.start_ms);
    start_tick = start_tick == 0 ? 1 : start_tick;
    if (start_tick >= end_tick) {
        return firn__error(error_out, FIRN_E_TIME_RANGE, FIRN__NO_POSITION,
                           "the window from %lld to %lld ms holds no whole tick of the layout",
                           (long long)known.start_ms, (long long)known.end_ms);
    }
    const firn_rules rules = make_rules(layout, &known);
    memset(gen, 0, sizeof *gen);
    gen->epoch_ns = layout->epoch_ms * 1000000;
    gen->worker_bits = firn__worker_place(layout, worker);
    gen->tick_ns = (uint64_t)layout->tick_ns;
    gen->worker = worker;
    gen->time_shift = layout->time_shift;
    gen->sequence_shift = layout->sequence_shift;
    gen->clock = (uint8_t)known.clock;
    gen->coarse_ticks =
        known.clock == FIRN_CLOCK_COARSE ? COARSE_LAG_NS / (uint64_t)layout->tick_ns + 1 : 0;
    gen->start_tick = start_tick;
    gen->rules = rules;
    gen->word = first_word(gen);
    gen->end_tick = end_tick;
    gen->back_tick = NO_TICK;
    /* The first word counts as a full tick; see firn_generator_statistics(). */
    gen->made = 0 - (rules.sequence_last + 1);
    gen->full_ticks = 0 - UINT64_C(1);
    set_tick_magic(gen);
    gen->magic = FIRN__GENERATOR_MAGIC;
    return FIRN_OK;
}

void firn__generator_skip(firn_generator *gen, uint64_t tick)
{
    if (tick > gen->start_tick && tick <= gen->rules.tick_last) {
        gen->start_tick = tick;
        gen->word = first_word(gen);
    }
}

/* How many sequence numbers up to and with the word's. */
static uint64_t used(const firn_rules *rules, uint64_t word)
{
    return rules->sequence_last + 1 - firn__word_left(rules, word);
}

/* What the counters owe when the word leaves its tick for one that starts at start. */
static void count_tick(firn_generator *gen, uint64_t old, uint64_t start)
{
    firn__count_add(&gen->made, used(&gen->rules, old) - start);
    if (firn__word_left(&gen->rules, old) == 0) {
        firn__count_add(&gen->full_ticks, 1);
    }
}

/* A step back is seen by many calls; it counts once for each tick that it holds up. */
static void count_back(firn_generator *gen, uint64_t word, uint64_t back_ticks)
{
    if (firn__count_change(&gen->back_tick, firn__word_tick(&gen->rules, word))) {
        firn__count_add(&gen->back_count, 1);
    }
    firn__count_raise(&gen->back_max_ns, back_ticks > UINT64_MAX / gen->tick_ns
                                             ? UINT64_MAX
                                             : back_ticks * gen->tick_ns);
}

/* With `wait` and `refuse` a tick that the clock was seen behind gives no more ids: the next one is the
 * first of a later tick. */
static bool is_closed(const firn_generator *gen, uint64_t word, uint64_t now_tick)
{
    return gen->rules.on_clock_back != FIRN_BACK_CONTINUE &&
           now_tick == firn__word_tick(&gen->rules, word) &&
           now_tick == firn__count_read(&gen->back_tick);
}

int firn__generator_take(firn_generator *gen, uint64_t word, uint64_t now_tick, uint64_t want,
                         bool given, firn_batch *batch_out)
{
    const firn_rules *rules = &gen->rules;
    bool certain = true;
    for (;;) {
        firn__step_result step;
        const uint64_t start = firn__step_start(rules, word, now_tick);
        const int status =
            firn__step(rules, word, now_tick, firn__load(&gen->end_tick), want, start, &step);
        if (step.back_ticks != 0 && !certain && !given) {
            return FIRN__STALE;
        }
        if (step.back_ticks != 0) {
            count_back(gen, word, step.back_ticks);
        }
        if (status != FIRN_OK) {
            return status;
        }
        if (is_closed(gen, word, now_tick)) {
            return rules->on_clock_back == FIRN_BACK_WAIT ? FIRN_E_CLOCK_WAIT : FIRN_E_CLOCK_BACK;
        }
        const uint64_t old = word;
        if (firn__compare_swap(&gen->word, &word, step.word)) {
            if (step.fresh) {
                count_tick(gen, old, step.sequence);
            }
            *batch_out = (firn_batch){
                .first = firn__generator_id(gen, step.tick, step.sequence),
                .stride = UINT64_C(1) << gen->sequence_shift,
                .count = step.count,
            };
            return FIRN_OK;
        }
        /* This word is younger than the clock reading. */
        certain = false;
    }
}

int firn_generator_try_at(firn_generator *gen, int64_t now_ns, uint64_t count,
                          firn_batch *batch_out)
{
    if (!firn__generator_ready(gen) || count == 0 || batch_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    if (now_ns < gen->epoch_ns) {
        return FIRN_E_CLOCK_EPOCH;
    }
    return firn__generator_take(gen, firn__load(&gen->word), firn__generator_tick(gen, now_ns),
                                count, true, batch_out);
}

int firn_generator_next_at(firn_generator *gen, int64_t now_ns, uint64_t *id_out)
{
    if (!firn__generator_ready(gen) || id_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    return firn__generator_one(gen, firn__load(&gen->word), now_ns, true, id_out);
}

int firn_generator_retry_at_ns(const firn_generator *gen, int64_t *at_ns_out)
{
    if (!firn__generator_ready(gen) || at_ns_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    const uint64_t tick = firn__word_tick(&gen->rules, firn__load(&gen->word));
    const uint64_t room_ns = (uint64_t)(INT64_MAX - gen->epoch_ns);
    *at_ns_out = tick >= gen->rules.tick_last || tick + 1 > room_ns / gen->tick_ns
                     ? INT64_MAX
                     : gen->epoch_ns + (int64_t)((tick + 1) * gen->tick_ns);
    return FIRN_OK;
}

int firn_generator_extend(firn_generator *gen, int64_t end_ms)
{
    if (!firn__generator_ready(gen)) {
        return FIRN_E_ARGUMENT;
    }
    const firn_layout layout = {
        .epoch_ms = gen->epoch_ns / 1000000,
        .tick_ns = (int64_t)gen->tick_ns,
        .time_bits = (uint8_t)(64 - gen->rules.word_shift),
    };
    const uint64_t end_tick = firn__tick_until_ms(&layout, end_ms);
    uint64_t old = firn__load(&gen->end_tick);
    while (old < end_tick && !firn__compare_swap(&gen->end_tick, &old, end_tick)) {
    }
    return firn__word_is_final(&gen->rules, firn__load(&gen->word)) ? FIRN_E_RETIRED : FIRN_OK;
}

int firn_generator_retire(firn_generator *gen)
{
    if (!firn__generator_ready(gen)) {
        return FIRN_E_ARGUMENT;
    }
    const firn_rules *rules = &gen->rules;
    uint64_t word = firn__load(&gen->word);
    firn__store(&gen->retired, 1);
    while (!firn__word_is_final(rules, word)) {
        /* Before the swap: who sees a final word must find the last id's. It only grows. */
        firn__count_raise(&gen->last_word, word + 1);
        if (firn__compare_swap(&gen->word, &word, firn__word_final(rules))) {
            count_tick(gen, word, rules->sequence_last + 1);
            firn__count_add(&gen->full_ticks, 0 - UINT64_C(1));
        }
    }
    return FIRN_OK;
}

uint64_t firn__generator_last_word(const firn_generator *gen)
{
    const uint64_t word = firn__load(&gen->word);
    const uint64_t last = firn__load(&gen->last_word);
    return firn__word_is_final(&gen->rules, word) && last != 0 ? last - 1 : word;
}

/* Whoever moves the word counts the old tick a moment later; until then the sum is short by it. */
static uint64_t not_negative(uint64_t count)
{
    return count > INT64_MAX ? 0 : count;
}

int firn_generator_statistics(const firn_generator *gen, firn_statistics *statistics_out)
{
    if (!firn__generator_ready(gen) || statistics_out == NULL) {
        return FIRN_E_ARGUMENT;
    }
    const uint64_t word = firn__load(&gen->word);
    const uint64_t made = not_negative(firn__count_read(&gen->made) + used(&gen->rules, word));
    const uint64_t last = firn__generator_last_word(gen);
    const uint64_t last_tick = firn__word_tick(&gen->rules, last);
    *statistics_out = (firn_statistics){
        .made = made,
        .waits = firn__count_read(&gen->waits),
        .full_ticks = not_negative(firn__count_read(&gen->full_ticks) +
                                   (firn__word_left(&gen->rules, word) == 0)),
        .back_count = firn__count_read(&gen->back_count),
        .back_max_ns = firn__count_read(&gen->back_max_ns),
        .last_us = last == first_word(gen)
                       ? INT64_MIN
                       : gen->epoch_ns / 1000 + (int64_t)(last_tick * (gen->tick_ns / 1000)),
    };
    return FIRN_OK;
}
