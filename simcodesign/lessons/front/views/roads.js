// Where links run in a picture of a network: both directions of a cable side by side, bent where they would pass over a
// node; on a bus from a node to the line, along it and to another node.

export class Roads {
  /** `at`: a vertex in pixels; `off`: by how many pixels the two directions stand apart; `step`: pixels of one step. */
  constructor(trace, at, off, step) {
    const { ends, bend } = trace;
    this.trace = trace;
    this.at = at;
    this.lines = Array.from({ length: ends.length / 2 }, (_, link) => {
      const [x1, y1] = at(ends[2 * link]), [x2, y2] = at(ends[2 * link + 1]);
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const [nx, ny] = [-(y2 - y1) / length, (x2 - x1) / length];
      const isBus = trace.stubs.length > 0, aside = isBus ? 0 : off;
      const far = 2 * ((bend[link] ?? 0) * step) + aside; // of the control point of a quadratic curve
      const one = { x1: x1 + nx * aside, y1: y1 + ny * aside, x2: x2 + nx * aside, y2: y2 + ny * aside, bends: Boolean(bend[link]) };
      return { ...one, cx: (x1 + x2) / 2 + nx * far, cy: (y1 + y2) / 2 + ny * far };
    });
  }

  /** The point of a link at a part of its way. */
  point(link, part) {
    const { x1, y1, x2, y2, cx, cy, bends } = this.lines[link];
    if (!bends) return [x1 + part * (x2 - x1), y1 + part * (y2 - y1)];
    const rest = 1 - part;
    return [rest * rest * x1 + 2 * rest * part * cx + part * part * x2, rest * rest * y1 + 2 * rest * part * cy + part * part * y2];
  }

  /** Adds a link to the path of a pen. */
  trail(pen, link) {
    const { x1, y1, x2, y2, cx, cy, bends } = this.lines[link];
    pen.moveTo(x1, y1);
    if (bends) pen.quadraticCurveTo(cx, cy, x2, y2);
    else pen.lineTo(x2, y2);
  }

  /** How far a message goes over a link, in pixels. */
  length(link, message) {
    const { x1, y1, x2, y2 } = this.lines[link];
    if (!this.trace.stubs.length) return Math.hypot(x2 - x1, y2 - y1) || 1;
    const [from, to] = [message.from, message.to].map((rank) => this.at(this.trace.node[rank]));
    return Math.abs(from[1] - y1) + Math.abs(to[0] - from[0]) + Math.abs(to[1] - y1) || 1;
  }

  /** Where a message is that has passed `part` of a hop over a link. */
  place(link, part, message) {
    if (!this.trace.stubs.length) return this.point(link, part);
    const [from, to] = [message.from, message.to].map((rank) => this.at(this.trace.node[rank]));
    const y = this.lines[link].y1;
    const corners = [from, [from[0], y], [to[0], y], to];
    const legs = corners.slice(1).map(([x, y2], k) => Math.hypot(x - corners[k][0], y2 - corners[k][1]));
    let rest = part * legs.reduce((sum, leg) => sum + leg, 0);
    for (let k = 0; k < 3; k++) {
      if (rest <= legs[k] || k === 2) {
        const share = Math.min(rest / (legs[k] || 1), 1);
        return [corners[k][0] + share * (corners[k + 1][0] - corners[k][0]), corners[k][1] + share * (corners[k + 1][1] - corners[k][1])];
      }
      rest -= legs[k];
    }
    return to;
  }

  /** Where the k-th of those who wait for a link stands: beside its beginning, `start` pixels from the node. */
  queue(link, k, start) {
    const { x1, y1, x2, y2, cx, cy, bends } = this.lines[link];
    if (this.trace.stubs.length) return [x1 + 10 + 8 * k, y1 - 8];
    const angle = bends ? Math.atan2(cy - y1, cx - x1) : Math.atan2(y2 - y1, x2 - x1);
    const along = start + 7 * k;
    return [x1 + Math.cos(angle + 0.5) * along, y1 + Math.sin(angle + 0.5) * along];
  }

  /** The link nearest to a point, within `most` pixels; null if there is none. */
  nearest(x, y, most) {
    let best = null, nearest = most;
    this.lines.forEach((one, link) => {
      for (let k = 0; k <= 16; k++) {
        const [px, py] = this.point(link, k / 16);
        const off = Math.hypot(x - px, y - py) + (one.bends ? 0 : this.#beyond(one, x, y));
        if (off < nearest) [best, nearest] = [link, off];
      }
    });
    return best;
  }

  /** Of two directions side by side, the one on whose side the point is, is nearer. */
  #beyond({ x1, y1, x2, y2 }, x, y) {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    return Math.abs((x - x1) * (y2 - y1) - (y - y1) * (x2 - x1)) / length / 4;
  }
}
