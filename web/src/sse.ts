// Server-sent events from a stream of bytes. Read by hand because `EventSource` cannot send a token.
// Source: WHATWG HTML, section 9.2.6, without `id` and `retry`, which a node does not send.

/** One event: its name, `message` where none was given, and its data. */
export interface ServerEvent {
  event: string;
  data: string;
}

/** Takes text as it comes, cut anywhere, and gives the events that are complete. */
export class EventParser {
  #rest = "";
  #event = "";
  #data: string[] = [];

  /** The events that `text` completes, in order. */
  push(text: string): ServerEvent[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): ServerEvent[] {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return [];
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    if (field === "data") this.#data.push(value);
    return [];
  }

  #dispatch(): ServerEvent[] {
    const [event, data] = [this.#event || "message", this.#data];
    this.#event = "";
    this.#data = [];
    return data.length === 0 ? [] : [{ event, data: data.join("\n") }];
  }
}
