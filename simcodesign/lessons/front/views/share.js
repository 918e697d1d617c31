// A link to what is shown, and the HTML that puts the step into another page.
import { Figure } from "../figure.js";
import { linkTo } from "../links.js";
import { escaped } from "../numbers.js";
import { text } from "../texts.js";

export class Share extends Figure {
  static uses = [];

  build() {
    if (!this.lesson.steps.length) return; // the laboratory by itself
    this.innerHTML = `<button type="button" class="ghost">${text("share")}</button>`;
    this.firstChild.addEventListener("click", () => this.open());
  }

  /** The step that is read, or the last one that the browser shows. */
  get step() {
    const current = document.querySelector("nav a[aria-current]")?.hash ?? "#step-1";
    return Number(current.replace("#step-", "")) - 1;
  }

  open() {
    const hash = linkTo(this.lesson, this.state, this.step), page = location.href.split("#")[0];
    const embedded = `<iframe src="${escaped(page + hash.replace("#", "#embed&"))}" title="${escaped(document.title)}" width="100%" height="720" loading="lazy"></iframe>`;
    const dialog = document.createElement("dialog");
    dialog.className = "share";
    dialog.setAttribute("aria-labelledby", "share-head");
    dialog.innerHTML = `<form method="dialog"><h2 id="share-head">${text("share")}</h2>
      <label>${text("shareLink")} <textarea readonly rows="2">${escaped(page + hash)}</textarea></label>
      <label>${text("shareEmbed")} <textarea readonly rows="4">${escaped(embedded)}</textarea></label>
      <p class="note">${text("shareNote")}</p><button type="submit" class="primary">${text("close")}</button></form>`;
    for (const one of dialog.querySelectorAll("textarea")) one.addEventListener("focus", () => one.select());
    dialog.addEventListener("close", () => {
      dialog.remove();
      this.firstChild.focus();
    });
    document.body.append(dialog);
    dialog.showModal();
  }
}
