// The network at one time: messages where they are on their routes, links thick by what they have carried and hatched where
// messages queue, nodes filled as their copies arrive, switches as squares.
import { Figure, heightFor, pointerIn, sized } from "../figure.js";
import { clamp, duration, escaped, largest, smallest } from "../numbers.js";
import { text } from "../texts.js";
import { Dots } from "./dots.js";
import { Roads } from "./roads.js";

const MOST_LINES = 8;

export class Network extends Figure {
  static uses = ["stops", "rungs", "draw", "time", "link", "hover"];

  build() {
    this.run = this.runs[0];
    this.dotsOfMessages = new Dots();
    this.innerHTML = `<figure>${this.heading(this.options.title, '<span class="count"></span>')}<canvas role="img"></canvas>
      <label class="note"><span>${text("links")}</span> <select></select></label><p class="note info" aria-live="polite"></p></figure>`;
    this.canvas = this.querySelector("canvas");
    this.select = this.querySelector("select");
    this.select.addEventListener("change", () => this.store.set({ link: this.select.value === "" ? null : Number(this.select.value) }));
    this.canvas.addEventListener("click", (event) => this.trace && this.store.set({ link: this.roads.nearest(...pointerIn(this.canvas, event), 14) }));
    this.canvas.addEventListener("pointermove", (event) => this.store.set({ hover: this.nodeAt(event) }));
    this.canvas.addEventListener("pointerleave", () => this.store.set({ hover: null }));
  }

  get simulatedRung() {
    return this.rungOf(this.run);
  }

  draw() {
    const trace = this.shownTrace;
    const { time, link, hover } = this.state;
    if (!trace || this.isAsBefore(trace, time, link, hover)) return;
    if (trace !== this.trace) this.take(trace);
    this.place();
    const pen = sized(this.canvas, this.width, this.height);
    const now = this.now();
    this.drawLinks(pen, now);
    this.drawNodes(pen, now);
    this.drawMessages(pen, now);
    this.caption(now);
  }

  /** Another run: its links in both directions, and those with queues in the list. */
  take(trace) {
    this.trace = trace;
    this.placedFor = null;
    this.linkCount = trace.ends.length / 2;
    const waits = new Map();
    for (const wait of trace.waits) waits.set(wait.link, (waits.get(wait.link) ?? 0) + wait.grant - wait.arrival);
    const options = [...waits].sort((one, other) => other[1] - one[1])
      .map(([link, seconds]) => `<option value="${link}">${escaped(this.linkName(link))} (${duration(seconds)})</option>`);
    this.select.innerHTML = `<option value="">${text(waits.size ? "choose" : "noQueue")}</option>${options.join("")}`;
    // How many messages a rank receives; one that only sends is full from the beginning.
    this.receives = new Float32Array(trace.ranks);
    this.sends = new Float32Array(trace.ranks);
    for (const message of trace.messages) {
      this.receives[message.to]++;
      this.sends[message.from] = 1;
    }
    this.ranksAt = new Map();
    trace.node.forEach((vertex, rank) => this.ranksAt.set(vertex, [...(this.ranksAt.get(vertex) ?? []), rank]));
  }

  /** A node by its number, a switch as S and its number. */
  vertexName(vertex) {
    return vertex < this.trace.hosts ? String(vertex) : `S${vertex - this.trace.hosts}`;
  }

  linkName(link) {
    if (this.trace.stubs.length) return text("bus");
    return `${this.vertexName(this.trace.ends[2 * link])} → ${this.vertexName(this.trace.ends[2 * link + 1])}`;
  }

  place() {
    const room = clamp(heightFor(this) - 380, 240, 620), { position } = this.trace;
    if (this.placedFor === `${this.width} ${room}`) return;
    this.placedFor = `${this.width} ${room}`;
    const [xs, ys] = [0, 1].map((axis) => position.filter((_, k) => k % 2 === axis));
    const [left, right, top, bottom] = [smallest(xs), largest(xs), smallest(ys), largest(ys)];
    // Room around for links that are bent outside.
    const most = largest(Array.from(this.trace.bend, Math.abs), 0), edge = 20;
    this.step = Math.min((this.width - 2 * edge) / Math.max(right - left + 2 * most, 1), (room - 2 * edge) / Math.max(bottom - top + 2 * most, 1), 90);
    this.height = Math.round(this.step * (bottom - top + 2 * most) + 2 * edge);
    const shift = (this.width - this.step * (right - left)) / 2;
    const places = Array.from({ length: position.length / 2 }, (_, k) =>
      [shift + this.step * (position[2 * k] - left), edge + this.step * (position[2 * k + 1] - top + most)]);
    this.at = (vertex) => places[vertex];
    this.radius = clamp(this.step * 0.24, 3, 13);
    this.roads = new Roads(this.trace, this.at, Math.min(2.6, this.step / 14), this.step);
    this.dots = this.trace.node.reduce((all, vertex, rank) => all.set(rank, this.dot(vertex, rank)), new Map());
  }

