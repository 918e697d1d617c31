// The network at one time: messages where they are on their routes, links thick by what they have carried and red where
// messages queue, nodes filled as their copies arrive.
import { Figure, sized } from "../figure.js";
import { clamp, duration, escaped } from "../numbers.js";
import { text } from "../texts.js";


export class Network extends Figure {
  static uses = ["stops", "rung", "time", "link", "hover"];

  build() {
    this.run = this.runs[0];
    this.innerHTML = `<figure>${this.heading(this.options.title, '<span class="count"></span>')}<canvas role="img"></canvas>
      <label class="note"><span>${text("links")}</span> <select></select></label><p class="note info" aria-live="polite"></p></figure>`;
    this.canvas = this.querySelector("canvas");
    this.select = this.querySelector("select");
    this.select.addEventListener("change", () => this.store.set({ link: this.select.value === "" ? null : Number(this.select.value) }));
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("pointermove", (event) => this.store.set({ hover: this.nodeAt(event) }));
    this.canvas.addEventListener("pointerleave", () => this.store.set({ hover: null }));
  }

  draw() {
    const trace = this.lesson.trace(this.run, this.state.stops, this.rungOf(this.run));
    if (!trace) return;
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
    this.linkCount = trace.ends.length / 2;
    const waits = new Map();
    for (const wait of trace.waits) waits.set(wait.link, (waits.get(wait.link) ?? 0) + wait.grant - wait.arrival);
    const options = [...waits].sort((one, other) => other[1] - one[1])
      .map(([link, seconds]) => `<option value="${link}">${this.linkName(link)} (${duration(seconds)})</option>`);
    this.select.innerHTML = `<option value="">${text(waits.size ? "choose" : "noQueue")}</option>${options.join("")}`;
    this.into = new Map();
    for (const message of trace.messages) this.into.set(message.to, [...(this.into.get(message.to) ?? []), message]);
  }

  linkName(link) {
    return `${this.trace.ends[2 * link]} → ${this.trace.ends[2 * link + 1]}`;
  }

  place() {
    const { position } = this.trace;
    const xs = position.filter((_, k) => k % 2 === 0), ys = position.filter((_, k) => k % 2 === 1);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const room = clamp(innerHeight - 380, 240, 620);
    this.step = Math.min((this.width - 34) / Math.max(right - left, 1), (room - 34) / Math.max(bottom - top, 1), 90);
    this.height = Math.round(this.step * (bottom - top) + 40);
    const shift = (this.width - this.step * (right - left)) / 2;
    this.at = (vertex) => [shift + this.step * (position[2 * vertex] - left), 20 + this.step * (position[2 * vertex + 1] - top)];
    this.radius = clamp(this.step * 0.24, 3, 13);
  }

  /** What there is at the time of the clock: by link what it carried and who waits; messages on the way. */
  now() {
    const { time } = this.state;
    const carried = new Float32Array(this.linkCount), waiting = new Map(), moving = [];
    let arrived = 0;
    for (const message of this.trace.messages) {
      if (message.arrival <= time) arrived++;
      for (const hop of message.hops) {
        if (message.recorded ? hop.grant <= time : message.begin <= time) carried[hop.link]++;
        if (message.recorded && hop.arrival <= time && time < hop.grant) waiting.set(hop.link, [...(waiting.get(hop.link) ?? []), message]);
      }
      if (message.begin <= time && time < message.arrival) moving.push(message);
    }
    return { carried, waiting, moving, arrived };
  }

  /** Both directions of a cable side by side: [x1, y1, x2, y2]. */
  lane(link) {
    const [from, to] = [this.trace.ends[2 * link], this.trace.ends[2 * link + 1]];
    const [[x1, y1], [x2, y2]] = [this.at(from), this.at(to)];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1, off = Math.min(2.6, this.step / 14);
    const [dx, dy] = [(-(y2 - y1) / length) * off, ((x2 - x1) / length) * off];
    return [x1 + dx, y1 + dy, x2 + dx, y2 + dy];
  }

  drawLinks(pen, { carried, waiting }) {
    const [hair, blue, red, halo, ink] = ["base", "sim-2", "wait", "wait-2", "ink"].map((name) => this.colour(name));
    const most = Math.max(4, ...carried);
    pen.lineCap = "round";
    for (let link = 0; link < this.linkCount; link++) {
      const [x1, y1, x2, y2] = this.lane(link);
      const queue = waiting.get(link)?.length ?? 0;
      const stroke = (colour, width) => {
        pen.strokeStyle = colour;
        pen.lineWidth = width;
        pen.beginPath();
        pen.moveTo(x1, y1);
        pen.lineTo(x2, y2);
        pen.stroke();
      };
      if (queue) stroke(halo, 9);
      if (this.state.link === link) stroke(ink, 7);
      if (!carried[link] && !queue) stroke(hair, 0.8);
      else stroke(queue ? red : blue, 1.4 + (3.4 * carried[link]) / most);
    }
  }

  drawNodes(pen, { arrived }) {
    const { time } = this.state, { radius } = this;
    const [paper, blue, line, ink, muted] = ["paper", "sim", "base", "ink", "muted"].map((name) => this.colour(name));
    const sources = new Set(this.trace.messages.map((message) => message.from));
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = `600 ${Math.round(radius * 0.86)}px Inter, sans-serif`;
    this.trace.node.forEach((vertex, rank) => {
      const [x, y] = this.at(vertex);
      const filled = this.filled(rank, time, sources.has(rank));
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fillStyle = paper;
      pen.fill();
      if (filled > 0) {
        pen.save();
        pen.clip();
        pen.fillStyle = blue;
        pen.fillRect(x - radius, y + radius - 2 * radius * filled, 2 * radius, 2 * radius * filled);
        pen.restore();
      }
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.strokeStyle = this.state.hover === rank ? ink : filled > 0 ? blue : line;
      pen.lineWidth = this.state.hover === rank ? 3 : 1.2;
      pen.stroke();
      if (radius < 7) return;
      pen.fillStyle = filled > 0.55 ? paper : muted;
      pen.fillText(rank, x, y + 0.5);
    });
  }

