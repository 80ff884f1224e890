// The token of a node that wants one: asked for in a dialog, kept until the tab closes.

import type { TokenKeeper } from "./api.ts";
import { make } from "./dom.ts";

const KEY = "foretop.token";

/** Keeps the token in the session storage. Requests that wait for it share one dialog. */
export class SessionToken implements TokenKeeper {
  #asking: Promise<string> | null = null;

  /** Whether a dialog is open. */
  get isAsking(): boolean {
    return this.#asking !== null;
  }

  current(): string | null {
    return sessionStorage.getItem(KEY);
  }

  ask(refused: string | null): Promise<string> {
    const current = this.current();
    // Another request was refused first, and the person has answered since.
    if (current !== null && current !== refused) return Promise.resolve(current);
    this.#asking ??= openDialog(refused !== null).then((token) => {
      sessionStorage.setItem(KEY, token);
      this.#asking = null;
      return token;
    });
    return this.#asking;
  }
}

function openDialog(wasRefused: boolean): Promise<string> {
  const input = make("input", { type: "password", name: "token", autocomplete: "off", required: "", id: "token" });
  const why = wasRefused ? "The node refused this token." : "This node answers only those who have its token.";
  const form = make(
    "form",
    { method: "dialog" },
    make("p", { id: "token-why" }, why),
    make("label", { for: "token" }, "token"),
    input,
    make("button", { type: "submit" }, "use token"),
  );
  const dialog = make("dialog", { "aria-labelledby": "token-why" }, form);
  document.body.append(dialog);
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      // A token of spaces would be none, and the header would be refused as malformed.
      const token = input.value.trim();
      if (token === "") return;
      dialog.remove();
      resolve(token);
    });
  });
}
