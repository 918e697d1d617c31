/* The sets of a simulated cache: find a line, make it the most recent, take the oldest, replace it. See
   locality/hierarchy/sets.py.

   A line is a word: its key, doubled, plus 1 if it is dirty. A level is kept in one of two ways.
   - Few ways: the words of a set are neighbours, one line of this machine's own cache if there are eight, and the times
     of last use follow them. To find a line is to look at every way; to use it is to note the time.
   - Many ways (listed): a hash table gives the line, and a list of each set keeps the order of use. */

enum { CACHE_EMPTY = -1, CACHE_NONE = -1 };
/* A time is this times the number of the access, plus the way, so that the oldest time says which way it is. */
enum { CACHE_TICK = 32 };
/* A listed line is a node; the node after the lines of a level is the ends of its list. */
struct cache_node {
    int32_t newer, older, chained, unused;
};

struct cache_shape {
    int64_t first, ways, sets, mask, listed, head, heads_mask, heads_bits;
};

struct cache_sets {
    struct cache_shape *shape; /* (levels,) */
    int64_t *line;             /* words of listed levels; of every set of the others its words, then its times */
    struct cache_node *node;   /* (listed lines,), numbered as the words */
    int32_t *head;             /* the first line of each chain of the hash tables */
};
/* Python sees records of numbers of one type as these numbers. */
LAYOUT(cache_sets, PLACE_IN(struct cache_sets, shape, "int64_t *"), PLACE(cache_sets, line),
       PLACE_IN(struct cache_sets, node, "int32_t *"), PLACE(cache_sets, head))

static int64_t key_of(uint64_t address, int64_t shift) { return (int64_t)(address >> shift); }

/* 1 for a store and a modify, 0 for a load and a fetch. */
static int64_t cache_writes(int64_t kind) { return (kind + 1) >> 1 & 1; }

/* The place of a key in a table of 2**bits. Lower bits stay as they are: neighbours are used together. */
static int64_t cache_spread(int64_t key, int64_t bits, int64_t mask) {
    const uint64_t spread = ((uint64_t)(key >> bits) * 0x9E3779B97F4A7C15) >> 32;
    return (int64_t)((uint64_t)key + spread) & mask;
}

/* The number of the set in which a line may be. */
static int64_t cache_set_of(const struct cache_shape *shape, int64_t key) {
    return shape->mask != CACHE_NONE ? key & shape->mask : key % shape->sets;
}

/* The first word of the set of a line, in a level of few ways. */
static int64_t cache_first_of(const struct cache_shape *shape, int64_t key) {
    return shape->first + cache_set_of(shape, key) * 2 * shape->ways;
}

/* The place of a line among the words of a set; NONE if it is not there. */
static int64_t cache_among(const int64_t *line, int64_t key, int64_t first, int64_t ways) {
    const int64_t dirty = key << 1 | 1;
    for (int64_t place = first; place < first + ways; place++)
        if ((line[place] | 1) == dirty) return place;
    return CACHE_NONE;
}

static int32_t *cache_head(const struct cache_sets *sets, const struct cache_shape *shape, int64_t key) {
    return sets->head + shape->head + cache_spread(key, shape->heads_bits, shape->heads_mask);
}

/* The place of a line in a listed level; NONE if it is not there. */
static int64_t cache_look_up(const struct cache_sets *sets, const struct cache_shape *shape, int64_t key) {
    int64_t place = *cache_head(sets, shape, key);
    while (place != CACHE_NONE && (sets->line[place] | 1) != (key << 1 | 1)) place = sets->node[place].chained;
    return place;
}

/* The place of a line; NONE if the level does not have it. */
static int64_t cache_look(const struct cache_sets *sets, int64_t level, int64_t key) {
    const struct cache_shape *shape = sets->shape + level;
    if (shape->listed) return cache_look_up(sets, shape, key);
    return cache_among(sets->line, key, cache_first_of(shape, key), shape->ways);
}

