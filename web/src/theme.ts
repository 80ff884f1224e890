// Light or dark, and the colours that canvases are drawn with.

import { make, setText } from "./dom.ts";

const KEY = "foretop.theme";
const CHOICES = ["auto", "light", "dark"] as const;
type Choice = (typeof CHOICES)[number];

/** The colours of drawings, as the style sheet has them. */
export interface Palette {
  ink: string;
  quiet: string;
  rule: string;
  accent: string;
  /** Of a forecast; laid over one another, narrower bands are darker. */
  band: string;
  faintBand: string;
  /** Of a second signal. */
  other: string;
  otherBand: string;
}

/** A button that goes through the system's scheme, light and dark; `onChange` runs whenever the colours differ. */
export function themeToggle(onChange: () => void): HTMLElement {
  const button = make("button", { type: "button", class: "plain" });
  let choice: Choice = CHOICES.find((known) => known === localStorage.getItem(KEY)) ?? "auto";
  const apply = () => {
    if (choice === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = choice;
    setText(button, `◐ ${choice}`);
    button.setAttribute("aria-label", `colours: ${choice}`);
    onChange();
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length] ?? "auto";
    localStorage.setItem(KEY, choice);
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", onChange);
  apply();
  return button;
}

/** The colours in use. Costs a style computation: read once per redraw, not per drawing. */
export function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: colour("--trace"),
    quiet: colour("--quiet"),
    rule: colour("--rule"),
    accent: colour("--accent"),
    band: colour("--band"),
    faintBand: colour("--faint-band"),
    other: colour("--other"),
    otherBand: colour("--other-band"),
  };
}
