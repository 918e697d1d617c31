// What the rows of a Gantt chart are and which bars stand in them: of ranks, of rounds, or of stations. A bar: row,
// from, to, a role (sends, receives, works, waits ...), and its place within the row: `lane` of `lanes`.

import { largest } from "../numbers.js";

const RECEIVE = 2, MOST_STATIONS = 48;
/** By kind of operation (`core.operation_kinds.KINDS`): what its component is. */
const ROLE_OF = ["works", "sends", "receives", "disk", "disk", "memory", "works", "works", "memory", "memory", "disk", "disk", "disk"];

/** Every rank: what it does, what it receives, when its message waits for a link, and when it waits for a disk. */
export function ofRanks(trace) {
  const bars = [];
  const add = (row, from, to, role) => to > from && bars.push({ row, from, to, role, lane: 0, lanes: 1 });
  for (const op of trace.ops) {
    if (op.kind === RECEIVE) continue;
    add(op.rank, op.begin, op.end, ROLE_OF[op.kind] ?? "works");
    if (op.kind > RECEIVE) add(op.rank, op.ready, op.begin, "waits"); // for its turn at a disk or a memory controller
  }
  const own = bars.length;
  for (const message of trace.messages) {
    add(message.to, message.recorded ? message.hops.at(-1).grant : message.begin, message.arrival, "receives");
    if (message.recorded) for (const hop of message.hops) add(message.to, hop.arrival, hop.grant, "waits");
  }
  for (const bar of upperHalves(bars, own, 1e-6 * trace.end)) bars.push(bar);
  return { rows: Array.from({ length: trace.ranks }, (_, rank) => String(rank)), bars, others: 0 };
}

/** Where a rank does something (the first `own` bars) while a message comes in (the others): both are seen, in half a row each. */
function upperHalves(bars, own, slack) {
  const coming = new Map();
  for (const bar of bars.slice(own)) coming.set(bar.row, [...(coming.get(bar.row) ?? []), bar]);
  return bars.slice(0, own).flatMap((bar) => (coming.get(bar.row) ?? [])
    .map((other) => ({ ...bar, from: Math.max(bar.from, other.from), to: Math.min(bar.to, other.to), lanes: 2 }))
    .filter(({ from, to }) => to - from > slack));
}

/** Rounds: a message belongs to the round after that of the last message that its sender had got or sent before. */
export function ofRounds(trace) {
  const round = new Map(), byBegin = [...trace.messages].sort((one, other) => one.begin - other.begin);
  const reached = new Float64Array(trace.ranks); // round of the last message that a rank has sent
  const got = Array.from({ length: trace.ranks }, () => []);
  for (const message of trace.messages) got[message.to].push(message);
  const slack = 1e-6 * trace.end;
  for (const message of byBegin) {
    let before = reached[message.from];
    for (const one of got[message.from]) if (one.arrival <= message.begin + slack && round.has(one)) before = Math.max(before, round.get(one));
    round.set(message, before + 1);
    reached[message.from] = before + 1;
  }
  const count = largest(round.values(), 0), lanes = new Int32Array(count + 1), bars = [];
  for (const message of byBegin) lanes[round.get(message)]++;
  const next = new Int32Array(count + 1);
  for (const message of byBegin) {
    const number = round.get(message), place = { row: number - 1, lane: next[number]++, lanes: lanes[number] };
    bars.push({ ...place, from: message.begin, to: message.arrival, role: "receives" });
    if (message.recorded) for (const hop of message.hops) if (hop.grant > hop.arrival) bars.push({ ...place, from: hop.arrival, to: hop.grant, role: "waits" });
  }
  return { rows: Array.from({ length: count }, (_, k) => String(k + 1)), bars, others: 0, round };
}

/** Stations, those that are used most: whom they serve, and below it that somebody waits. */
export function ofStations(trace) {
  const use = trace.stationNames.map(() => 0);
  for (const one of trace.served) use[one.station] += 2 * (one.grant - one.arrival) + one.end - one.grant;
  const kept = use.map((_, k) => k).sort((one, other) => use[other] - use[one]).slice(0, MOST_STATIONS).sort((one, other) => one - other);
  const row = new Map(kept.map((station, k) => [station, k])), bars = [];
  for (const one of trace.served) {
    if (!row.has(one.station)) continue;
    const place = { row: row.get(one.station), lanes: 3 };
    if (one.grant > one.arrival) bars.push({ ...place, from: one.arrival, to: one.grant, role: "waits", lane: 2 });
    if (one.end > one.grant) bars.push({ ...place, from: one.grant, to: one.end, role: "serves", lane: 0, span: 2, alternate: one.op % 2 });
  }
  return { rows: kept.map((station) => trace.stationNames[station]), bars, others: use.length - kept.length };
}

export const BARS = { ranks: ofRanks, rounds: ofRounds, stations: ofStations };
