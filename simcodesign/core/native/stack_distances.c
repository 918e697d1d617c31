/* Stack and reuse distances, and dirty intervals: see slots.py, keys.py, engine.py, reuse.py and writebacks.py.

   Live slots are bits of words; above them are counts of blocks of 8 words, four to a word, and a Fenwick tree of supers
   of 64 blocks. A hash table with open addressing gives the page of a key. No loop enlarges an array: it returns. */

/* log2 of slots in a word, a block, a word of counts and a super. */
enum { WORD = 6, BLOCK = 9, COUNTS = 11, SUPER = 15 };
#define SUPER_SLOTS ((uint64_t)1 << SUPER)
#define NO_ROOM UINT64_MAX

struct stack_slots {
    uint64_t *words;  /* a bit for each slot */
    uint64_t *counts; /* 16 bits for each block */
    uint64_t *supers; /* Fenwick tree of the supers before the current one */
    uint64_t n_words, n_supers;
    /* Of the last access to another block: a slot that was live, the live ones above it; a super whose count has to be
       lowered, and by what. */
    uint64_t mark, above, late_super, late;
};
LAYOUT(stack_slots, PLACE(stack_slots, words), PLACE(stack_slots, counts), PLACE(stack_slots, supers),
       PLACE(stack_slots, n_words), PLACE(stack_slots, n_supers), PLACE(stack_slots, mark), PLACE(stack_slots, above),
       PLACE(stack_slots, late_super), PLACE(stack_slots, late))

struct stack_keys {
    uint32_t *slot;   /* entries of a counter of stack distances; other entries are in `entry` */
    uint64_t *entry;
    uint64_t *table; /* number of a page among all, and 1 + number of its stretch of entries; 0 for none */
    uint64_t places, page_bits, table_bits, max_pages, pages;
};
LAYOUT(stack_keys, PLACE(stack_keys, slot), PLACE(stack_keys, entry), PLACE(stack_keys, table),
       PLACE(stack_keys, places), PLACE(stack_keys, page_bits), PLACE(stack_keys, table_bits),
       PLACE(stack_keys, max_pages), PLACE(stack_keys, pages))

/* Bits that are set; compilers make a single instruction of it where there is one. */
static inline uint64_t ones(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return word * 0x0101010101010101u >> 56;
}

static inline uint64_t one_in_counts(uint64_t slot) { return (uint64_t)1 << ((slot >> BLOCK & 3) << 4); }

/* Make a slot live. */
static inline void use(struct stack_slots *slots, uint64_t slot) {
    slots->words[slot >> WORD] |= (uint64_t)1 << (slot & 63);
    slots->counts[slot >> COUNTS] += one_in_counts(slot);
}

/* Count more live slots in a super; negative numbers are those below 2^64. */
static void raise_count(struct stack_slots *slots, uint64_t number, uint64_t change) {
    for (uint64_t place = number + 1; place < slots->n_supers; place += place & (~place + 1))
        slots->supers[place] += change;
}

/* Live slots of supers 0 to `number`, which is before the current one. */
static uint64_t up_to(const struct stack_slots *slots, uint64_t number) {
    uint64_t live = 0;
    for (uint64_t place = number + 1; place > 0; place &= place - 1) live += slots->supers[place];
    return number >= slots->late_super ? live - slots->late : live;
}

/* Count one live slot less in a super. The tree learns of it when another super is next. */
static void lower(struct stack_slots *slots, uint64_t number) {
    if (number != slots->late_super) {
        raise_count(slots, slots->late_super, ~slots->late + 1);
        slots->late_super = number;
        slots->late = 0;
    }
    slots->late++;
}

/* Live slots above a live one of an earlier block: of its word, its block, its super, and of later supers. */
static inline uint64_t live_above(const struct stack_slots *slots, uint64_t slot, uint64_t top, uint64_t live) {
    uint64_t place = slot >> WORD, above = ones(slots->words[place] >> (slot & 63)) - 1;
    for (uint64_t last = place++ | 7; place <= last; place++) above += ones(slots->words[place]);
    place = slot >> COUNTS;
    uint64_t lanes = slots->counts[place] >> ((slot >> BLOCK & 3) << 4) >> 16;
    uint64_t last = place | 15;
    if (top >> COUNTS < last) last = top >> COUNTS;
    for (place++; place <= last; place++) lanes += slots->counts[place];
    above += lanes * 0x0001000100010001u >> 48;
    return slot >> SUPER != top >> SUPER ? above + live - up_to(slots, slot >> SUPER) : above;
}