/* The node between the newest line of a set (older than it) and the oldest (newer than it). */
static int64_t cache_ends_of(const struct cache_shape *shape, int64_t key) {
    return shape->first + shape->ways * shape->sets + cache_set_of(shape, key);
}

static void cache_unlink(struct cache_node *node, int64_t place) {
    node[node[place].newer].older = node[place].older;
    node[node[place].older].newer = node[place].newer;
}

static void cache_link(struct cache_node *node, int64_t newer, int64_t older, int64_t place) {
    node[place].newer = (int32_t)newer;
    node[place].older = (int32_t)older;
    node[newer].older = node[older].newer = (int32_t)place;
}

/* A line of a level of few ways is the most recently used of its set. */
static void cache_stamp(int64_t *line, int64_t place, int64_t ways, int64_t now) {
    line[place + ways] = now | (line[place + ways] & (CACHE_TICK - 1));
}

/* The same for a listed level. */
static void cache_to_front(struct cache_node *node, int64_t ends, int64_t place) {
    if (node[ends].older == place) return;
    cache_unlink(node, place);
    cache_link(node, ends, node[ends].older, place);
}

static void cache_touch(struct cache_sets *sets, int64_t level, int64_t key, int64_t place, int64_t now) {
    const struct cache_shape *shape = sets->shape + level;
    if (shape->listed)
        cache_to_front(sets->node, cache_ends_of(shape, key), place);
    else
        cache_stamp(sets->line, place, shape->ways, now);
}

/* The way that was used before all others, by the times of a set. */
static int64_t cache_oldest_of(const int64_t *time, int64_t ways) {
    int64_t oldest = time[0];
    for (int64_t way = 1; way < ways; way++) oldest = time[way] < oldest ? time[way] : oldest;
    return oldest & (CACHE_TICK - 1);
}

/* The place that a new line takes: an empty one, else that of the least recently used line of the set. */
static int64_t cache_oldest(const struct cache_sets *sets, int64_t level, int64_t key) {
    const struct cache_shape *shape = sets->shape + level;
    if (shape->listed) return sets->node[cache_ends_of(shape, key)].newer;
    const int64_t first = cache_first_of(shape, key);
    return first + cache_oldest_of(sets->line + first + shape->ways, shape->ways);
}

static void cache_unchain(struct cache_sets *sets, const struct cache_shape *shape, int64_t word, int64_t place) {
    int32_t *link = cache_head(sets, shape, word >> 1);
    while (*link != place) link = &sets->node[*link].chained;
    *link = sets->node[place].chained;
}

/* Put a line, the most recently used from now on, where another was. Return the word of that one, or EMPTY. */
static int64_t cache_replace(struct cache_sets *sets, int64_t level, int64_t key, int64_t place, int64_t dirty,
                             int64_t now) {
    const struct cache_shape *shape = sets->shape + level;
    const int64_t word = sets->line[place];
    if (shape->listed) {
        if (word != CACHE_EMPTY) cache_unchain(sets, shape, word, place);
        int32_t *head = cache_head(sets, shape, key);
        sets->node[place].chained = *head;
        *head = (int32_t)place;
    }
    sets->line[place] = key << 1 | dirty;
    cache_touch(sets, level, key, place, now);
    return word;
}

/* Take a line out; its place is the next to be filled. Return its word. */
static int64_t cache_take_out(struct cache_sets *sets, int64_t level, int64_t key, int64_t place) {
    const struct cache_shape *shape = sets->shape + level;
    const int64_t word = sets->line[place];
    sets->line[place] = CACHE_EMPTY;
    if (shape->listed) {
        const int64_t ends = cache_ends_of(shape, key);
        cache_unchain(sets, shape, word, place);
        cache_unlink(sets->node, place);
        cache_link(sets->node, sets->node[ends].newer, ends, place);
    } else {
        cache_stamp(sets->line, place, shape->ways, 0);
    }
    return word;
}
