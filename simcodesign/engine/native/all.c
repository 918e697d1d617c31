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

#define PLACE_OF_VALUE(type, name) PLACE_IN(Owner, name, #type),
#define PLACE_OF_SEVERAL(type, name, count) PLACE_IN(Owner, name, #type),
#define PLACE_OF_ARRAY(type, name) PLACE_IN(Owner, name, #type " *"),
#define PLACE_OF_PART(type, name, FIELDS) PLACE_IN(Owner, name, #type),
#define LAYOUT_OF_RECORD(owner, FIELDS) LAYOUT_OF(owner, owner, FIELDS(PLACE_OF_VALUE, PLACE_OF_SEVERAL))
#define LAYOUT_OF_PART(owner, name, FIELDS) LAYOUT_OF(owner, owner, FIELDS(PLACE_OF_ARRAY, PLACE_OF_VALUE))
RECORDS(LAYOUT_OF_RECORD)
PARTS(LAYOUT_OF_PART)
LAYOUT_OF(Run, Run, PARTS(PLACE_OF_PART))

#define NUMBER_OF_CONSTANT(name, value) {#name, value},
typedef struct {
    const char *name;
    int64_t value;
} Constant;

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
