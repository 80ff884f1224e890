// Rules for warnings: how each stands, silences, and a form that makes those of the page.

import { chanceText } from "./ahead.ts";
import { ApiError, rulePath, type Api } from "./api.ts";
import type { Board } from "./board.ts";
import { make, setText } from "./dom.ts";
import { momentText, NOTHING } from "./format.ts";
import { Poll } from "./poll.ts";
import { acknowledgedText, standingOf, statementOf, textOf, formOf } from "./rule.ts";
import { RuleFormView } from "./ruleform.ts";
import type { Rule, Rules, Warning, Warnings } from "./wire.ts";

/** How often what is shown is asked for again. */
const ASK_MS = 10_000;

/** For how long nobody is told of a rule that is silenced. */
const SILENCES = ["1h", "8h"];

/** What a row is drawn of. */
interface Row {
  rule: Rule;
  /** `null` where the node has not looked at it yet. */
  warning: Warning | null;
}

/** The view of all rules. */
export class RulesView {
  readonly element = make("main", { class: "rules", "aria-label": "rules for warnings" });
  readonly #api: Api;
  readonly #board: Board;
  readonly #form: RuleFormView;
  readonly #list = make("div", { class: "scroll" });
  readonly #says = make("p", { class: "says", role: "status" });
  readonly #undo = make("button", { type: "button", class: "plain" }, "undo");
  readonly #note = make("p", { class: "remark" });
  readonly #export = make("a", { href: "#", class: "csv", download: "rules.toml", title: "the rules made on this page, as a file of rules" }, "TOML");
  readonly #title = make("h2", { tabindex: "-1" }, "rules for warnings");
  /** `null` while nothing of this is looked at. */
  #shown: string | null = null;
  readonly #poll: Poll;
  #rules: Rule[] = [];
  #deleted: Rule | null = null;
  /** What the list was drawn of: drawn again only when that has changed. */
  #drawn = "";

