// Jobs of MPI programs: the list of them, and the page of one. Asks the node only while somebody looks.

import type { Api } from "./api.ts";
import { make, setText } from "./dom.ts";
import { momentText, NOTHING, plain } from "./format.ts";
import { JobPage } from "./job.ts";
import { Poll } from "./poll.ts";
import { hashOfJobs } from "./route.ts";
import type { MpiJob, MpiJobDetail, MpiJobs } from "./wire.ts";

/** How often what is shown is asked for again. */
const ASK_MS = 2_000;

/** The view of all jobs, or of one. */
export class Jobs {
  readonly element = make("main", { class: "jobs", "aria-label": "MPI jobs" });
  /** Leads here from everywhere; hidden while there is no job. */
  readonly link = make("a", { class: "plain", href: hashOfJobs("") });
  readonly #api: Api;
  readonly #note = make("p", { class: "missing", role: "status" });
  readonly #list = make("div", { class: "scroll" });
  #page: JobPage | null = null;
  /** `null` while nothing of this is looked at, "" for the list. */
  #shown: string | null = null;
  readonly #poll: Poll;
  /** Records of each job, and when, as of the last answer. */
  #before = new Map<string, { nRecords: number; atMs: number }>();

  constructor(api: Api) {
    this.#api = api;
    this.element.hidden = true;
    this.link.hidden = true;
    this.#poll = new Poll(this.#note, ASK_MS, async (abort) => {
      await this.#ask(this.#shown ?? "", abort);
      return "";
    });
  }

  /** Shows a job, the list (""), or nothing of either (`null`). */
  show(job: string | null): void {
    if (job === this.#shown) return;
    this.#shown = job;
    this.#page?.close();
    this.#page = null;
    this.element.hidden = job === null;
    if (job === null) {
      this.#poll.stop();
      return;
    }
    setText(this.#note, "");
    const top = make("div", { class: "top" }, make("a", { class: "plain", href: "#/" }, "← all signals"));
    if (job === "") this.element.replaceChildren(top, make("h2", {}, "MPI jobs on this host"), this.#list, this.#note);
    else {
      this.#page = new JobPage(() => (location.hash = hashOfJobs("")));
      this.element.replaceChildren(this.#page.element, this.#note);
    }
    window.scrollTo(0, 0);
    this.#page?.focus();
    this.#poll.start();
  }

  /** Looks whether there is any job. */
  async look(): Promise<void> {
    try {
      this.#showLink((await this.#api.json<MpiJobs>("mpi/jobs")).jobs);
    } catch {
      // The connection says what is wrong, and this is asked again.
    }
  }

  async #ask(job: string, abort: AbortSignal): Promise<void> {
    if (job === "") {
      const { jobs } = await this.#api.json<MpiJobs>("mpi/jobs", {}, abort);
      this.#showLink(jobs);
      this.#showList(jobs);
    } else {
      const detail = await this.#api.json<MpiJobDetail>(`mpi/jobs/${encodeURIComponent(job)}`, {}, abort);
      if (!abort.aborted) this.#page?.show(detail);
    }
  }

  #showLink(jobs: MpiJob[]): void {
    const nRunning = jobs.filter((job) => job.is_running).length;
    this.link.hidden = jobs.length === 0;
    setText(this.link, nRunning === 0 ? "MPI jobs" : `MPI jobs (${nRunning})`);
  }

  #showList(jobs: MpiJob[]): void {
    const atMs = Date.now();
    const rate = ({ job, n_records }: MpiJob) => {
      const before = this.#before.get(job);
      if (before === undefined || atMs <= before.atMs) return NOTHING;
      return plain(Math.max(0, n_records - before.nRecords) / ((atMs - before.atMs) / 1_000));
    };
    const columns = ["program", "ranks here", "state", "since", "records/s", "trees", "library", "job"];
    const kinds: Record<string, string> = { state: "word", since: "minor", trees: "minor word", library: "minor word", job: "minor word" };
    const kind = (column: string) => kinds[column] ?? null;
    const head = columns.map((column) => make("th", { scope: "col", class: kind(column) }, column));
    const rows = jobs.flatMap((job) => {
      const cells: [string, string][] = [
        ["ranks here", job.ranks.length === job.n_ranks ? String(job.n_ranks) : `${job.ranks.length} of ${job.n_ranks}`],
        ["state", job.is_running ? "running" : "ended"],
        ["since", momentText(Date.parse(job.since), atMs)],
        ["records/s", job.is_running ? rate(job) : NOTHING],
        ["trees", job.trees.join(", ") || NOTHING],
        ["library", job.library ?? NOTHING],
        ["job", job.job],
      ];
      const link = make("a", { href: hashOfJobs(job.job) }, job.program ?? job.job);
      const row = make("tr", {}, make("th", { scope: "row" }, link));
      row.append(...cells.map(([column, text]) => make("td", { class: kind(column) }, text)));
      const faults = job.problems.map((text) => make("tr", { class: "found" }, make("td", { colspan: "8" }, text)));
      return [row, ...faults];
    });
    this.#before = new Map(jobs.map(({ job, n_records }) => [job, { nRecords: n_records, atMs }]));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
    // What has the focus is found again.
    const focused = this.#list.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    this.#list.replaceChildren(jobs.length === 0 ? make("p", { class: "none" }, "no MPI job is on this host") : table);
    if (focused) [...this.#list.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
  }
}
