// The buttons at the top: dark or light, and the answers as a file.
import { Figure } from "../figure.js";
import { checkedCode, codeForm, placeOf } from "../code.js";
import { text } from "../texts.js";

export class Theme extends Figure {
  static uses = [];

  build() {
    this.innerHTML = `<button type="button" class="ghost" aria-label="${text("theme")}">◐</button>`;
    this.firstChild.addEventListener("click", () => {
      const root = document.documentElement;
      const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = isDark ? "light" : "dark";
      dispatchEvent(new Event("themechange"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
  }
}

export class Export extends Figure {
  static uses = [];

  build() {
    this.innerHTML = `<button type="button" class="ghost">${text("export")}</button>`;
    this.firstChild.addEventListener("click", () => (this.state.code ? this.save() : this.ask()));
  }

  /** Which of `count` combinations is that of a code, for tests. */
  placeOf(code, count) {
    return placeOf(this.lesson.name, checkedCode(code), count);
  }

  /** Whose answers they are. */
  ask() {
    const dialog = document.createElement("dialog");
    dialog.setAttribute("aria-label", text("export"));
    dialog.append(codeForm((code) => {
      dialog.close();
      this.store.set({ code });
      this.save();
    }, true));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  save() {
    const { lesson } = this, { code, started, predictions, answers } = this.state;
    const file = {
      simcodesign: 1, lesson: lesson.name, language: lesson.language, content: lesson.content, exam: lesson.exam, code, parameters: lesson.parameters ?? {},
      answers, predictions, started, exported: new Date().toISOString(),
    };
    this.store.set({ exported: answers });
    download(code ? `answers-${code}.json` : "answers.json", "application/json", JSON.stringify(file, null, 1));
  }
}

export function download(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
