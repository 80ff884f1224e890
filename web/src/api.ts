// Requests to the node that served the page, with its token where it wants one.

import type { ErrorBody } from "./wire.ts";

/** An answer of the node that is not the one asked for. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** The parameter or field to blame, if it is a single one. */
  readonly field: string | null;

  constructor(status: number, code: string, message: string, field: string | null = null) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

/** Where the token is kept, and how a person is asked for it. */
export interface TokenKeeper {
  current(): string | null;
  /** Resolves with a token that differs from `refused`. */
  ask(refused: string | null): Promise<string>;
}

type Query = Record<string, string>;

/** The HTTP interface of one node. */
export class Api {
  readonly #tokens: TokenKeeper;

  constructor(tokens: TokenKeeper) {
    this.#tokens = tokens;
  }

  /**
   * The JSON under `api/v1/`, whose shape the caller vouches for.
   *
   * Throws `ApiError`, or `TypeError` when no node answers.
   */
  async json<T>(path: string, query: Query = {}, abort?: AbortSignal): Promise<T> {
    const response = await this.#request(path, query, "application/json", abort);
    return (await response.json()) as T;
  }

  /** The JSON that answers a body sent under `api/v1/`. Throws as `json` does. */
  async send<T>(method: "POST" | "PUT", path: string, body: object, abort?: AbortSignal): Promise<T> {
    const sent = { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const response = await this.#request(path, {}, "application/json", abort, sent);
    return (await response.json()) as T;
  }

  /** Removes what is under `api/v1/`. Throws as `json` does. */
  async remove(path: string): Promise<void> {
    await this.#request(path, {}, "application/json", undefined, { method: "DELETE" });
  }

  /** The bytes of an endless answer under `api/v1/`. Throws as `json` does. */
  async stream(path: string, query: Query, abort: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#request(path, query, "text/event-stream", abort);
    if (response.body === null) throw new ApiError(response.status, "internal", "the answer has no body");
    return response.body;
  }

  async #request(path: string, query: Query, accept: string, abort?: AbortSignal, sent: RequestInit = {}): Promise<Response> {
    const search = new URLSearchParams(query).toString();
    const url = `api/v1/${path}${search === "" ? "" : `?${search}`}`;
    for (;;) {
      const token = this.#tokens.current();
      const headers = new Headers(sent.headers);
      headers.set("Accept", accept);
      if (token !== null) headers.set("Authorization", `Bearer ${token}`);
      const response = await fetch(url, { ...sent, headers, cache: "no-store", signal: abort ?? null });
      if (response.ok) return response;
      if (response.status !== 401) throw await errorOf(response);
      await this.#tokens.ask(token);
    }
  }
}

/** The path of a series: ids are text that may hold anything but control characters. */
export function seriesPath(id: string, rest = ""): string {
  return `series/${encodeURIComponent(id)}${rest}`;
}

/** The path of a rule for warnings. */
export function rulePath(name: string): string {
  return `rules/${encodeURIComponent(name)}`;
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as ErrorBody | null;
  const error: ErrorBody["error"] = body?.error ?? { code: "internal", message: `the node answered ${response.status}` };
  return new ApiError(response.status, error.code, error.message, error.field);
}
