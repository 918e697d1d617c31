/* Turns: who tries when to get a processor, by the rules of LogGOPSim (loggopsim.c). */
#include "run.h"

static inline int64_t new_number(Turns *turns) { return turns->numbers++; }

/* --- The heap of turns --- */

static inline int turn_is_sooner(const Turn *one, const Turn *other) {
    return one->time_s < other->time_s || (one->time_s == other->time_s && one->number < other->number);
}

/* An operation or a message will try to begin. */
static void add_turn(Turns *turns, double time_s, int64_t number, int64_t item) {
    Turn turn = {time_s, number, item};
    int64_t place = turns->size++;
    for (; place > 0; place = (place - 1) / 2) {
        if (!turn_is_sooner(&turn, &turns->heap[(place - 1) / 2])) break;
        turns->heap[place] = turns->heap[(place - 1) / 2];
    }
    turns->heap[place] = turn;
}

/* The first turn has come. */
static void remove_first(Turns *turns) {
    Turn *heap = turns->heap;
    int64_t last = --turns->size, place = 0, below = 1;
    while (below < last) {
        if (below + 1 < last && turn_is_sooner(&heap[below + 1], &heap[below])) below++;
        if (turn_is_sooner(&heap[last], &heap[below])) break;
        heap[place] = heap[below];
        place = below;
        below = 2 * place + 1;
    }
    heap[place] = heap[last];
}

/* --- Lines: heaps by number --- */

/* The first of a line tries then, or when that is known, if `time_s` is infinity. */
static inline void try_at(Turns *turns, int64_t item, double time_s) {
    turns->next_try_s[item] = time_s;
    if (time_s < INFINITE_S) add_turn(turns, time_s, turns->item_number[item], item);
}

/* Two heaps as one; its root has the smaller number. */
static inline int32_t melded_items(Turns *turns, int32_t one, int32_t other) {
    if (turns->item_number[other] < turns->item_number[one]) {
        int32_t first = other;
        other = one;
        one = first;
    }
    turns->sibling[other] = turns->child[one];
    turns->child[one] = other;
    return one;
}

/* An item waits with others. */
static inline void join_line(Turns *turns, int64_t line, int32_t item, int64_t number) {
    int32_t first = turns->first[line];
    turns->item_number[item] = number;
    turns->child[item] = turns->sibling[item] = NONE;
    turns->first[line] = first == NONE ? item : melded_items(turns, first, item);
}

/* The first of a line leaves it: its children are melded in pairs, these from the last to the first. */
static void leave_line(Turns *turns, int64_t line) {
    int32_t rest = turns->child[turns->first[line]], pairs = NONE, root = NONE;
    while (rest != NONE) {
        int32_t pair = rest, other = turns->sibling[rest];
        rest = other == NONE ? NONE : turns->sibling[other];
        if (other != NONE) pair = melded_items(turns, pair, other);
        turns->sibling[pair] = pairs;
        pairs = pair;
    }
    while (pairs != NONE) {
        int32_t following = turns->sibling[pairs];
        root = root == NONE ? pairs : melded_items(turns, root, pairs);
        pairs = following;
    }
    turns->first[line] = root;
}

/* --- Messages --- */

/* The first byte of a message will be there at `first_s`. */
static inline void first_byte_comes(Run *run, int64_t send, double first_s) {
    run->turns.first_s[send] = first_s;
    add_turn(&run->turns, first_s, run->turns.message_number[send], run->program.ops + send);
}

/* The last byte of a message that has passed stations will be there at `last_byte_s`. */
static inline void message_comes(Run *run, int64_t send, double last_byte_s) {
    double first_s = last_byte_s - run->rules.spread_s[send];
    first_byte_comes(run, send, later_of(run->turns.clock_s, first_s));
    run->turns.lag_s[send] = run->turns.first_s[send] - first_s;
}
