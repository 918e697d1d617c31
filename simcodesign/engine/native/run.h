/* All that a run needs and has, in memory that belongs to NumPy. C allocates nothing, prints nothing and keeps no state.
 *
 * Every list of fields stands here once: structs are made of it, and the layouts (all.c) by which Python fills them.
 * ARRAY is a pointer, NULL where the Plan lacks it or it is empty. Times are in seconds, or by the rules of
 * LogGOPSim in units of engine/whole_times.py. Operations, stations, slots and counts of one station are below 2^31.
 * A field `unused` is padding. */
#ifndef SIMCODESIGN_ENGINE_RUN_H
#define SIMCODESIGN_ENGINE_RUN_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)0)
#endif
#define INFINITE_S (1e308 * 10)
/* More than any rate, which has 60 bits at most: the level of a link that limits no flow. As in state.py. */
#define NO_LIMIT ((int64_t)1 << 61)

/* Numbers that Python needs as well: takes from here, or compares when the library is loaded (records.py). */
#define CONSTANTS(CONSTANT) \
    CONSTANT(NONE, -1) CONSTANT(SEND, 1) CONSTANT(RECEIVE, 2) CONSTANT(LIMITED, 1) CONSTANT(ANY, -2) \
    CONSTANT(ANY_TAG, -1) CONSTANT(DONE, -1) CONSTANT(AHEAD, 4) CONSTANT(DAYS, 16384) CONSTANT(JOURNEY_DAYS, 32768) \
    CONSTANT(MESSAGES_IN_BLOCK, 8)
#define AS_ENUM(name, value) name = value,
enum { CONSTANTS(AS_ENUM) };
/* `missing` of an operation that waits for nothing before it, but DONE: a station has granted it, it has met its message
 * in a mailbox, or it has begun and is done only when its message is (of an access: its flow). */
enum { GRANTED = -2, MET = -3, HELD = -4 };
/* Columns of the costs of messages, as in reference/messages.py. The last two repeat for each group of links. */
enum { INJECT_COST, TAIL_COST, INTERFACE_COST, AFTER_INTERFACE_COST, LINK_COST, LATENCY_COST };

#define AS_VALUE(type, name) type name;
#define AS_SEVERAL(type, name, count) type name[count];
#define AS_ARRAY(type, name) type *name;

/* --- Records: what arrays consist of --- */

/* An operation or a message that waits for a station or will; 64 bytes, a line of the processor's cache. */
#define REQUEST(VALUE, SEVERAL) \
    VALUE(double, arrival_s) /* when it comes, or came, to its station */ \
    VALUE(double, tail_s) /* of a message: when its last byte has passed the station before */ \
    VALUE(int64_t, place) /* of a message: of the station in `way` */ \
    VALUE(int32_t, op) /* that waits, or that sends the message; from N on of other jobs */ \
    VALUE(int32_t, left) /* of a message: stations after this one */ \
    VALUE(int32_t, cost) /* of a message: row of `costs` */ \
    VALUE(int32_t, child) /* in a heap */ \
    VALUE(int32_t, sibling) /* in a heap; the next one in a line, a list, free slots, or packets that wait */ \
    VALUE(int32_t, before) /* in a line */ \
    SEVERAL(int32_t, ahead, AHEAD) /* of a message: the next stations, copied from its way to spare a look there */
/* A station or a mailbox. With journeys, `wake_s` of an interface or a link is its last grant, `head` to `tail` are the
 * nodes of those before it, `waiting` their number. Of a mailbox with tags, `head` is the list of all its receives. */
#define STATION(VALUE, SEVERAL) \
    VALUE(double, free_s) /* when the next server is free */ \
    VALUE(double, wake_s) /* when it arbitrates next; infinity if that is not known */ \
    VALUE(double, busy_s) /* sum of service times */ \
    VALUE(double, wait_s) /* sum of waiting times */ \
    VALUE(int32_t, root) /* of the heap of requests to come */ \
    VALUE(int32_t, head) /* of the line of those that have come */ \
    VALUE(int32_t, tail) \
    VALUE(int32_t, waiting) /* length of the line */ \
    VALUE(int32_t, longest) /* `longest_queue` */ \
    VALUE(int32_t, served) /* grants */ \
    VALUE(int32_t, later) /* the next one of a day's list; in the heap of the current day, its place there */ \
    VALUE(int32_t, earlier) /* the one before; or IN_HEAP, NONE, `FIRST - day`: see queue.c */
