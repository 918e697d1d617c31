// The buttons at the top: dark or light, and the answers as a file.
import { Figure } from "../figure.js";
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
    this.firstChild.addEventListener("click", () => this.save());
  }

  save() {
    const { predictions, answers } = this.state;
    const file = new Blob([JSON.stringify({ simcodesign: 1, lesson: this.lesson.name, predictions, answers }, null, 1)], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = "answers.json";
    link.click();
    URL.revokeObjectURL(link.href);
  }
}