  /** The part of what a rank receives that has come: 1 for one that only sends. */
  filled(rank, time, isSource) {
    const messages = this.into.get(rank);
    if (!messages) return isSource ? 1 : 0;
    const parts = messages.map((message) => {
      if (message.arrival <= time) return 1;
      const begin = message.recorded ? message.hops.at(-1).grant : message.begin;
      return clamp((time - begin) / (message.arrival - begin || 1), 0, 1);
    });
    return parts.reduce((sum, part) => sum + part, 0) / parts.length;
  }

  /** A message stands where its head and tail are on average: it stops exactly where it queues. */
  drawMessages(pen, { moving, waiting }) {
    const { time } = this.state;
    const [ink, paper, red] = ["ink", "paper", "wait"].map((name) => this.colour(name));
    const size = clamp(this.radius * 0.34, 2, 4.5);
    for (const message of moving) {
      const { hops } = message;
      if (!hops.length) continue;
      const along = message.recorded
        ? hops.reduce((sum, hop) => sum + clamp((time - hop.grant) / (hop.end - hop.grant || 1), 0, 1), 0)
        : (hops.length * (time - message.begin)) / (message.arrival - message.begin || 1);
      const hop = Math.min(Math.floor(along), hops.length - 1);
      const [x1, y1, x2, y2] = this.lane(hops[hop].link);
      const part = clamp(along - hop, 0, 1);
      pen.beginPath();
      pen.arc(x1 + part * (x2 - x1), y1 + part * (y2 - y1), size, 0, 2 * Math.PI);
      pen.fillStyle = ink;
      pen.fill();
      pen.strokeStyle = paper;
      pen.lineWidth = 1.5;
      pen.stroke();
    }
    pen.fillStyle = red;
    for (const [link, queue] of waiting) {
      const [x1, y1, x2, y2] = this.lane(link);
      const angle = Math.atan2(y2 - y1, x2 - x1);
      queue.forEach((_, k) => {
        const along = this.radius + 5 + 7 * k;
        pen.fillRect(x1 + Math.cos(angle + 0.5) * along - 3, y1 + Math.sin(angle + 0.5) * along - 3, 6, 6);
      });
    }
  }

  caption({ arrived, waiting }) {
    const count = [...waiting.values()].reduce((sum, queue) => sum + queue.length, 0);
    const { time } = this.state;
    const words = text("haveIt", arrived, this.trace.messages.length);
    const done = time >= this.trace.end ? ` · ${text("done", duration(this.trace.end))}` : "";
    this.querySelector(".count").innerHTML = `${words}${count ? ` · <em class="role-waiting">${text("waitingNow", count)}</em>` : ""}${done}`;
    this.canvas.setAttribute("aria-label", `${this.options.title || text("network")}, ${text("time")} ${duration(time)}: ${words}; ${text("waitingNow", count)}`);
    const { link } = this.state;
    const listed = [...this.select.options].some((option) => option.value === String(link ?? ""));
    this.select.value = listed ? String(link ?? "") : "";
    const info = link === null ? "" : this.linkInfo(link);
    const shown = `<span class="faint">${escaped(text("shown", this.lesson.words(this.run, this.trace.at)))}</span>${info}`;
    const place = this.querySelector(".info");
    if (place.innerHTML !== shown) place.innerHTML = shown;
  }

  linkInfo(link) {
    if (link >= this.linkCount) return "";
    const rows = this.trace.messages.flatMap((message) =>
      message.hops.filter((hop) => hop.link === link && message.recorded).map((hop) => ({ ...hop, message })));
    rows.sort((one, other) => one.grant - other.grant);
    const words = rows.slice(0, 8).map(({ message, arrival, grant, end }) => {
      const waited = grant - arrival, span = [duration(grant), duration(end)];
      return grant > arrival
        ? `<br>${text("waited", message.from, message.to, `<em class="role-waiting">${duration(waited)}</em>`, ...span)}`
        : `<br>${text("noWait", message.from, message.to, ...span)}`;
    });
    return `<br><b>${text("carried", this.trace.ends[2 * link], this.trace.ends[2 * link + 1])}</b>${words.join("")}`;
  }

  nodeAt(event) {
    const [x, y] = this.point(event);
    let best = null;
    this.trace?.node.forEach((vertex, rank) => {
      const [nx, ny] = this.at(vertex);
      if (Math.hypot(nx - x, ny - y) < this.radius + 2) best = rank;
    });
    return best;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The link nearest to a click, of both directions the one on that side. */
  click(event) {
    if (!this.trace) return;
    const [x, y] = this.point(event);
    let best = null, nearest = 12;
    for (let link = 0; link < this.linkCount; link++) {
      const [x1, y1, x2, y2] = this.lane(link);
      const part = clamp(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2 || 1), 0, 1);
      const distance = Math.hypot(x - x1 - part * (x2 - x1), y - y1 - part * (y2 - y1));
      if (distance < nearest) [best, nearest] = [link, distance];
    }
    this.store.set({ link: best });
  }
}