/* Something at a time; of those of one time, the smaller order comes first. */
#define EVENT(VALUE, SEVERAL) \
    VALUE(double, time_s) \
    VALUE(int64_t, order)
/* A message on a way where every hop takes time. */
#define MESSAGE(VALUE, SEVERAL) \
    VALUE(double, time_s) /* when its head comes to the station */ \
    VALUE(double, tail_s) /* when its last byte has passed the station before */ \
    VALUE(int64_t, place) /* of the station in `way` */ \
    VALUE(int32_t, op) \
    VALUE(int32_t, cost) \
    VALUE(int32_t, left) /* stations after this one */ \
    VALUE(int32_t, station)
/* Messages of a day to come: the first and the last block, and how many are in the last. */
#define DAY(VALUE, SEVERAL) \
    VALUE(int32_t, first) \
    VALUE(int32_t, last) \
    VALUE(int32_t, count) \
    VALUE(int32_t, unused)
/* A grant to come, in the list of a station or of free nodes. */
#define NODE(VALUE, SEVERAL) \
    VALUE(double, grant_s) \
    VALUE(int32_t, following) \
    VALUE(int32_t, unused)
/* A flow, or a message that will be one when its delay is over. Its rate is its share times its weight, in units. */
#define SLOT(VALUE, SEVERAL) \
    VALUE(int64_t, share) /* NONE before it begins, 0 before its first rate is known */ \
    VALUE(int64_t, next_share) \
    VALUE(int64_t, mark) /* see is_fixed and is_doubted */ \
    VALUE(int32_t, first_hop) /* of its hops, the numbers of `link_of` */ \
    VALUE(int32_t, end_hop) /* the one after its last */ \
    VALUE(int32_t, weight) \
    VALUE(int32_t, unused)
/* What else is kept of the flow in a slot. */
#define LOAD(VALUE, SEVERAL) \
    VALUE(double, left_bytes) /* at `since_s` */ \
    VALUE(double, since_s) /* the last change of its rate */ \
    VALUE(int32_t, op) \
    VALUE(int32_t, next_free) /* of a free slot */ \
    VALUE(int32_t, place) /* in the list of flows under way */ \
    VALUE(int32_t, unused)
/* A flow at a link. */
#define THERE(VALUE, SEVERAL) \
    VALUE(int32_t, slot) \
    VALUE(int32_t, hop)
/* A station of the Plan or, after them, the limit of its own that the message in a slot may have. */
#define LINK(VALUE, SEVERAL) \
    VALUE(int64_t, level) /* the share at which it is saturated, or NO_LIMIT */ \
    VALUE(int64_t, spare) /* while shares are computed: what is left of the capacity */ \
    VALUE(int64_t, mark) /* see is_dirty and is_settled */ \
    VALUE(int64_t, unfixed) /* sum of the weights of flows that share what is spare */
/* What else is kept of a link. */
#define TOTAL(VALUE, SEVERAL) \
    VALUE(int64_t, capacity) /* for as many flows as there are */ \
    VALUE(int64_t, granted) /* sum of the rates */ \
    VALUE(int64_t, weight) /* sum of the weights of the flows */ \
    VALUE(int64_t, queued) /* the round in which it is looked at */ \
    VALUE(int32_t, first) /* of the places for its flows */ \
    VALUE(int32_t, count) /* flows, at the places from there on */ \
    VALUE(int32_t, longest) /* most flows at a time */ \
    VALUE(int32_t, unused)
/* A link with its share, in a heap of those that are filled. */
#define FILL(VALUE, SEVERAL) \
    VALUE(int64_t, share) \
    VALUE(int64_t, link)
/* An operation or a message will try to begin. */
#define TURN(VALUE, SEVERAL) \
    VALUE(double, time_s) \
    VALUE(int64_t, number) \
    VALUE(int64_t, item) /* an operation; N and more: the message of a send */