/* Free a live slot of the block in which `top`, the next one to use, is; return the number of live ones above it. */
static inline uint64_t take_near(struct stack_slots *slots, uint64_t slot, uint64_t top) {
    uint64_t place = slot >> WORD;
    const uint64_t word = slots->words[place], bit = slot & 63;
    slots->words[place] = word & ~((uint64_t)1 << bit);
    slots->counts[slot >> COUNTS] -= one_in_counts(slot);
    uint64_t above = ones(word >> bit) - 1;
    for (place++; place <= top >> WORD; place++) above += ones(slots->words[place]);
    return above;
}

/* Free a live slot of an earlier block; return the number of live ones above it. If no live slot lies between it and the
   slot last taken here, the number is known: loops over arrays return to their elements in the order of before. */
static inline uint64_t take_far(struct stack_slots *slots, uint64_t slot, uint64_t top, uint64_t live) {
    const uint64_t place = slot >> WORD, bit = slot & 63, word = slots->words[place], mark = slots->mark;
    const uint64_t below = word & (((uint64_t)1 << bit) - 1);
    uint64_t above;
    if (slot > mark && place == mark >> WORD && below >> (mark & 63) == 0) {
        above = slots->above - 1;
    } else {
        above = live_above(slots, slot, top, live);
        slots->above = above + 1;
    }
    slots->mark = slot;
    slots->words[place] = word & ~((uint64_t)1 << bit);
    slots->counts[slot >> COUNTS] -= one_in_counts(slot);
    if (slot >> SUPER != top >> SUPER) lower(slots, slot >> SUPER);
    return above;
}

/* Number the live slots from 1 in `last`, the slot of each of n keys; `below` is work space, a number per word. */
EXPORTED void stack_renumber(uint32_t *last, int64_t n, const uint64_t *words, uint32_t *below, int64_t n_words);
void stack_renumber(uint32_t *last, int64_t n, const uint64_t *words, uint32_t *below, int64_t n_words) {
    uint64_t live = 0;
    for (int64_t word = 0; word < n_words; word++) {
        below[word] = (uint32_t)live;
        live += ones(words[word]);
    }
    for (int64_t key = 0; key < n; key++) {
        const uint64_t slot = last[key], place = slot >> WORD;
        if (slot) last[key] = (uint32_t)(below[place] + ones(words[place] & (((uint64_t)1 << (slot & 63)) - 1)) + 1);
    }
}

/* Where in the table a page is, or may be put: a place whose second number is 0. */
static inline uint64_t place_of(const uint64_t *table, uint64_t page, uint64_t table_bits) {
    /* 2^64 over the golden ratio (D. Knuth, The Art of Computer Programming 3, Section 6.4). */
    uint64_t place = (page * 0x9E3779B97F4A7C15u >> (64 - table_bits)) << 1;
    const uint64_t last = ((uint64_t)2 << table_bits) - 1;
    while (table[place + 1] != 0 && table[place] != page) place = (place + 2) & last;
    return place;
}

/* Where the entries of a page begin, which may be new; NO_ROOM for none. */
static inline uint64_t stretch_of(struct stack_keys *keys, uint64_t page) {
    const uint64_t place = place_of(keys->table, page, keys->table_bits);
    if (keys->table[place + 1] == 0) {
        if (keys->pages == keys->max_pages) return NO_ROOM;
        keys->table[place] = page;
        keys->table[place + 1] = ++keys->pages;
    }
    return (keys->table[place + 1] - 1) << keys->page_bits;
}

/* Put all pages of a table into that of `larger`. */
EXPORTED void stack_rehash(const struct stack_keys *keys, struct stack_keys *larger);
void stack_rehash(const struct stack_keys *keys, struct stack_keys *larger) {
    for (uint64_t place = 0; place < 2 * keys->places; place += 2) {
        if (keys->table[place + 1] == 0) continue;
        const uint64_t at = place_of(larger->table, keys->table[place], larger->table_bits);
        larger->table[at] = keys->table[place];
        larger->table[at + 1] = keys->table[place + 1];
    }
}

