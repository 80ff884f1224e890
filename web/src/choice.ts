// Choosing one of a few: native radio buttons, so that arrow keys and screen readers work as everywhere.

import { make } from "./dom.ts";

export interface Option<T> {
  value: T;
  text: string;
}

/** A row of radio buttons under `legend`; `onChoose` runs with the value chosen. */
export function choice<T>(
  name: string,
  legend: string,
  options: Option<T>[],
  chosen: T,
  onChoose: (value: T) => void,
): HTMLFieldSetElement {
  const radios = options.map(({ value, text }) => {
    const input = make("input", { type: "radio", name, value: text });
    input.checked = value === chosen;
    input.addEventListener("change", () => onChoose(value));
    return make("label", {}, input, make("span", {}, text));
  });
  return make("fieldset", { class: "choice" }, make("legend", {}, legend), make("span", {}, ...radios));
}