#define RECORDS(RECORD) \
    RECORD(Request, REQUEST) RECORD(Station, STATION) RECORD(Event, EVENT) RECORD(Message, MESSAGE) RECORD(Day, DAY) \
    RECORD(Node, NODE) RECORD(Slot, SLOT) RECORD(Load, LOAD) RECORD(There, THERE) RECORD(Link, LINK) \
    RECORD(Total, TOTAL) RECORD(Fill, FILL) RECORD(Turn, TURN)
#define AS_RECORD(name, FIELDS) typedef struct { FIELDS(AS_VALUE, AS_SEVERAL) } name;
RECORDS(AS_RECORD)

/* --- Parts of a run --- */

/* The Plan, its stations, routes and edges (generate/plan.py, with meanings and units). Not said: by operation. */
#define PROGRAM(ARRAY, VALUE) \
    VALUE(int64_t, ops) /* N */ \
    ARRAY(int8_t, kind) \
    ARRAY(int32_t, match) \
    ARRAY(uint8_t, follows_previous) /* (N + 1,), 0 at the end: `op + 1` needs no check */ \
    ARRAY(double, duration_s) \
    ARRAY(int32_t, rank) \
    ARRAY(int32_t, station) \
    ARRAY(double, gap_s) \
    ARRAY(double, flight_s) \
    ARRAY(int32_t, mailbox) \
    ARRAY(int32_t, tag) /* NULL where messages suit all receives of their mailbox or box */ \
    ARRAY(int32_t, peer) /* as `tag` */ \
    ARRAY(int32_t, taken_by) /* of a send to a mailbox: what waits until its message is taken up */ \
    VALUE(double, matching_s) /* what a receive takes longer for each message that it examines */ \
    ARRAY(int32_t, searched) /* of a receive at a mailbox: messages that it has examined; NULL where that is no time */ \
    ARRAY(int64_t, edge_start) /* (N + 1,) */ \
    ARRAY(int32_t, edge_target) /* by edge */ \
    ARRAY(uint8_t, edge_early) /* by edge */ \
    ARRAY(int32_t, polled) /* of an operation that polls: `Polls.part`; NULL where nothing is polled */ \
    ARRAY(int32_t, polled_end) /* of the first operation of a part: `Polls.end` */ \
    ARRAY(int32_t, polled_receive) /* of the first operation of a part: `Polls.receive` */ \
    ARRAY(uint8_t, waits) /* of an operation that polls */ \
    ARRAY(int32_t, route) \
    ARRAY(int32_t, cost) \
    ARRAY(int32_t, other_route) /* of a message that chooses between two */ \
    ARRAY(int32_t, fork) /* stations on both of its routes before they part */ \
    ARRAY(int32_t, links) /* by route: how many it has */ \
    VALUE(int64_t, threshold) /* by how much the queue of a minimal route has to be the longer one */ \
    VALUE(int64_t, along_route) /* whether it is the sum of all queues to come */ \
    ARRAY(int64_t, way_start) /* by route: `Routes.start` */ \
    ARRAY(int32_t, way) /* by place: `Routes.station` */ \
    ARRAY(double, costs) /* (K, 4 + 2 G), see INJECT_COST and what follows */ \
    VALUE(int64_t, costs_width) \
    ARRAY(int32_t, link_group) /* by station; NULL where all links are of one group */ \
    VALUE(int64_t, store_and_forward) \
    VALUE(int64_t, first_interface) /* stations are numbered by kind: below are disks, processors, ... */ \
    VALUE(int64_t, first_link) /* links, then memory controllers that messages pass */ \
    VALUE(int64_t, first_mailbox) \
    VALUE(int64_t, last_arbiter) /* after all: links that are shared fairly, as one; or the choice of routes */ \
    VALUE(int64_t, polling) /* the arbiter after that one, where operations poll */ \
    ARRAY(int32_t, discipline) /* kind of discipline by station */ \
    ARRAY(int32_t, capacity) /* by station */ \
    ARRAY(double, service_factor) /* by station */
