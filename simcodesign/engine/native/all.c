/* The compiled engine: a Plan under the same event contract as the SimPy engine (engine/reference), to the last bit. */
#include "run.h"

/* What comes first is used by what follows; read walk.c first. Beside each: what it is in engine/reference. */
#include "queue.c"        /* environment.py: the calendar, of arbitrations only */
#include "waiting_line.c" /* stations.py: Station.waiting, and requests that will come */
#include "stations.c"     /* stations.py, disciplines.py */
#include "mailboxes.c"    /* mailboxes.py */
#include "journeys.c"     /* messages.py where every hop takes time: a calendar of its own, for speed */
#include "packets.c"      /* packets.py */
#include "turns.c"        /* loggopsim.py: Line and turns */
#include "flows.c"        /* fair_links.py: Flow, FairLinks.carry and change_rate */
#include "fair_shares.c"  /* fair_links.py: fair_shares */
#include "messages.c"     /* messages.py, route_choice.py, others.py */
#include "walk.c"         /* engine.py */
#include "loggopsim.c"    /* loggopsim.py */

/* --- What Python has to know of the structs of run.h --- */

typedef struct {
    const char *name, *type;
    int64_t offset, size, is_array;
} Field;
/* A record, a part of `Run` (at `offset`), or with no fields `Run` itself. */
typedef struct {
    const char *name;
    int64_t offset, size;
    const Field *fields;
} Struct;

#define FIELD_OF_VALUE(type, name) {#name, #type, offsetof(Owner, name), sizeof(type), 0},
#define FIELD_OF_SEVERAL(type, name, count) {#name, #type, offsetof(Owner, name), sizeof(type[count]), 0},
#define FIELD_OF_ARRAY(type, name) {#name, #type, offsetof(Owner, name), sizeof(type), 1},
#define TABLE(owner, FIELDS, FIRST_KIND, SECOND_KIND) \
    static const Field *fields_of_##owner(void) { \
        typedef owner Owner; \
        static const Field fields[] = {FIELDS(FIRST_KIND, SECOND_KIND) {0, 0, 0, 0, 0}}; \
        return fields; \
    }
#define TABLE_OF_RECORD(owner, FIELDS) TABLE(owner, FIELDS, FIELD_OF_VALUE, FIELD_OF_SEVERAL)
#define TABLE_OF_PART(owner, name, FIELDS) TABLE(owner, FIELDS, FIELD_OF_ARRAY, FIELD_OF_VALUE)
RECORDS(TABLE_OF_RECORD)
PARTS(TABLE_OF_PART)

#define STRUCT_OF_RECORD(owner, FIELDS) {#owner, -1, sizeof(owner), fields_of_##owner()},
#define STRUCT_OF_PART(owner, name, FIELDS) {#name, offsetof(Run, name), sizeof(owner), fields_of_##owner()},
#define NUMBER_OF_CONSTANT(name, value) {#name, value},
typedef struct {
    const char *name;
    int64_t value;
} Constant;

/* The structs into `structs`, with room for 32; how many these are. `Run` is the last. */
EXPORTED int64_t engine_structs(Struct *structs);
int64_t engine_structs(Struct *structs) {
    const Struct every[] = {RECORDS(STRUCT_OF_RECORD) PARTS(STRUCT_OF_PART){"Run", -1, sizeof(Run), NULL}};
    const int64_t count = sizeof(every) / sizeof(every[0]);
    for (int64_t place = 0; place < count; place++) structs[place] = every[place];
    return count;
}

/* The constants, of which the last has no name. */
EXPORTED const Constant *engine_constants(void);
const Constant *engine_constants(void) {
    static const Constant constants[] = {CONSTANTS(NUMBER_OF_CONSTANT){NULL, 0}};
    return constants;
}

/* --- A run, by one rule or the other --- */

/* Before the first step. */
EXPORTED void engine_begin(Run *run);
void engine_begin(Run *run) {
    send_of_others(run);
    if (run->rules.box) enter_first(run);
}

/* Take `limit` steps; the time of the last one, infinity at the end. */
EXPORTED double engine_walk(Run *run, int64_t limit);
double engine_walk(Run *run, int64_t limit) {
    return run->rules.box ? walk_in_loggopsim(run, limit) : walk(run, limit);
}

/* After the last step. */
EXPORTED void engine_end(Run *run);
void engine_end(Run *run) { count_last_queues(run); }
