/* A heap of numbered items by a key of each; it knows the place of every item, so that keys may change.
 *
 * Included once for each heap: HEAP is its name in `Flows`, KEY the type of its keys. Keys stand in the order of the
 * heap, beside each other, since comparing them is most of the work. `place` of an item is NONE out of the heap. */
#define JOINED_(one, other) one##_##other
#define JOINED(one, other) JOINED_(one, other)
#define OF_HEAP(name) JOINED(HEAP, name)

static inline void JOINED(set, HEAP)(Flows *flows, int64_t place, int32_t item, KEY key) {
    flows->OF_HEAP(key)[place] = key;
    flows->OF_HEAP(item)[place] = item;
    flows->OF_HEAP(place)[item] = (int32_t)place;
}

/* Put an item at a place, or above it where it belongs. */
static void JOINED(rise, HEAP)(Flows *flows, int64_t place, int32_t item, KEY key) {
    const KEY *keys = flows->OF_HEAP(key);
    for (; place > 0; place = (place - 1) / 2) {
        int64_t above = (place - 1) / 2;
        if (!(key < keys[above])) break;
        JOINED(set, HEAP)(flows, place, flows->OF_HEAP(item)[above], keys[above]);
    }
    JOINED(set, HEAP)(flows, place, item, key);
}

/* Put an item at a place, or below it where it belongs. */
static void JOINED(sink, HEAP)(Flows *flows, int64_t place, int32_t item, KEY key) {
    const KEY *keys = flows->OF_HEAP(key);
    int64_t size = flows->OF_HEAP(size), child = 2 * place + 1;
    while (child < size) {
        if (child + 1 < size && keys[child + 1] < keys[child]) child++;
        if (!(keys[child] < key)) break;
        JOINED(set, HEAP)(flows, place, flows->OF_HEAP(item)[child], keys[child]);
        place = child;
        child = 2 * child + 1;
    }
    JOINED(set, HEAP)(flows, place, item, key);
}

/* Put an item in, or give another key to one that is there. */
static void JOINED(put_in, HEAP)(Flows *flows, int32_t item, KEY key) {
    int64_t place = flows->OF_HEAP(place)[item];
    if (place == NONE) JOINED(rise, HEAP)(flows, flows->OF_HEAP(size)++, item, key);
    else if (key < flows->OF_HEAP(key)[place]) JOINED(rise, HEAP)(flows, place, item, key);
    else JOINED(sink, HEAP)(flows, place, item, key);
}

/* Take the item of the smallest key out. */
static int32_t JOINED(take_first_of, HEAP)(Flows *flows) {
    int32_t first = flows->OF_HEAP(item)[0];
    flows->OF_HEAP(place)[first] = NONE;
    int64_t last = --flows->OF_HEAP(size);
    if (last > 0) JOINED(sink, HEAP)(flows, 0, flows->OF_HEAP(item)[last], flows->OF_HEAP(key)[last]);
    return first;
}
#undef OF_HEAP
#undef JOINED
#undef JOINED_
#undef HEAP
#undef KEY