/* Where the run stands. */
#define MEMORY(ARRAY, VALUE) \
    ARRAY(Request, requests) /* by slots that are used again */ \
    VALUE(int64_t, used) /* slots so far */ \
    VALUE(int64_t, free_slot) /* the first of those that may be used again */ \
    ARRAY(Station, stations) \
    ARRAY(double, finish_s) /* before an operation begins: the latest so far of what it has waited for */ \
    ARRAY(double, arrival_s) \
    ARRAY(int32_t, missing) /* how many things an operation still waits for, or DONE, GRANTED, MET, HELD */ \
    ARRAY(int32_t, ready) /* a stack of operations that are ready */ \
    VALUE(int64_t, ready_count) \
    ARRAY(int32_t, poll) /* by the last operation of a part: what is done with it, or NONE */ \
    ARRAY(int64_t, server_start) /* (first_interface + 1,) servers of stations below; others have one each */ \
    ARRAY(double, server_free_s) /* by server: of each station a heap */ \
    ARRAY(int32_t, stock) /* by mailbox: heap of messages */ \
    ARRAY(int32_t, blocked) /* operations that found their station full */ \
    VALUE(int64_t, blocked_count)
/* The queue of stations. The current day: `events` from `next` to `sorted`, and a `heap` of later additions. */
#define CALENDAR(ARRAY, VALUE) \
    ARRAY(int32_t, first) /* (DAYS,) first station of each list */ \
    ARRAY(Event, events) \
    ARRAY(Event, spare) /* for sorting */ \
    ARRAY(int32_t, heap) \
    VALUE(int64_t, listed) /* stations in lists of days to come */ \
    VALUE(int64_t, heaped) /* length of `heap` */ \
    VALUE(int64_t, today) /* number of the current day: time times `days_per_s` */ \
    VALUE(int64_t, sorted) \
    VALUE(int64_t, next) \
    VALUE(int64_t, empty) /* days without events, since these were last compared with `visited` */ \
    VALUE(int64_t, visited) /* events since then */ \
    VALUE(double, days_per_s)
/* Messages on ways where every hop takes time; no days where the Plan has none of this kind. */
#define JOURNEYS(ARRAY, VALUE) \
    ARRAY(Message, now) /* messages of the current day, by slot */ \
    ARRAY(Message, later) /* of days to come, block after block */ \
    ARRAY(int32_t, following) /* the block after each */ \
    ARRAY(Day, days) /* (JOURNEY_DAYS,) */ \
    ARRAY(Event, events) /* of the current day, sorted from `next` to `sorted` */ \
    ARRAY(Event, spare) /* for sorting */ \
    ARRAY(Event, heap) /* later additions to the current day */ \
    ARRAY(Node, nodes) /* of lists of grants by station: those to come but the last */ \
    VALUE(int64_t, node_room) /* length of `nodes` */ \
    VALUE(int64_t, node_count) /* nodes so far */ \
    VALUE(int64_t, free_node) /* the first of those that may be used again */ \
    VALUE(int64_t, today) \
    VALUE(int64_t, slots) /* in `now` */ \
    VALUE(int64_t, sorted) \
    VALUE(int64_t, next) \
    VALUE(int64_t, heaped) \
    VALUE(int64_t, later_count) /* messages in `later` */ \
    VALUE(int64_t, block_count) /* blocks so far */ \
    VALUE(int64_t, free_block) /* the first of those that may be used again */ \
    VALUE(int64_t, empty) /* this and what follows: as in Calendar */ \
    VALUE(int64_t, visited) \
    VALUE(int64_t, lost) /* delays lost to rounding, as 1e-9 s after a year; if any, run again without journeys */ \
    VALUE(double, days_per_s)