  /** Where a rank is drawn, and how large: several of a node stand around its middle. */
  dot(vertex, rank) {
    const [x, y] = this.at(vertex), those = this.ranksAt.get(vertex);
    if (those.length === 1) return [x, y, this.radius];
    const angle = (2 * Math.PI * those.indexOf(rank)) / those.length - Math.PI / 2, small = this.radius * Math.max(0.28, 0.9 / (1 + those.length ** 0.5));
    return [x + Math.cos(angle) * this.radius * 0.95, y + Math.sin(angle) * this.radius * 0.95, small];
  }

  /** What there is at the time of the clock: by link what it carried and who waits; messages on the way; by rank the
   * messages, and parts of them, that it has received. */
  now() {
    const { time } = this.state;
    const carried = new Float32Array(this.linkCount), received = new Float32Array(this.trace.ranks), waiting = new Map(), moving = [];
    let arrived = 0;
    for (const message of this.trace.messages) {
      if (message.begin > time && message.arrival > time) continue;
      const { recorded, arrival, to } = message;
      if (arrival <= time) {
        arrived++;
        received[to]++;
      } else {
        moving.push(message);
        const begin = recorded ? message.hops.at(-1).grant : message.begin;
        received[to] += clamp((time - begin) / (arrival - begin || 1), 0, 1);
      }
      for (const hop of message.hops) {
        if (!recorded || hop.grant <= time) carried[hop.link]++;
        else if (hop.arrival <= time) {
          if (!waiting.has(hop.link)) waiting.set(hop.link, []);
          waiting.get(hop.link).push(message);
        }
      }
    }
    return { carried, received, waiting, moving, arrived };
  }

  drawLinks(pen, { carried, waiting }) {
    const halo = this.hatch(pen);
    const [hair, blue, ink] = ["base", "sim-2", "ink"].map((name) => this.colour(name));
    const most = largest(carried, 4);
    pen.lineCap = "round";
    const groups = new Map(); // links of one colour and width are one path
    const add = (colour, width, link) => {
      const key = `${width} ${colour}`;
      if (!groups.has(key)) groups.set(key, { colour, width, links: [] });
      groups.get(key).links.push(link);
    };
    for (let link = 0; link < this.linkCount; link++) if (waiting.has(link)) add(halo, 12, link);
    if (this.state.link !== null && this.state.link < this.linkCount) add(ink, 7, this.state.link);
    for (let link = 0; link < this.linkCount; link++) {
      if (!carried[link] && !waiting.has(link)) add(hair, 0.8, link);
      else add(blue, Math.round(10 * (1.4 + (3.4 * carried[link]) / most)) / 10, link);
    }
    for (const { colour, width, links } of groups.values()) {
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      for (const link of links) this.roads.trail(pen, link);
      pen.stroke();
    }
    if (this.trace.stubs.length) this.drawStubs(pen, hair);
  }

  /** From the nodes to the line of a bus. */
  drawStubs(pen, colour) {
    const { y1 } = this.roads.lines[0];
    pen.strokeStyle = colour;
    pen.lineWidth = 1.2;
    pen.beginPath();
    for (let k = 0; k < this.trace.stubs.length; k += 2) {
      const [x, y] = this.at(this.trace.stubs[k]);
      pen.moveTo(x, y);
      pen.lineTo(x, y1);
    }
    pen.stroke();
  }

