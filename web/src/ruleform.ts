// The form that makes a rule for warnings, or changes one of the page: tried on the past before it is saved.

import { ApiError, rulePath, type Api } from "./api.ts";
import { make, setAttribute, setText } from "./dom.ts";
import { BLANK, FIELDS, faultIn, faultOf, formOf, textOf, triedText, type Fault, type Field, type RuleForm } from "./rule.ts";
import type { Rule, TriedRule } from "./wire.ts";

/** What a field is called, and what goes there. */
const LABELS: Record<Field, [label: string, hint: string]> = {
  name: ["name", "what the warning is called"],
  when: ["statement", "what is not to happen: memory.available < 500MB, or cpu.user + cpu.system > 90%"],
  within: ["within", "how far ahead to look: 30min, 2h"],
  for: ["for", "for how long it has to last; empty: one value is enough"],
  raise: ["warn from", "the probability from which on to warn: 0.8"],
  clear: ["until below", "the probability below which the warning is over: 0.5"],
  quiet: ["quiet", "hours in which nobody is notified: 22:00-06:00, Sat Sun; empty: none"],
};

export interface RuleFormEvents {
  /** A rule was saved. */
  saved(rule: Rule): void;
  /** The names of rules that are taken. */
  taken(): string[];
}

export class RuleFormView {
  readonly element = make("form", { class: "rule", novalidate: "", autocomplete: "off" });
  readonly #api: Api;
  readonly #on: RuleFormEvents;
  readonly #title = make("h3", { id: "rule-form" });
  readonly #inputs = new Map<Field, HTMLInputElement>();
  readonly #faults = new Map<Field, HTMLElement>();
  readonly #signals = make("datalist", { id: "rule-signals" });
  readonly #try = make("button", { type: "button" }, "try");
  readonly #save = make("button", { type: "submit" }, "save");
  readonly #cancel = make("button", { type: "button" }, "cancel");
  readonly #says = make("p", { class: "says", role: "status" });
  /** The name of the rule that is changed; `null` for a new one. */
  #edited: string | null = null;
  #abort = new AbortController();

  constructor(api: Api, on: RuleFormEvents) {
    this.#api = api;
    this.#on = on;
    setAttribute(this.element, "aria-labelledby", "rule-form");
    const buttons = make("p", { class: "buttons" }, this.#try, this.#save, this.#cancel);
    this.element.append(this.#title, ...FIELDS.map((field) => this.#fieldOf(field)), this.#signals, buttons, this.#says);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#onSave();
    });
    this.#try.addEventListener("click", () => void this.#onTry());
    this.#cancel.addEventListener("click", () => this.fill(null));
    this.fill(null);
  }

  /** Shows a rule to change, or a blank form. */
  fill(rule: Rule | null): void {
    this.stop();
    this.#edited = rule?.name ?? null;
    const form = rule === null ? BLANK : formOf(rule);
    for (const [field, input] of this.#inputs) input.value = form[field];
    setText(this.#title, rule === null ? "a new rule" : `change “${rule.name}”`);
    // A rule of another name would be another rule.
    this.#input("name").readOnly = rule !== null;
    this.#cancel.hidden = rule === null;
    this.#show(null);
    setText(this.#says, "");
    if (rule !== null) this.#input("when").focus();
  }

  /** Begins a rule about this signal. */
  begin(signal: string): void {
    this.fill(null);
    const when = this.#input("when");
    this.#input("name").value = signal;
    when.value = `${signal} > `;
    when.focus();
    when.setSelectionRange(when.value.length, when.value.length);
  }

  /** Offers these signals. */
  offer(signals: string[]): void {
    this.#signals.replaceChildren(...signals.map((value) => make("option", { value })));
  }

  /** Gives up what is under way. */
  stop(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#setBusy(false);
  }

  #fieldOf(field: Field): HTMLElement {
    const [label, hint] = LABELS[field];
    const id = `rule-${field}`;
    const fault = make("small", { class: "fault", id: `${id}-fault`, role: "alert" });
    const input = make("input", {
      type: "text",
      id,
      name: field,
      spellcheck: "false",
      autocapitalize: "off",
      "aria-describedby": `${id}-hint ${id}-fault`,
      inputmode: field === "raise" || field === "clear" ? "decimal" : null,
      maxlength: field === "name" ? "100" : null,
      list: field === "when" ? this.#signals.id : null,
    });
    this.#inputs.set(field, input);
    this.#faults.set(field, fault);
    const hinted = make("small", { id: `${id}-hint` }, hint);
    return make("div", { class: field }, make("label", { for: id }, label), input, hinted, fault);
  }

  async #onTry(): Promise<void> {
    const form = this.#form();
    await this.#run(faultIn(form), "trying it on the past 7 d …", async (abort) => {
      const answer = await this.#api.send<TriedRule>("POST", "rules/try", { rule: textOf(form) }, abort);
      setText(this.#says, triedText(answer) + (form.quiet.trim() === "" ? "" : " Quiet hours make no difference to this."));
    });
  }

  async #onSave(): Promise<void> {
    const form = this.#form();
    const fault = faultIn(form, this.#edited === null ? this.#on.taken() : []);
    await this.#run(fault, "saving …", async (abort) => {
      const rule = await this.#api.send<Rule>("PUT", rulePath(form.name.trim()), textOf(form), abort);
      this.fill(null);
      setText(this.#says, `“${rule.name}” is saved, and watched from the node's next look on.`);
      this.#on.saved(rule);
    });
  }

  /** Does something with the form unless there is a fault in it, and shows what is wrong. */
  async #run(fault: Fault | null, meanwhile: string, act: (abort: AbortSignal) => Promise<void>): Promise<void> {
    this.#show(fault);
    if (fault !== null) return;
    this.stop();
    const { signal } = this.#abort;
    setText(this.#says, meanwhile);
    this.#setBusy(true);
    try {
      await act(signal);
    } catch (error) {
      if (!signal.aborted) this.#show(error instanceof ApiError ? faultOf(error) : { field: null, message: "no answer" });
    } finally {
      // What was given up has left its place to another.
      if (!signal.aborted) this.#setBusy(false);
    }
  }

  #setBusy(isBusy: boolean): void {
    // Disabled, they would lose the focus.
    for (const button of [this.#try, this.#save]) setAttribute(button, "aria-disabled", isBusy ? "true" : null);
  }

  /** Puts a fault beside its field, and the focus there. */
  #show(fault: Fault | null): void {
    for (const field of FIELDS) {
      const isMeant = fault?.field === field;
      const element = this.#faults.get(field);
      if (element !== undefined) setText(element, isMeant ? fault.message : "");
      setAttribute(this.#input(field), "aria-invalid", isMeant ? "true" : null);
    }
    if (fault === null) return;
    setText(this.#says, fault.field === null ? fault.message : "");
    if (fault.field !== null) this.#input(fault.field).focus();
  }

  #form(): RuleForm {
    const values = [...this.#inputs].map(([field, input]) => [field, input.value]);
    return Object.fromEntries(values) as RuleForm;
  }

  #input(field: Field): HTMLInputElement {
    const input = this.#inputs.get(field);
    if (input === undefined) throw new Error(`the form has no field ${field}`);
    return input;
  }
}