/* Messages that share links fairly (`FairSharing`). A rate of 1 is a *unit*. */
#define FLOWS(ARRAY, VALUE) \
    VALUE(int64_t, stations) /* 0 where there are no flows */ \
    ARRAY(double, delay_s) /* by operation: from the beginning of the send to that of the flow */ \
    ARRAY(double, after_s) /* by operation: from the end of the flow to the arrival */ \
    ARRAY(double, size_bytes) /* by operation */ \
    ARRAY(uint8_t, holds) /* by operation: whether the send is done when its flow has ended */ \
    ARRAY(int64_t, own_rate) /* by operation: its own limit, or 0 */ \
    ARRAY(int32_t, weight) /* by operation */ \
    VALUE(double, unit_bytes_per_s) /* a power of two, so exact: 1 / `unit` */ \
    ARRAY(int64_t, alone) /* by station: its capacity for one flow */ \
    ARRAY(int64_t, loaded) /* by station: its capacity for several, no larger */ \
    ARRAY(Slot, slots) \
    ARRAY(Load, loads) /* by slot */ \
    ARRAY(There, there) /* by place: the flows of the first link, then those of the next */ \
    VALUE(int64_t, there_count) \
    ARRAY(int32_t, place) /* by hop: of its flow in `there` */ \
    ARRAY(int32_t, link_of) /* by hop */ \
    ARRAY(Link, links) \
    VALUE(int64_t, link_count) \
    ARRAY(Total, totals) /* by link */ \
    ARRAY(int32_t, begun) /* lists of slots: what happens now */ \
    ARRAY(int32_t, ended) \
    ARRAY(int32_t, fixed) \
    ARRAY(int32_t, under_way) \
    ARRAY(int32_t, dirty) /* lists of links */ \
    ARRAY(int32_t, queue) \
    ARRAY(Fill, filling) \
    ARRAY(double, times_key) /* a heap of slots by the time at which the flow begins, or ends */ \
    ARRAY(int32_t, times_item) \
    ARRAY(int32_t, times_place) \
    VALUE(int64_t, times_size) \
    ARRAY(int64_t, order_key) /* a heap of links by 2 share, and of slots, after all links, by 2 share + 1 */ \
    ARRAY(int32_t, order_item) \
    ARRAY(int32_t, order_place) \
    VALUE(int64_t, order_size) \
    ARRAY(int32_t, free) /* by number of hops: the first free slot */ \
    VALUE(int64_t, slot_count) \
    VALUE(int64_t, hop_count) \
    VALUE(int64_t, hops_under_way) \
    VALUE(int64_t, epoch) /* the number of this computation of shares, and of its round */ \
    VALUE(int64_t, round) \
    VALUE(int64_t, dirty_count) \
    VALUE(int64_t, begun_count) \
    VALUE(int64_t, ended_count) \
    VALUE(int64_t, fixed_count) \
    VALUE(int64_t, under_way_count) \
    VALUE(int64_t, work) /* what finding these shares has cost, in flows looked at */ \
    VALUE(int64_t, follow_work) /* when `follow_changes` found them last */ \
    VALUE(int64_t, refill_work) /* when `refill` did */ \
    VALUE(int64_t, spent) /* since the dearer one was tried */
/* Messages in packets. The place of a message at a station is `shift` and the place of the station on its way. */
#define PACKETS(ARRAY, VALUE) \
    ARRAY(int32_t, count) /* by operation: of its packets; NULL where messages are not cut */ \
    ARRAY(int32_t, left) /* by operation: packets still to be made; the last has the next row of `costs` */ \
    ARRAY(uint8_t, holds) /* by operation: whether the send is done when its message is */ \
    VALUE(int64_t, until_away) /* whether that is when its last packet has passed the first station */ \
    ARRAY(int64_t, shift) /* by operation */ \
    ARRAY(double, served_s) /* by place: when the packet before has been served */ \
    ARRAY(int32_t, first) /* by place: the packets behind the one that asks, linked by `sibling`; NONE: none asks */ \
    ARRAY(int32_t, last)
/* The rules of LogGOPSim: `LogGOPS` in generate/plan.py, with meanings. */
#define RULES(ARRAY, VALUE) \
    ARRAY(int32_t, interface) \
    ARRAY(int32_t, receiver) \
    ARRAY(int32_t, receiver_interface) \
    ARRAY(double, receive_s) \
    ARRAY(double, spread_s) \
    ARRAY(uint8_t, rendezvous) \
    ARRAY(int32_t, box) \
    ARRAY(int32_t, line) \
    ARRAY(int32_t, message_line) \
    ARRAY(int32_t, served_at) /* NULL where no operation is served at a disk or a memory controller */