  drawNodes(pen, { received }) {
    const [paper, blue, line, ink, muted] = ["paper", "sim", "base", "ink", "muted"].map((name) => this.colour(name));
    this.drawOthers(pen, paper, line);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const [rank, [x, y, radius]] of this.dots) {
      const filled = this.receives[rank] ? received[rank] / this.receives[rank] : this.sends[rank];
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fillStyle = filled > 0.999 ? blue : paper;
      pen.fill();
      if (filled > 0 && filled <= 0.999) {
        pen.save();
        pen.clip();
        pen.fillStyle = blue;
        pen.fillRect(x - radius, y + radius - 2 * radius * filled, 2 * radius, 2 * radius * filled);
        pen.restore();
      }
      pen.strokeStyle = this.state.hover === rank ? ink : filled > 0 ? blue : line;
      pen.lineWidth = this.state.hover === rank ? 3 : 1.2;
      pen.stroke();
      if (radius < 7) continue;
      pen.font = `600 ${Math.round(radius * 0.86)}px Inter, sans-serif`;
      const isPart = filled > 0.02 && filled <= 0.999; // half on blue, half on paper
      if (isPart) {
        pen.strokeStyle = paper;
        pen.lineWidth = 2.5;
        pen.lineJoin = "round";
        pen.strokeText(rank, x, y + 0.5);
      }
      pen.fillStyle = isPart ? ink : filled > 0.999 ? paper : muted;
      pen.fillText(rank, x, y + 0.5);
    }
  }

  /** Switches as squares; nodes without a rank, or around which their ranks stand, as small circles. */
  drawOthers(pen, paper, line) {
    const { hosts, position, stubs } = this.trace, size = clamp(this.radius * 0.62, 2, 7);
    const vertices = position.length / 2 - (stubs.length ? 2 : 0);
    pen.fillStyle = paper;
    pen.strokeStyle = line;
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (let vertex = 0; vertex < vertices; vertex++) {
      const [x, y] = this.at(vertex);
      if (vertex >= hosts) pen.rect(x - size, y - size, 2 * size, 2 * size);
      else if (this.ranksAt.get(vertex)?.length !== 1) {
        pen.moveTo(x + size, y);
        pen.arc(x, y, size, 0, 2 * Math.PI);
      }
    }
    pen.fill();
    pen.stroke();
  }

  /** A message stands where its head and tail are on average: it stops exactly where it queues; and it leaves and reaches nodes
   * at their rims, so that their numbers can be read. */
  drawMessages(pen, { moving, waiting }) {
    const { time } = this.state;
    const [ink, paper] = ["ink", "paper"].map((name) => this.colour(name));
    const size = clamp(this.radius * 0.34, 2, 4.5);
    const spots = moving.filter((message) => message.hops.length).map((message) => this.spot(message, time));
    this.dotsOfMessages.draw(pen, this.width, this.height, spots, size, ink, paper);
    pen.fillStyle = paper;
    pen.strokeStyle = ink;
    pen.lineWidth = 1.2;
    for (const [link, queue] of waiting)
      queue.forEach((_, k) => {
        const [x, y] = this.roads.queue(link, k, this.radius + 5);
        pen.fillRect(x - 3, y - 3, 6, 6);
        pen.strokeRect(x - 3, y - 3, 6, 6);
      });
  }

  spot(message, time) {
    const { hops } = message;
    let along = 0;
    if (message.recorded) for (const hop of hops) along += clamp((time - hop.grant) / (hop.end - hop.grant || 1), 0, 1);
    else along = (hops.length * (time - message.begin)) / (message.arrival - message.begin || 1);
    const hop = Math.min(Math.floor(along), hops.length - 1), part = clamp(along - hop, 0, 1);
    const rim = Math.min(this.radius * 1.6, 0.4 * this.roads.length(hops[hop].link, message)) / this.roads.length(hops[hop].link, message);
    const [from, to] = [hop === 0 ? rim : 0, hop === hops.length - 1 ? 1 - rim : 1];
    return this.roads.place(hops[hop].link, from + part * (to - from), message);
  }

  caption({ arrived, waiting }) {
    let count = 0;
    for (const queue of waiting.values()) count += queue.length;
    const { time, link } = this.state, { messages, end } = this.trace;
    const words = messages.length ? text("haveIt", arrived, messages.length) : text("noMessages");
    const done = time >= end ? ` · ${text("done", duration(end))}` : "";
    this.fill(".count", `${words}${count ? ` · <em class="role-waiting">${text("waitingNow", count)}</em>` : ""}${done}`);
    this.canvas.setAttribute("aria-label", `${this.options.title || text("network")}, ${text("time")} ${duration(time)}: ${words}; ${text("waitingNow", count)}`);
    const chosen = String(link ?? "");
    this.select.value = [...this.select.options].some((option) => option.value === chosen) ? chosen : "";
    this.fill(".info", `<span class="faint">${escaped(text("shown", this.lesson.words(this.run, this.trace.at)))}</span>${link === null ? "" : this.linkInfo(link)}`);
  }

  fill(selector, html) {
    const place = this.querySelector(selector);
    if (place.dataset.shown === html) return;
    place.dataset.shown = html;
    place.innerHTML = html;
  }

  /** Who is on a link now and who waits for whom, then all that passed it. */
  linkInfo(link) {
    if (link >= this.linkCount) return "";
    const rows = this.trace.messages.flatMap((message) =>
      message.hops.filter((hop) => hop.link === link && message.recorded).map((hop) => ({ ...hop, message })));
    rows.sort((one, other) => one.grant - other.grant);
    const { time } = this.state;
    const name = ({ message }) => `${message.from} → ${message.to}`;
    const holder = rows.find((row) => row.grant <= time && time < row.end);
    const queue = rows.filter((row) => row.arrival <= time && time < row.grant);
    const now = holder && queue.length
      ? `<br><b>${text("holds", name(holder))}</b> <em class="role-waiting">${text("waitFor", queue.map(name).join(", "))}</em>` : "";
    const words = rows.slice(0, MOST_LINES).map((row) => {
      const { message, arrival, grant, end } = row, span = [duration(grant), duration(end)];
      if (grant <= arrival) return `<br>${text("noWait", message.from, message.to, ...span)}`;
      const before = rows.find((one) => one !== row && one.grant <= arrival && arrival < one.end);
      const waited = `<em class="role-waiting">${duration(grant - arrival)}</em>`;
      return `<br>${text("waited", message.from, message.to, before ? text("forWhom", waited, name(before)) : waited, ...span)}`;
    });
    const rest = rows.length > MOST_LINES ? `<br>${text("more", rows.length - MOST_LINES)}` : "";
    return `<br><b>${text("carried", escaped(this.linkName(link)))}</b>${now}${words.join("")}${rest}`;
  }

  nodeAt(event) {
    const [x, y] = pointerIn(this.canvas, event);
    let best = null;
    for (const [rank, [nx, ny, radius]] of this.dots ?? []) if (Math.hypot(nx - x, ny - y) < radius + 2) best = rank;
    return best;
  }
}
