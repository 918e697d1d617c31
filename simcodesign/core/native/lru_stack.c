/* An LRU stack from which the key at any depth is taken, and a random order of such depths: see lru_stack.py.

   A key moves from its slot to the next free one at each access. `taken` is a bitmap of the slots, LRU_BITS to a word;
   `below` is a Fenwick tree of the taken slots in these words, numbered from 1. */

#define LRU_BITS 32

struct lru_stack {
    int64_t *key, *taken, *below;
    int64_t slots, words, keys, next;
};
LAYOUT(lru_stack, PLACE(lru_stack, key), PLACE(lru_stack, taken), PLACE(lru_stack, below), PLACE(lru_stack, slots),
       PLACE(lru_stack, words), PLACE(lru_stack, keys), PLACE(lru_stack, next))

/* Take a slot (by = 1) or leave it (by = -1). */
static void lru_change(struct lru_stack *stack, int64_t slot, int64_t by) {
    int64_t place = slot / LRU_BITS;
    stack->taken[place] += by * ((int64_t)1 << slot % LRU_BITS);
    for (place++; place <= stack->words; place += place & -place) stack->below[place] += by;
}

/* Bits that are set, of LRU_BITS: summed in pairs, in fours, and then in bytes. */
static int64_t lru_ones(int64_t word) {
    word -= word >> 1 & 0x55555555;
    word = (word & 0x33333333) + (word >> 2 & 0x33333333);
    word = (word + (word >> 4)) & 0x0F0F0F0F;
    return (word * 0x01010101 >> 24) & 0xFF;
}

/* The slot taken before all but `rank` - 1 others. */
static int64_t lru_slot_of(const struct lru_stack *stack, int64_t rank) {
    int64_t place = 0, step = 1;
    while (2 * step <= stack->words) step *= 2;
    for (; step; step /= 2) {
        if (place + step <= stack->words && stack->below[place + step] < rank) {
            place += step;
            rank -= stack->below[place];
        }
    }
    int64_t word = stack->taken[place];
    while (--rank > 0) word &= word - 1;
    return place * LRU_BITS + lru_ones((word & -word) - 1);
}

/* Let the keys have the first slots, in the same order. */
static void lru_move_together(struct lru_stack *stack) {
    int64_t free = 0;
    for (int64_t slot = 0; slot < stack->slots; slot++)
        if (stack->taken[slot / LRU_BITS] >> slot % LRU_BITS & 1) stack->key[free++] = stack->key[slot];
    stack->next = free;
    for (int64_t place = 0; place <= stack->words; place++) stack->below[place] = 0;
    for (int64_t word = 0; word < stack->words; word++) {
        int64_t here = free - word * LRU_BITS;
        here = here < 0 ? 0 : here > LRU_BITS ? LRU_BITS : here;
        stack->taken[word] = ((int64_t)1 << here) - 1;
        const int64_t place = word + 1, parent = place + (place & -place);
        stack->below[place] += here;
        if (parent <= stack->words) stack->below[parent] += stack->below[place];
    }
}

static int64_t lru_touched(struct lru_stack *stack, int64_t distance) {
    if (distance == 0) return stack->key[stack->next - 1];
    if (stack->next == stack->slots) lru_move_together(stack);
    int64_t key;
    if (distance < 0) {
        key = stack->keys++;
    } else {
        const int64_t slot = lru_slot_of(stack, stack->keys - distance);
        key = stack->key[slot];
        lru_change(stack, slot, -1);
    }
    stack->key[stack->next] = key;
    lru_change(stack, stack->next++, 1);
    return key;
}

EXPORTED void lru_touch(struct lru_stack *stack, const int64_t *distances, int64_t *keys, int64_t count);
void lru_touch(struct lru_stack *stack, const int64_t *distances, int64_t *keys, int64_t count) {
    for (int64_t place = 0; place < count; place++) keys[place] = lru_touched(stack, distances[place]);
}

EXPORTED int64_t lru_shuffle(int64_t *draws, const double *chances, int64_t count, int64_t depth);
int64_t lru_shuffle(int64_t *draws, const double *chances, int64_t count, int64_t depth) {
    int64_t allowed = 0;
    for (int64_t place = 0; place < count; place++) {
        while (allowed < count && draws[allowed] < depth) allowed++;
        if (allowed == place) return place;
        const int64_t chosen = place + (int64_t)(chances[place] * (double)(allowed - place));
        const int64_t distance = draws[chosen];
        draws[chosen] = draws[place];
        draws[place] = distance;
        depth += distance < 0;
    }
    return count;
}
