// What the header and its arrays say: times at stops, ladders, traces. No formula stands here: all is looked up.

export class Lesson {
  constructor(header) {
    Object.assign(this, header);
    this.traceOf = new Map();
  }

  run(name) {
    return { ...this.runs[name], key: name };
  }

  view(element) {
    return this.steps[element.dataset.step].views[element.dataset.view];
  }

  slider(name) {
    return this.sliders[name];
  }

  /** The forecast of a run at stops, in s; null where an exam withholds it. */
  forecast(run, stops) {
    const array = this.arrays[`${run.key}/formula`];
    if (!array) return null;
    const { shape, data } = array;
    let place = 0;
    run.sliders.forEach((name, axis) => (place = place * shape[axis] + stops[name]));
    return data[place];
  }

  /** Of a run at the nearest simulated stops: {mean, low, high, exact, at} of rung `rung`. */
  simulated(run, stops, rung) {
    const { shape, data } = this.arrays[`${run.key}/simulated`];
    const at = {};
    let place = 0;
    run.sliders.forEach((name, axis) => {
      const choices = run.simulated[name];
      const nearest = this.nearest(name, choices, stops[name]);
      at[name] = choices[nearest];
      place = place * shape[axis] + nearest;
    });
    const width = shape.at(-1);
    const begin = (place * shape.at(-2) + rung) * width;
    const exact = run.sliders.every((name) => at[name] === stops[name]);
    return { mean: data[begin], low: data[begin + (width > 1 ? 1 : 0)], high: data[begin + (width > 1 ? 2 : 0)], exact, at };
  }

  /** The place among `choices` (numbers of stops) of the one whose value is nearest to that of a stop, by ratio. */
  nearest(name, choices, stop) {
    const { stops } = this.sliders[name];
    const distance = (number) => Math.abs(Math.log((stops[number].value || 1e-30) / (stops[stop].value || 1e-30)));
    let best = 0;
    choices.forEach((number, place) => (best = distance(number) < distance(choices[best]) ? place : best));
    return best;
  }

  /** The kept run that is nearest to the stops, at a rung and of a draw: arrays by name, and `at`. */
  trace(run, stops, rung, draw = 0) {
    if (!run.traces.length) return null;
    const one = this.#kept(run, stops), number = Math.min(draw, one.draws[rung] - 1);
    const key = `${one.arrays}${rung}${number ? `.${number}` : ""}`;
    if (!this.traceOf.has(key)) this.traceOf.set(key, this.#readTrace(one, key));
    return this.traceOf.get(key);
  }

  /** Of how many draws there is a trace. */
  draws(run, stops, rung) {
    return run.traces.length ? this.#kept(run, stops).draws[rung] : 0;
  }

  #kept(run, stops) {
    const off = (one) =>
      run.sliders.reduce((sum, name) => sum + Math.abs(Math.log(this.#value(name, one.at[name]) / this.#value(name, stops[name]))), 0);
    return run.traces.reduce((best, each) => (off(each) < off(best) ? each : best));
  }

  /** Whether draws differ, at a rung of what is kept: the mean of `run.seeds` is not the time of any of them. */
  isRandom(run, stops, rung) {
    const at = run.traces.length ? this.#kept(run, stops).at : stops, { low, high } = this.simulated(run, at, rung);
    return high > low;
  }

  #value(name, stop) {
    return this.sliders[name].stops[stop].value || 1e-30;
  }

  #readTrace(one, key) {
    const get = (name) => this.arrays[`${one.arrays}${name}`].data;
    const own = (name) => this.arrays[`${key}/${name}`].data;
    const [ops, opTimes, messages, times] = ["ops", "op_times", "messages", "message_times"].map(own);
    const [start, way, visits] = ["way_start", "way", "visits"].map(own);
    const trace = { at: one.at, position: get("position"), ends: get("ends"), bend: get("bend"), stubs: get("stubs"), hosts: get("hosts")[0], node: [...get("node")], ops: [], messages: [], path: [] };
    for (let k = 0; k < ops.length / 3; k++)
      trace.ops.push({ rank: ops[3 * k], kind: ops[3 * k + 1], peer: ops[3 * k + 2], ready: opTimes[3 * k], begin: opTimes[3 * k + 1], end: opTimes[3 * k + 2] });
    for (let k = 0; k < messages.length / 4; k++) {
      const hops = [];
      for (let h = start[k]; h < start[k + 1]; h++)
        hops.push({ link: way[h], arrival: visits[3 * h], grant: visits[3 * h + 1], end: visits[3 * h + 2] });
      const message = { from: messages[4 * k + 1], to: messages[4 * k + 2], begin: times[3 * k], arrival: times[3 * k + 1], bytes: times[3 * k + 2], hops };
      message.recorded = messages[4 * k + 3] === hops.length && hops.length > 0;
      trace.messages.push(message);
    }
    const [path, pathTimes] = [own("path"), own("path_times")];
    for (let k = 0; k < path.length / 3; k++)
      trace.path.push({ rank: path[3 * k], message: path[3 * k + 1], link: path[3 * k + 2], from: pathTimes[2 * k], to: pathTimes[2 * k + 1] });
    const names = one.stations[key.slice(one.arrays.length)];
    if (names) this.#readStations(trace, names, own);
    trace.ranks = trace.node.length;
    trace.end = trace.ops.reduce((most, op) => Math.max(most, op.end), 0);
    trace.waits = trace.messages.flatMap((message) =>
      message.recorded ? message.hops.filter((hop) => hop.grant > hop.arrival).map((hop) => ({ ...hop, message })) : []);
    return trace;
  }

  #readStations(trace, names, own) {
    const [served, times] = ["served", "served_times"].map(own);
    trace.stationNames = names;
    trace.served = Array.from({ length: served.length / 2 }, (_, k) =>
      ({ station: served[2 * k], op: served[2 * k + 1], arrival: times[3 * k], grant: times[3 * k + 1], end: times[3 * k + 2] }));
  }

  /** The rows of the event list of a run at a rung: those of `run.events`. */
  events(run, rung) {
    return run.events?.rungs[rung] ?? [];
  }

  /** When the last of these runs ends, as they are shown. */
  endOf(names, stops, rung, draw) {
    const ends = names.map((name) => this.run(name)).flatMap((run) => {
      const own = Math.min(rung ?? run.effects.length, run.effects.length);
      return [this.trace(run, stops, own, draw)?.end ?? 0, this.events(run, own).at(-1)?.time ?? 0];
    });
    return Math.max(0, ...ends);
  }

  /** How many effects of a run come before the first that is random: texts, clock and predictions are of these. */
  calmRung(run) {
    const first = run.effects.findIndex((effect) => effect.random);
    return first < 0 || this.begins_with_chance ? run.effects.length : first;
  }

  /** Stops of the sliders of a run in words, without `without`. */
  words(run, at, without) {
    return run.sliders
      .filter((name) => name !== without)
      .map((name) => `${this.sliders[name].stops[at[name]].text}${this.sliders[name].dimension === "count" ? " " + this.sliders[name].about : ""}`)
      .join(", ");
  }
}