/* Put all entries into the smaller pages of `narrow`. */
EXPORTED void stack_break_up(const struct stack_keys *keys, struct stack_keys *narrow);
void stack_break_up(const struct stack_keys *keys, struct stack_keys *narrow) {
    const uint64_t bits = narrow->page_bits, within_page = ((uint64_t)1 << bits) - 1;
    for (uint64_t place = 0; place < 2 * keys->places; place += 2) {
        if (keys->table[place + 1] == 0) continue;
        const uint64_t first = (keys->table[place + 1] - 1) << keys->page_bits;
        for (uint64_t within = 0; within < (uint64_t)1 << keys->page_bits; within++) {
            const uint64_t value = keys->slot ? keys->slot[first + within] : keys->entry[first + within];
            if (value == 0) continue;
            const uint64_t key = (keys->table[place] << keys->page_bits) + within;
            const uint64_t at = stretch_of(narrow, key >> bits) + (key & within_page);
            if (narrow->slot) narrow->slot[at] = (uint32_t)value;
            else narrow->entry[at] = value;
        }
    }
}

/* Where the entry of a key is that has one, and 0 for others. */
EXPORTED uint64_t stack_locate(const struct stack_keys *keys, uint64_t key);
uint64_t stack_locate(const struct stack_keys *keys, uint64_t key) {
    const uint64_t stretch = keys->table[place_of(keys->table, key >> keys->page_bits, keys->table_bits) + 1];
    return stretch ? ((stretch - 1) << keys->page_bits) + (key & (((uint64_t)1 << keys->page_bits) - 1)) : 0;
}

/* The next slot, live ones, live ones of closed supers (those before the current one), the last key and the one before and
   where their slots are, and the access that is next. */
struct stack_state {
    uint64_t slot, live, closed, key, older, at, older_at, next;
};
LAYOUT(stack_state, PLACE(stack_state, slot), PLACE(stack_state, live), PLACE(stack_state, closed),
       PLACE(stack_state, key), PLACE(stack_state, older), PLACE(stack_state, at), PLACE(stack_state, older_at),
       PLACE(stack_state, next))

enum { STACK_DONE, STACK_NO_SLOTS, STACK_NO_PAGES, STACK_NO_DISTANCES };

/* Free the slot of the last use, before the next `slot` is used; return the number of live ones between them. */
static inline uint64_t taken(struct stack_slots *slots, struct stack_state *state, uint64_t last, uint64_t slot,
                             uint64_t live) {
    if (last >> BLOCK == slot >> BLOCK) return take_near(slots, last, slot);
    if (last >> SUPER != slot >> SUPER) state->closed--;
    return take_far(slots, last, slot, live);
}

/* Process accesses until they are done or an array is full; return which. `distances` may be null. */
EXPORTED int64_t stack_count(const uint64_t *address, uint64_t end, uint64_t shift, struct stack_state *state,
                             struct stack_slots *slots, struct stack_keys *keys, int64_t *counted, uint64_t n_counted,
                             int64_t *distances);
int64_t stack_count(const uint64_t *address, uint64_t end, uint64_t shift, struct stack_state *state,
                    struct stack_slots *slots, struct stack_keys *keys, int64_t *counted, uint64_t n_counted,
                    int64_t *distances) {
    uint64_t slot = state->slot, live = state->live, key = state->key, older = state->older;
    uint64_t at = state->at, older_at = state->older_at, n = state->next;
    uint32_t *entry = keys->slot;
    const uint64_t page_bits = keys->page_bits, within = ((uint64_t)1 << page_bits) - 1;
    const uint64_t capacity = slots->n_words << WORD;
    uint64_t stop = (slot + SUPER_SLOTS - 1) & ~(SUPER_SLOTS - 1);
    if (capacity < stop) stop = capacity;
    int64_t why = STACK_DONE;
    if (live == 0 && n < end) key = older = (address[n] >> shift) ^ 1; /* not the first one */
    uint64_t page = live == 0 ? ~(key >> page_bits) : key >> page_bits, stretch = at - (key & within);
    for (; n < end; n++) {
        const uint64_t now = address[n] >> shift;
        uint64_t distance = 0;
        if (now == key) {
            counted[0]++;
        } else if (now == older) {
            distance = 1;
            counted[1]++;
            const uint32_t last = entry[at];
            entry[at] = entry[older_at];
            entry[older_at] = last;
            const uint64_t key_at = at;
            older = key, key = now;
            at = older_at, older_at = key_at;
        } else {
            if (now >> page_bits != page) {
                const uint64_t found = stretch_of(keys, now >> page_bits);
                if (found == NO_ROOM) {
                    why = STACK_NO_PAGES;
                    break;
                }
                stretch = found;
                page = now >> page_bits;
            }
            if (slot == stop) {
                if (slot == capacity) {
                    why = STACK_NO_SLOTS;
                    break;
                }
                raise_count(slots, (slot >> SUPER) - 1, live - state->closed);
                state->closed = live;
                stop = stop + SUPER_SLOTS < capacity ? stop + SUPER_SLOTS : capacity;
            }
            const uint64_t here = stretch + (now & within), last = entry[here];
            if (last == 0) {
                if (live == n_counted) {
                    why = STACK_NO_DISTANCES;
                    break;
                }
                live++;
                slots->above++;
                distance = UINT64_MAX;
                if (live == 1) key = now;
            } else {
                distance = taken(slots, state, last, slot, live);
                counted[distance]++;
            }
            use(slots, slot);
            entry[here] = (uint32_t)slot++;
            older = key, key = now;
            older_at = at, at = here;
        }
        if (distances) distances[n] = distance == UINT64_MAX ? -1 : (int64_t)distance;
    }
    state->slot = slot, state->live = live, state->key = key, state->older = older;
    state->at = at, state->older_at = older_at, state->next = n;
    return why;
}

