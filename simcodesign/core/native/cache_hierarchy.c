/* Hierarchies of caches of one processor, access by access. See locality/hierarchy/engine.py.

   walk_few_ways does the non-inclusive hierarchy of few ways, which most questions need: once a line is looked for in a
   set, the place that it will take if it is not there stays the same until it takes it, so that every set is looked at
   once. walk does every hierarchy. lru_misses does one fully associative cache of which only the misses are wanted. */

enum { IS_STORE = 1, KINDS = 4 };
enum { FILLS, EVICTIONS, REMOVALS, WRITEBACKS, LEVEL_EVENTS };

struct cache_hierarchy {
    int32_t *guess;  /* (guess_mask + 1,) places in the first level, of which any will do at first */
    int64_t *chosen; /* (levels,) places that a line will take */
    int64_t *miss;   /* (levels, KINDS) */
    int64_t *event;  /* (levels, LEVEL_EVENTS) */
    int64_t levels, shift, guess_bits, guess_mask, inclusive, exclusive, write_allocate;
    int64_t now, memory_writebacks, memory_stores;
};
LAYOUT(cache_hierarchy, PLACE(cache_hierarchy, guess), PLACE(cache_hierarchy, chosen), PLACE(cache_hierarchy, miss),
       PLACE(cache_hierarchy, event), PLACE(cache_hierarchy, levels), PLACE(cache_hierarchy, shift),
       PLACE(cache_hierarchy, guess_bits), PLACE(cache_hierarchy, guess_mask), PLACE(cache_hierarchy, inclusive),
       PLACE(cache_hierarchy, exclusive), PLACE(cache_hierarchy, write_allocate), PLACE(cache_hierarchy, now),
       PLACE(cache_hierarchy, memory_writebacks), PLACE(cache_hierarchy, memory_stores))

/* Accesses in turn. `kind` is null if all are loads. */
struct accesses {
    const uint64_t *address;
    const uint8_t *kind;
    int64_t count;
};

static int64_t kind_at(const struct accesses *accesses, int64_t n) { return accesses->kind ? accesses->kind[n] : 0; }

static int32_t *guess_of(const struct cache_hierarchy *caches, int64_t key) {
    return caches->guess + cache_spread(key, caches->guess_bits, caches->guess_mask);
}

/* Do accesses from the n-th on as long as their lines are where they are guessed to be. Return the number of the next. */
static int64_t guessed_hits(const struct cache_hierarchy *caches, struct cache_sets *sets,
                            const struct accesses *accesses, int64_t n) {
    const uint64_t *address = accesses->address;
    const uint8_t *kind = accesses->kind;
    const int32_t *guess = caches->guess;
    int64_t *line = sets->line;
    const int64_t ways = sets->shape[0].ways, shift = caches->shift, count = accesses->count;
    const int64_t bits = caches->guess_bits, mask = caches->guess_mask, begin = caches->now;
    while (n < count) {
        const int64_t key = key_of(address[n], shift), place = guess[cache_spread(key, bits, mask)];
        const int64_t word = line[place];
        if ((word | 1) != (key << 1 | 1)) break;
        n++;
        cache_stamp(line, place, ways, begin + n * CACHE_TICK);
        if (kind) line[place] = word | cache_writes(kind[n - 1]);
    }
    return n;
}

/* The same if the first level is listed. */
static int64_t listed_hits(const struct cache_hierarchy *caches, struct cache_sets *sets,
                           const struct accesses *accesses, int64_t n) {
    const struct cache_sets local = *sets;
    const struct cache_shape shape = *sets->shape; /* a copy, which no store to a line can change */
    const int64_t shift = caches->shift, count = accesses->count;
    const uint8_t *kind = accesses->kind;
    for (; n < count; n++) {
        const int64_t key = key_of(accesses->address[n], shift), place = cache_look_up(&local, &shape, key);
        if (place == CACHE_NONE) break;
        cache_to_front(local.node, cache_ends_of(&shape, key), place);
        if (kind) local.line[place] |= cache_writes(kind[n]);
    }
    return n;
}

/* Dirty data goes to the next level from this one on that has the line, else to memory. */
static void write_back(struct cache_hierarchy *caches, struct cache_sets *sets, int64_t level, int64_t word) {
    for (; level < caches->levels; level++) {
        const int64_t place = cache_look(sets, level, word >> 1);
        if (place != CACHE_NONE) {
            sets->line[place] |= 1;
            return;
        }
    }
    caches->memory_writebacks++;
}

