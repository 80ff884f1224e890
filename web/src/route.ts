// Which signal is open, as the URL's hash has it: a link to one works, and Back closes it.

const PREFIX = "#/signal/";

/** The hash that opens a signal. */
export function hashOf(id: string): string {
  return PREFIX + encodeURIComponent(id);
}

/** The id in a hash; `null` when it opens nothing. */
export function idIn(hash: string): string | null {
  if (!hash.startsWith(PREFIX)) return null;
  try {
    return decodeURIComponent(hash.slice(PREFIX.length));
  } catch {
    return null;
  }
}
