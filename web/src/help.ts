// What the keys and the pointer do, in a dialog.

import { make } from "./dom.ts";

const KEYS = [
  ["/", "filter the signals"],
  ["← → ↑ ↓", "go from tile to tile"],
  ["Home, End", "go to the first or last tile"],
  ["Enter", "open a signal"],
  ["Esc", "close a signal, or clear the filter"],
  ["?", "show this"],
  ["drag", "in the large drawing: zoom in on a range"],
  ["double-click", "there: back to the last minutes"],
  ["click", "there: who used the host in that minute"],
  ["← →", "with such a minute: the one before or after"],
];

/** A button that shows the keys. */
export function helpButton(): HTMLButtonElement {
  const button = make(
    "button",
    { type: "button", class: "plain", "aria-label": "keys", "aria-keyshortcuts": "?" },
    "?",
  );
  button.addEventListener("click", () => {
    const rows = KEYS.flatMap(([key = "", does = ""]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, does)]);
    const close = make("button", {}, "close");
    const form = make("form", { method: "dialog" }, make("dl", { class: "facts" }, ...rows), close);
    const dialog = make("dialog", { "aria-label": "keys" }, form);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  });
  return button;
}