/* A level has lost a line: if it is inclusive, so do the levels before it, and their dirty data goes too. */
static void evict(struct cache_hierarchy *caches, struct cache_sets *sets, int64_t level, int64_t word) {
    caches->event[level * LEVEL_EVENTS + EVICTIONS]++;
    for (int64_t inner = 0; caches->inclusive && inner < level; inner++) {
        const int64_t place = cache_look(sets, inner, word >> 1);
        if (place == CACHE_NONE) continue;
        const int64_t was = cache_take_out(sets, inner, word >> 1, place);
        caches->event[inner * LEVEL_EVENTS + REMOVALS]++;
        caches->event[inner * LEVEL_EVENTS + WRITEBACKS] += was & 1;
        word |= was & 1;
    }
    if (word & 1) {
        caches->event[level * LEVEL_EVENTS + WRITEBACKS]++;
        write_back(caches, sets, level + 1, word);
    }
}

/* Exclusive: the line leaves where it was and enters level 1; every victim moves one level outward. Return its place. */
static int64_t move_to_first(struct cache_hierarchy *caches, struct cache_sets *sets, int64_t level, int64_t key,
                             int64_t place, int64_t dirty, int64_t now) {
    if (place != CACHE_NONE) {
        dirty |= cache_take_out(sets, level, key, place) & 1;
        caches->event[level * LEVEL_EVENTS + REMOVALS]++;
    }
    const int64_t first = cache_oldest(sets, 0, key);
    int64_t word = key << 1 | dirty;
    for (int64_t outer = 0; outer < caches->levels; outer++) {
        place = cache_oldest(sets, outer, word >> 1);
        word = cache_replace(sets, outer, word >> 1, place, word & 1, now);
        caches->event[outer * LEVEL_EVENTS + FILLS]++;
        if (word == CACHE_EMPTY) return first;
        caches->event[outer * LEVEL_EVENTS + EVICTIONS]++;
        caches->event[outer * LEVEL_EVENTS + WRITEBACKS] += word & 1;
    }
    caches->memory_writebacks += word & 1;
    return first;
}

/* Non-inclusive and inclusive: bring the line into every level before this one, the outermost first. Return its place in
   the first. */
static int64_t fill_inward(struct cache_hierarchy *caches, struct cache_sets *sets, int64_t level, int64_t key,
                           int64_t dirty, int64_t now) {
    int64_t place = CACHE_NONE;
    while (level-- > 0) {
        place = cache_oldest(sets, level, key);
        const int64_t word = cache_replace(sets, level, key, place, level ? 0 : dirty, now);
        caches->event[level * LEVEL_EVENTS + FILLS]++;
        if (word != CACHE_EMPTY) evict(caches, sets, level, word);
    }
    return place;
}

/* No-write-allocate: the store is done where the line is, and brings it nowhere. */
static void store_outside(struct cache_hierarchy *caches, struct cache_sets *sets, int64_t level, int64_t key,
                          int64_t place, int64_t now) {
    if (place == CACHE_NONE) {
        caches->memory_stores++;
    } else {
        cache_touch(sets, level, key, place, now);
        sets->line[place] |= 1;
    }
}

/* Any access, level by level outward until one has the line; it is then put where it belongs. */
static void access_line(struct cache_hierarchy *caches, struct cache_sets *sets, int64_t key, int64_t kind,
                        int64_t now) {
    int64_t level = 0, place = CACHE_NONE;
    for (; level < caches->levels; level++) {
        place = cache_look(sets, level, key);
        if (place != CACHE_NONE) break;
        caches->miss[level * KINDS + kind]++;
    }
    if (level && kind == IS_STORE && !caches->write_allocate) {
        store_outside(caches, sets, level, key, place, now);
        return;
    }
    if (level && caches->exclusive) {
        place = move_to_first(caches, sets, level, key, place, cache_writes(kind), now);
    } else {
        if (place != CACHE_NONE) {
            cache_touch(sets, level, key, place, now);
            if (level == 0) sets->line[place] |= cache_writes(kind);
        }
        if (level) place = fill_inward(caches, sets, level, key, cache_writes(kind), now);
    }
    if (!sets->shape[0].listed) *guess_of(caches, key) = (int32_t)place;
}

EXPORTED void hierarchy_walk(struct cache_hierarchy *caches, struct cache_sets *sets, const uint64_t *address,
                             const uint8_t *kind, int64_t count);