  constructor(api: Api, board: Board) {
    this.#api = api;
    this.#board = board;
    this.#form = new RuleFormView(api, {
      saved: () => this.#poll.start(),
      taken: () => this.#rules.map(({ name }) => name),
    });
    this.element.hidden = true;
    this.#undo.addEventListener("click", () => void this.#onUndo());
    const back = make("a", { class: "plain", href: "#/" }, "← all signals");
    this.element.append(
      make("div", { class: "top" }, back, this.#export),
      this.#title,
      this.#list,
      make("p", { class: "after" }, this.#says, " ", this.#undo),
      this.#note,
      this.#form.element,
    );
    this.#poll = new Poll(this.#note, ASK_MS, (abort) => this.#ask(abort));
  }

  /** Shows the rules, with a form for one about a signal unless that is ""; `null` shows nothing of them. */
  show(signal: string | null): void {
    if (signal === this.#shown) return;
    this.#shown = signal;
    this.element.hidden = signal === null;
    if (signal === null) {
      this.#poll.stop();
      this.#form.stop();
      return;
    }
    this.#say("");
    this.#form.offer([...this.#board.signals.keys()]);
    window.scrollTo(0, 0);
    if (signal === "") this.#title.focus();
    else this.#form.begin(signal);
    this.#poll.start();
  }

  async #ask(abort: AbortSignal): Promise<string> {
    const asked = [this.#api.json<Rules>("rules", {}, abort), this.#api.json<Warnings>("warnings", {}, abort)] as const;
    const [rules, warnings] = await Promise.all(asked);
    if (!abort.aborted) this.#showAll(rules, warnings);
    return noteOf(rules, warnings);
  }

  #showAll({ rules, toml }: Rules, warnings: Warnings): void {
    this.#rules = rules;
    // Signals may have come since.
    this.#form.offer([...this.#board.signals.keys()]);
    this.#export.hidden = toml === "";
    if (this.#export.href.startsWith("blob:")) URL.revokeObjectURL(this.#export.href);
    this.#export.href = URL.createObjectURL(new Blob([toml], { type: "application/toml" }));
    const rows = rules.map((rule) => ({ rule, warning: standingOf(rule, warnings) }));
    // Whoever follows a mail's link looks for a warning that stands.
    rows.sort((left, right) => Number(right.warning?.stands ?? false) - Number(left.warning?.stands ?? false));
    const drawn = JSON.stringify(rows);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    // What has the focus is found again.
    const focused = this.#list.contains(document.activeElement) ? document.activeElement?.getAttribute("aria-label") : null;
    this.#list.replaceChildren(rules.length === 0 ? make("p", { class: "none" }, "There is no rule yet.") : this.#tableOf(rows));
    if (focused) [...this.#list.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === focused)?.focus();
  }

  #tableOf(rows: Row[]): HTMLElement {
    const nowMs = Date.now();
    const columns = ["name", "statement", "probability", "stands since", "silent until", "from", ""];
    const head = columns.map((column) => make("th", { scope: "col", class: kindOf(column) }, column));
    const moment = (time: string | undefined) => (time === undefined ? NOTHING : momentText(Date.parse(time), nowMs));
    const drawn = rows.flatMap((row) => {
      const { rule, warning } = row;
      const probability = warning === null ? "not looked at yet" : chanceText(warning.probability, warning.after);
      const cells = [
        ["statement", statementOf(rule)],
        ["probability", probability],
        ["stands since", warning?.stands === true ? [moment(warning.since), acknowledgedText(warning, nowMs)].filter((part) => part !== "").join(", ") : NOTHING],
        ["silent until", moment(warning?.silent_until)],
        ["from", rule.from],
      ].map(([column = "", text = ""]) => make("td", attributesOf(column, text), text));
      const name = make("th", { scope: "row", class: "word" }, rule.name);
      const line = make("tr", { class: warning?.stands === true ? "stands" : null }, name, ...cells, this.#actionsOf(row));
      const { problem } = warning ?? {};
      return problem === undefined ? [line] : [line, make("tr", { class: "found" }, make("td", { colspan: String(columns.length) }, problem))];
    });
    return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...drawn));
  }

  #actionsOf({ rule, warning }: Row): HTMLElement {
    const { name } = rule;
    const action = (text: string, label: string, act: () => void) => {
      const button = make("button", { type: "button", class: "plain", "aria-label": label }, text);
      button.addEventListener("click", act);
      return button;
    };
    const silence = (length: string) => () => void this.#silence(name, length);
    const silences = SILENCES.map((length) => action(`silence ${length}`, `silence ${name} for ${length}`, silence(length)));
    const told = action("tell again", `tell of ${name} again`, silence("0s"));
    const acknowledge = action("acknowledge", `acknowledge ${name}`, () => void this.#acknowledge(name, warning?.since));
    const changes = [
      action("edit", `edit ${name}`, () => this.#form.fill(rule)),
      action("delete", `delete ${name}`, () => void this.#delete(rule)),
    ];
    return make(
      "td",
      { class: "actions" },
      ...(warning?.stands === true && warning.acknowledged === undefined ? [acknowledge] : []),
      ...(warning === null ? [] : warning.silent_until === undefined ? silences : [told]),
      ...(rule.from === "page" ? changes : []),
    );
  }

  /** Acknowledges the warning that is shown, and no later one. */
  async #acknowledge(name: string, since: string | undefined): Promise<void> {
    await this.#change(async () => {
      await this.#api.send<Warning>("POST", `warnings/${encodeURIComponent(name)}/acknowledge`, { since });
      this.#say(`The warning of “${name}” is acknowledged.`);
    });
  }

  async #silence(name: string, length: string): Promise<void> {
    await this.#change(async () => {
      const { silent_until } = await this.#api.send<Warning>("POST", `warnings/${encodeURIComponent(name)}/silence`, { for: length });
      const quiet = silent_until === undefined ? `“${name}” is told again.` : `The rule's quiet hours last until ${momentText(Date.parse(silent_until), Date.now())}.`;
      this.#say(length === "0s" ? quiet : `Nobody is told of “${name}” for ${length}.`);
    });
  }

  async #delete(rule: Rule): Promise<void> {
    await this.#change(async () => {
      await this.#api.remove(rulePath(rule.name));
      this.#say(`“${rule.name}” is deleted.`, rule);
      this.#undo.focus();
    });
  }

  async #onUndo(): Promise<void> {
    const rule = this.#deleted;
    if (rule === null) return;
    await this.#change(async () => {
      await this.#api.send<Rule>("PUT", rulePath(rule.name), textOf(formOf(rule)));
      this.#say(`“${rule.name}” is back.`);
      this.#title.focus();
    });
  }

  async #change(act: () => Promise<void>): Promise<void> {
    try {
      await act();
      this.#poll.start();
    } catch (error) {
      this.#say(error instanceof ApiError ? error.message : "no answer");
    }
  }

  /** Says what was done, with an undo where a rule was deleted. */
  #say(text: string, deleted: Rule | null = null): void {
    setText(this.#says, text);
    this.#deleted = deleted;
    this.#undo.hidden = deleted === null;
  }
}

/** What there is to say below the list. */
export function noteOf({ is_kept }: Rules, { problem }: Warnings): string {
  const parts = [
    problem === undefined ? "" : `The rules of the file are older ones: ${problem}.`,
    is_kept ? "" : "This node has no data folder, so rules made here end with it.",
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function kindOf(column: string): string | null {
  return ["name", "statement"].includes(column) ? "word" : null;
}

/** On a narrow page a cell names its column, and one that says nothing is left out. */
function attributesOf(column: string, text: string): Record<string, string | null> {
  if (column === "statement") return { class: kindOf(column) };
  return { class: text === NOTHING ? "nil" : null, "data-column": column };
}