/* Turns to come, a heap by time and number, and where operations, messages, processors and interfaces stand. */
#define TURNS(ARRAY, VALUE) \
    ARRAY(Turn, heap) \
    VALUE(int64_t, size) \
    VALUE(int64_t, numbers) /* given so far */ \
    VALUE(double, clock_s) \
    ARRAY(int32_t, ready) /* operations that have become ready */ \
    VALUE(int64_t, ready_count) \
    ARRAY(int32_t, entering) /* those of them that are sorted, with their keys, and room to sort them */ \
    ARRAY(int32_t, keys) \
    ARRAY(int32_t, ranges) \
    ARRAY(int32_t, missing) /* (N,) what an operation still waits for */ \
    ARRAY(double, ready_s) /* (N,) */ \
    ARRAY(double, begin_s) /* (N,) */ \
    ARRAY(double, sent_s) /* (N,) when a processor has done its part of a send */ \
    ARRAY(int64_t, message_number) /* (N,) */ \
    ARRAY(double, first_s) /* (N,) when the first byte of a message is there */ \
    ARRAY(double, lag_s) /* (N,) how long before `first_s` that byte came, if it was known only then */ \
    ARRAY(double, taken_s) /* (N,) when its receiver takes a message up, */ \
    ARRAY(double, processed_s) /* (N,) and is done with it */ \
    ARRAY(uint8_t, tried) /* (2N,) by item */ \
    ARRAY(int32_t, first) /* by line: the item that tries, the root of a heap by number */ \
    VALUE(int64_t, ranks) /* P, of a program; see serve_operation */ \
    ARRAY(int32_t, child) /* (2N,) */ \
    ARRAY(int32_t, sibling) /* (2N,) */ \
    ARRAY(int64_t, item_number) /* (2N,) */ \
    ARRAY(double, next_try_s) /* (2N,) infinity: when its processor is known to be free; other turns of it are void */ \
    ARRAY(double, free_s) /* by processor */ \
    ARRAY(int32_t, waiting) /* by processor: how many try to get it */ \
    ARRAY(double, next_send_s) /* by interface */ \
    ARRAY(double, next_message_s) /* by interface */ \
    ARRAY(int32_t, first_posted) /* by box */ \
    ARRAY(int32_t, last_posted) \
    ARRAY(int32_t, first_unexpected) \
    ARRAY(int32_t, last_unexpected) \
    ARRAY(int32_t, following) /* (N,) of a receive or a send in a box */
/* Messages of other jobs, and when the job is over. */
#define OTHERS(ARRAY, VALUE) \
    ARRAY(double, sets_out_s) /* by message; NULL where there are none */ \
    VALUE(int64_t, messages) \
    ARRAY(double, busy_s) /* by station: of their messages */ \
    VALUE(int64_t, undone) /* the first operation that may not be done */ \
    VALUE(double, end_s) /* the latest end of those before it */

#define PARTS(PART) \
    PART(Program, program, PROGRAM) PART(Memory, memory, MEMORY) PART(Calendar, calendar, CALENDAR) \
    PART(Journeys, journeys, JOURNEYS) PART(Flows, flows, FLOWS) PART(Packets, packets, PACKETS) \
    PART(Rules, rules, RULES) PART(Turns, turns, TURNS) PART(Others, others, OTHERS)
#define AS_STRUCT(type, name, FIELDS) typedef struct { FIELDS(AS_ARRAY, AS_VALUE) } type;
PARTS(AS_STRUCT)
#define AS_PART(type, name, FIELDS) type name;
typedef struct { PARTS(AS_PART) } Run;

/* --- Numbers. Where one is not a number, the first of two stays, as in Python's max and min. --- */

static inline double later_of(double one, double other) { return other > one ? other : one; }
static inline double sooner_of(double one, double other) { return other < one ? other : one; }
static inline int64_t larger_of(int64_t one, int64_t other) { return other > one ? other : one; }
static inline int64_t smaller_of(int64_t one, int64_t other) { return other < one ? other : one; }
/* Python's `//`, as the SimPy engine computes shares, and 0 where it would divide by 0. */
static inline int64_t floor_of(int64_t one, int64_t other) {
    if (other == 0) return 0;
    int64_t whole = one / other;
    return one % other != 0 && (one < 0) != (other < 0) ? whole - 1 : whole;
}
/* The day of a time; infinity has one that fits into 64 bits. */
static inline int64_t day_at(double days_per_s, double time_s) {
    return (int64_t)sooner_of(time_s * days_per_s, 4e18);
}
#endif
