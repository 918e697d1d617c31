/* Messages in packets: of each message a station knows one packet at a time, which is round robin.
 *
 * A packet is a request, as a whole message is. One that comes to a station at which another packet of its message is
 * waits behind that, in a list for each message and station of its route, and asks when that has been served. The first
 * station needs no such list: a packet is made when the one before it is granted there. */
#include "run.h"

/* `first` where a packet asks and none waits behind it. */
enum { ASKS = -2 };

/* Whether a packet that comes to a station may ask there, and from when on; else it waits for those before it. */
static inline int may_ask(Run *run, int64_t place, int32_t slot) {
    Packets *packets = &run->packets;
    Request *requests = run->memory.requests;
    if (packets->first[place] == NONE) {
        packets->first[place] = ASKS;
        requests[slot].arrival_s = later_of(requests[slot].arrival_s, packets->served_s[place]);
        return 1;
    }
    if (packets->first[place] == ASKS) packets->first[place] = slot;
    else requests[packets->last[place]].sibling = slot;
    packets->last[place] = slot;
    return 0;
}

/* A station will have served the packet that has asked: the one behind it, which may ask then, or NONE. */
static inline int32_t next_to_ask(Run *run, int64_t place, double served_s) {
    Packets *packets = &run->packets;
    packets->served_s[place] = served_s;
    int32_t slot = packets->first[place];
    if (slot == ASKS) {
        packets->first[place] = NONE;
        return NONE;
    }
    Request *request = &run->memory.requests[slot];
    packets->first[place] = request->sibling == NONE ? ASKS : request->sibling;
    request->sibling = NONE;
    request->arrival_s = later_of(request->arrival_s, served_s);
    return slot;
}