/* Accesses so far, different keys, the access that is next, intervals that ended. */
struct reuse_state {
    uint64_t time, distinct, next, ended;
};
LAYOUT(reuse_state, PLACE(reuse_state, time), PLACE(reuse_state, distinct), PLACE(reuse_state, next),
       PLACE(reuse_state, ended))

/* Measure reuse distances; return whether all accesses are done, or the memory for pages is full. */
EXPORTED int64_t reuse_measure(const uint64_t *address, uint64_t end, uint64_t shift, struct reuse_state *state,
                               struct stack_keys *keys, int64_t *distances);
int64_t reuse_measure(const uint64_t *address, uint64_t end, uint64_t shift, struct reuse_state *state,
                      struct stack_keys *keys, int64_t *distances) {
    const uint64_t page_bits = keys->page_bits, within = ((uint64_t)1 << page_bits) - 1;
    uint64_t n = state->next, time = state->time;
    for (; n < end; n++) {
        const uint64_t key = address[n] >> shift, stretch = stretch_of(keys, key >> page_bits);
        if (stretch == NO_ROOM) break;
        uint64_t *last = &keys->entry[stretch + (key & within)];
        state->distinct += *last == 0;
        distances[n] = *last == 0 ? -1 : (int64_t)(time - *last);
        *last = ++time;
    }
    state->next = n, state->time = time;
    return n == end;
}

/* Follow dirty intervals; return whether all accesses are done, or the memory for pages is full. An entry has the time of
   the last access (32 bits), the largest distance since the last store (31), whether the line is dirty (1). */
EXPORTED int64_t writebacks_follow(const uint64_t *address, uint64_t end, uint64_t shift, struct reuse_state *state,
                                   struct stack_keys *keys, const uint8_t *kind, const int64_t *distances,
                                   int64_t *ended);
int64_t writebacks_follow(const uint64_t *address, uint64_t end, uint64_t shift, struct reuse_state *state,
                          struct stack_keys *keys, const uint8_t *kind, const int64_t *distances, int64_t *ended) {
    enum { STORE = 1, MODIFY = 2 };
    const uint64_t page_bits = keys->page_bits, within = ((uint64_t)1 << page_bits) - 1;
    uint64_t n = state->next, time = state->time, count = state->ended;
    for (; n < end; n++) {
        const uint64_t key = address[n] >> shift, stretch = stretch_of(keys, key >> page_bits);
        if (stretch == NO_ROOM) break;
        uint64_t *entry = &keys->entry[stretch + (key & within)];
        uint64_t dirty = *entry & 1, largest = *entry >> 1 & 0x7FFFFFFF;
        state->distinct += *entry == 0;
        if (dirty && distances[n] > (int64_t)largest) largest = (uint64_t)distances[n];
        if (kind[n] == STORE || kind[n] == MODIFY) {
            if (dirty) ended[count++] = (int64_t)largest;
            dirty = 1;
            largest = 0;
        }
        *entry = ++time << 32 | largest << 1 | dirty;
    }
    state->next = n, state->time = time, state->ended = count;
    return n == end;
}
