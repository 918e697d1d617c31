// On paper a page is light, whatever the screen shows, and a clock that has not been played has its run from begin to end.

/** Listens before any figure does: figures draw themselves when printing begins. */
export function printLight(store) {
  const root = document.documentElement;
  let before;
  addEventListener("beforeprint", () => {
    const { time, end } = store.state;
    before = { theme: root.dataset.theme, time };
    root.dataset.theme = "light";
    if (time === 0) store.set({ time: end, playing: false });
    dispatchEvent(new Event("themechange"));
  });
  addEventListener("afterprint", () => {
    if (before.theme === undefined) delete root.dataset.theme;
    else root.dataset.theme = before.theme;
    store.set({ time: before.time });
    dispatchEvent(new Event("themechange"));
  });
}