void hierarchy_walk(struct cache_hierarchy *caches, struct cache_sets *sets, const uint64_t *address,
                    const uint8_t *kind, int64_t count) {
    const struct accesses accesses = {address, kind, count};
    const int listed = sets->shape[0].listed != 0;
    for (int64_t n = 0;; n++) {
        n = listed ? listed_hits(caches, sets, &accesses, n) : guessed_hits(caches, sets, &accesses, n);
        if (n == count) break;
        access_line(caches, sets, key_of(address[n], caches->shift), kind_at(&accesses, n),
                    caches->now + (n + 1) * CACHE_TICK);
    }
    caches->now += count * CACHE_TICK;
}

/* Eight ways: a loop of known length is much faster. */
static int64_t among_8(const int64_t *line, int64_t key, int64_t first) { return cache_among(line, key, first, 8); }
static int64_t oldest_of_8(const int64_t *time) { return cache_oldest_of(time, 8); }

/* The level that has a line, and its place (NONE: no level); in the levels before it a place for the line is chosen. */
static int64_t find_line(struct cache_hierarchy *caches, const struct cache_sets *sets, int64_t key, int64_t kind,
                         int64_t *place) {
    const int64_t *line = sets->line;
    for (int64_t level = 0; level < caches->levels; level++) {
        const int64_t ways = sets->shape[level].ways, first = cache_first_of(sets->shape + level, key);
        *place = ways == 8 ? among_8(line, key, first) : cache_among(line, key, first, ways);
        if (*place != CACHE_NONE) return level;
        caches->miss[level * KINDS + kind]++;
        const int64_t *time = line + first + ways;
        caches->chosen[level] = first + (ways == 8 ? oldest_of_8(time) : cache_oldest_of(time, ways));
    }
    *place = CACHE_NONE;
    return caches->levels;
}

/* An access in a non-inclusive hierarchy of few ways. Fills and evictions follow from the misses. */
static void access_few_ways(struct cache_hierarchy *caches, struct cache_sets *sets, int64_t key, int64_t kind,
                            int64_t now) {
    int64_t *line = sets->line, place;
    int64_t level = find_line(caches, sets, key, kind, &place);
    if (place != CACHE_NONE) cache_stamp(line, place, sets->shape[level].ways, now);
    if (level && kind == IS_STORE && !caches->write_allocate) {
        if (place == CACHE_NONE)
            caches->memory_stores++;
        else
            line[place] |= 1;
        return;
    }
    while (level-- > 0) {
        place = caches->chosen[level];
        const int64_t word = line[place];
        line[place] = key << 1;
        cache_stamp(line, place, sets->shape[level].ways, now);
        if (word & 1 && word != CACHE_EMPTY) {
            caches->event[level * LEVEL_EVENTS + WRITEBACKS]++;
            write_back(caches, sets, level + 1, word);
        }
    }
    line[place] |= cache_writes(kind);
    *guess_of(caches, key) = (int32_t)place;
}

EXPORTED void hierarchy_walk_few_ways(struct cache_hierarchy *caches, struct cache_sets *sets, const uint64_t *address,
                                      const uint8_t *kind, int64_t count);
void hierarchy_walk_few_ways(struct cache_hierarchy *caches, struct cache_sets *sets, const uint64_t *address,
                             const uint8_t *kind, int64_t count) {
    const struct accesses accesses = {address, kind, count};
    for (int64_t n = 0;; n++) {
        n = guessed_hits(caches, sets, &accesses, n);
        if (n == count) break;
        access_few_ways(caches, sets, key_of(address[n], caches->shift), kind_at(&accesses, n),
                        caches->now + (n + 1) * CACHE_TICK);
    }
    caches->now += count * CACHE_TICK;
}

/* Misses in one fully associative level, which is listed. */
EXPORTED int64_t lru_misses(struct cache_sets *sets, const uint64_t *address, int64_t count, int64_t shift);
int64_t lru_misses(struct cache_sets *sets, const uint64_t *address, int64_t count, int64_t shift) {
    const int64_t *line = sets->line, ends = sets->shape[0].ways;
    const int64_t bits = sets->shape[0].heads_bits, mask = sets->shape[0].heads_mask;
    struct cache_node *node = sets->node;
    int64_t misses = 0, newest = node[ends].older;
    for (int64_t n = 0; n < count; n++) {
        const int64_t key = key_of(address[n], shift);
        int64_t place = sets->head[cache_spread(key, bits, mask)];
        while (place != CACHE_NONE && line[place] != key << 1) place = node[place].chained;
        if (place == newest) continue;
        if (place == CACHE_NONE) {
            misses++;
            place = node[ends].newer;
            cache_replace(sets, 0, key, place, 0, 0);
        } else {
            cache_unlink(node, place);
            cache_link(node, ends, newest, place);
        }
        newest = place;
    }
    return misses;
}
