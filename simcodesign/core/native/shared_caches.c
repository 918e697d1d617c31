/* Caches of several processors that share some of them, and prefetch. See locality/hierarchy/shared.py and prefetch.py. */

struct prefetcher {
    int64_t *last;  /* (processors, streams) the last line of every stream */
    int64_t *since; /* (processors, streams) when it came */
    int64_t streams;
};
LAYOUT(prefetcher, PLACE(prefetcher, last), PLACE(prefetcher, since), PLACE(prefetcher, streams))

/* Whether a line that comes from memory was fetched ahead; it is the last of its stream from `now` on. If two streams
   are next to it, it belongs to the one that was seen last. */
static int fetched_ahead(struct prefetcher *prefetcher, int64_t processor, int64_t key, int64_t now) {
    int64_t *last = prefetcher->last + processor * prefetcher->streams;
    int64_t *since = prefetcher->since + processor * prefetcher->streams;
    int64_t found = CACHE_NONE, oldest = 0;
    for (int64_t stream = 0; stream < prefetcher->streams; stream++) {
        const int is_next = last[stream] == key - 1 || last[stream] == key + 1;
        if (is_next && (found == CACHE_NONE || since[stream] > since[found])) found = stream;
        if (since[stream] < since[oldest]) oldest = stream;
    }
    const int64_t here = found == CACHE_NONE ? oldest : found;
    last[here] = key;
    since[here] = now;
    return found != CACHE_NONE;
}

/* Lines that come from memory in turn, after `before` others: return how many of them were fetched ahead. */
EXPORTED int64_t follow_streams(struct prefetcher *prefetcher, const uint64_t *address, int64_t count, int64_t shift,
                                int64_t before);
int64_t follow_streams(struct prefetcher *prefetcher, const uint64_t *address, int64_t count, int64_t shift,
                       int64_t before) {
    int64_t ahead = 0;
    for (int64_t n = 0; n < count; n++)
        ahead += fetched_ahead(prefetcher, 0, key_of(address[n], shift), before + n + 1);
    return ahead;
}

struct shared_caches {
    int64_t *cache;     /* (processors, levels) which cache of the sets each has at each level */
    int64_t *first_key; /* (processors,) the first line of each one's memory, ascending */
    int64_t *miss;      /* (processors, levels) */
    int64_t *written;   /* (processors, levels) of its lines, those that a level wrote back */
    int64_t *back;      /* (processors,) of its lines, those that came back to memory */
    int64_t *accesses, *stores, *prefetched; /* (processors,) */
    int64_t processors, levels, shift, now;
};
LAYOUT(shared_caches, PLACE(shared_caches, cache), PLACE(shared_caches, first_key), PLACE(shared_caches, miss),
       PLACE(shared_caches, written), PLACE(shared_caches, back), PLACE(shared_caches, accesses),
       PLACE(shared_caches, stores), PLACE(shared_caches, prefetched), PLACE(shared_caches, processors),
       PLACE(shared_caches, levels), PLACE(shared_caches, shift), PLACE(shared_caches, now))

/* A level has lost a dirty line: it goes to the next one of its own processor's that has it, else to memory. */
static void write_back_to_owner(struct shared_caches *caches, struct cache_sets *sets, int64_t level, int64_t word) {
    const int64_t key = word >> 1;
    int64_t owner = caches->processors - 1;
    while (caches->first_key[owner] > key) owner--;
    caches->written[owner * caches->levels + level]++;
    while (++level < caches->levels) {
        const int64_t place = cache_look(sets, caches->cache[owner * caches->levels + level], key);
        if (place != CACHE_NONE) {
            sets->line[place] |= 1;
            return;
        }
    }
    caches->back[owner]++;
}

/* One access, level by level outward until one has the line, which then is in all levels. */
static void access_shared(struct shared_caches *caches, struct cache_sets *sets, struct prefetcher *prefetcher,
                          int64_t processor, int64_t key, int64_t kind) {
    const int64_t levels = caches->levels, *cache = caches->cache + processor * levels;
    int64_t level = 0, place = CACHE_NONE;
    caches->accesses[processor]++;
    caches->stores[processor] += kind == IS_STORE;
    for (; level < levels; level++) {
        place = cache_look(sets, cache[level], key);
        if (place != CACHE_NONE) {
            cache_touch(sets, cache[level], key, place, caches->now);
            break;
        }
        caches->miss[processor * levels + level]++;
    }
    if (level == levels && prefetcher->streams)
        caches->prefetched[processor] += fetched_ahead(prefetcher, processor, key, caches->now);
    while (level-- > 0) {
        place = cache_oldest(sets, cache[level], key);
        const int64_t word = cache_replace(sets, cache[level], key, place, 0, caches->now);
        if (word & 1 && word != CACHE_EMPTY) write_back_to_owner(caches, sets, level, word);
    }
    sets->line[place] |= cache_writes(kind);
}

/* Access n of all the processors `who`, then n + 1. `address` and `kind`: (going, count). */
EXPORTED void walk_in_turn(struct shared_caches *caches, struct cache_sets *sets, struct prefetcher *prefetcher,
                           const int64_t *who, int64_t going, const uint64_t *address, const uint8_t *kind,
                           int64_t count);
void walk_in_turn(struct shared_caches *caches, struct cache_sets *sets, struct prefetcher *prefetcher,
                  const int64_t *who, int64_t going, const uint64_t *address, const uint8_t *kind, int64_t count) {
    for (int64_t n = 0; n < count; n++)
        for (int64_t place = 0; place < going; place++) {
            caches->now += CACHE_TICK;
            const int64_t key = key_of(address[place * count + n], caches->shift);
            access_shared(caches, sets, prefetcher, who[place], key, kind[place * count + n]);
        }
}
