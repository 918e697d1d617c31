"use strict";
// Search, sorting and pictures of the report. Without it the page shows everything but the pictures.
(() => {
  const all = (query, of = document) => [...of.querySelectorAll(query)];
  const cases = all("details.case"), rows = all("#cases tbody tr"), cards = all(".card");
  const ready = new Map();

  // Pictures: a pack for each card, unpacked once; each is put where it belongs when its case is opened.
  async function unpack(card) {
    const pack = document.getElementById(`pack-${card.id}`);
    if (!pack || ready.has(card.id)) return;
    const bytes = Uint8Array.from(atob(pack.textContent), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    ready.set(card.id, (await new Response(stream).text()).split("\0"));
  }
  function fill(place) {
    const pictures = ready.get(place.closest(".card").id);
    if (!pictures || place.firstChild) return;
    place.innerHTML = pictures[place.dataset.picture];
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `Plot of the values of ${place.closest(".case").id}`);
  }
  async function show(one) {
    await unpack(one.closest(".card"));
    all(".picture", one).forEach(fill);
  }
  document.addEventListener("toggle", event => {
    if (event.target.open && event.target.matches(".case")) show(event.target);
  }, true);
  const unpacked = Promise.all(cards.map(unpack)).then(() => { document.body.dataset.ready = "yes"; });
  unpacked.catch(error => console.error(error));

  // A link to a case opens whatever it is folded up in.
  function open() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let one = target; one; one = one.parentElement) if (one.matches("details")) one.open = true;
    const inner = target.matches(".card") && target.querySelector("details");
    if (inner) inner.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", open);
  document.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) open();
  });

  // Everything is on paper.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach(one => { one.open = true; });
    all(".picture").forEach(fill);
  });
  addEventListener("afterprint", () => opened.forEach(one => { one.open = false; }));

  // Search and filter, of the table and of the cards alike.
  const search = document.getElementById("search"), chosen = document.getElementById("card");
  const found = document.getElementById("found");
  const texts = new Map();
  const text = one => texts.get(one) || texts.set(one, one.textContent.toLowerCase()).get(one);
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = document.querySelector("input[name=only]:checked").value;
    const shown = new Set(cases.filter(one =>
      (!only || one.classList.contains(only)) && (!chosen.value || one.closest(".card").id === chosen.value)
      && words.every(word => text(one).includes(word))).map(one => one.id));
    cases.forEach(one => { one.hidden = !shown.has(one.id); });
    rows.forEach(row => { row.hidden = !shown.has(row.querySelector("a").hash.slice(1)); });
    cards.forEach(card => { card.hidden = !card.querySelector(".case:not([hidden])"); });
    found.textContent = `${shown.size.toLocaleString("en")} of ${cases.length.toLocaleString("en")} cases`;
  }
  let waiting;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  search.form.addEventListener("submit", event => event.preventDefault());
  [chosen, ...all("input[name=only]")].forEach(one => one.addEventListener("change", filter));
  filter();

  // Sort by a click on the head of a column: words by their letters, deviations by their size.
  const body = document.querySelector("#cases tbody");
  const words = row => row.cells[1].textContent;
  const size = at => row => {
    const part = row.cells[at] ? row.cells[at].textContent : "";
    const value = parseFloat(part.replaceAll("\u2212", "-").replace(/holds, (x )?|[^\d.e+-]/g, ""));
    return Number.isNaN(value) ? -1 : Math.abs(value);
  };
  const rank = ["differs", "not-reproduced", "not-recoverable", "source-inconsistent", "own-consistency-check",
    "reproduced-under-a-chosen-reading", "published-number-reproduced"];
  const keys = { verdict: row => rank.findIndex(name => row.classList.contains(name)), case: words,
    points: size(2), deviation: size(7) };
  all("#cases th[data-sort]").forEach(head => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "none" ? ["points", "deviation"].includes(head.dataset.sort)
        : head.getAttribute("aria-sort") === "ascending";
      all("#cases th[data-sort]").forEach(one => one.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const key = keys[head.dataset.sort], sign = falling ? -1 : 1;
      const known = rows.map((row, at) => [key(row), at, row]);
      known.sort(([a, i], [b, j]) => sign * (a < b ? -1 : a > b ? 1 : 0) || i - j);
      body.append(...known.map(([, , row]) => row));
    });
  });

  all("[data-script]").forEach(one => { one.hidden = false; });
  // Wide tables can be moved by the keyboard.
  document.addEventListener("toggle", () => all(".scroll").forEach(one => {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
  }), true);
  open();
})();
