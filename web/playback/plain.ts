// The plug-in for an element with a `src` of its own, and no player.

import { bufferedEnd, nowSeconds, Pace, type Options } from "./pace.ts";

/** Chromium and Firefox fetch about so far ahead. */
const CAPACITY_SECONDS = 30;

/** Drives the rate of an element that fetches one file. Its bytes are not told, so arrival is what the buffer grows by. */
export function pacePlain(element: HTMLMediaElement, options: Options): Pace {
  const abort = new AbortController();
  const { signal } = abort;
  let isLoading = false;
  const end = () => {
    isLoading = false;
    pace.meter.end(element, nowSeconds(), null);
  };
  const begin = () => {
    if (isLoading || element.networkState !== HTMLMediaElement.NETWORK_LOADING) return;
    isLoading = true;
    const from = bufferedEnd(element);
    pace.meter.begin(element, nowSeconds(), () => Math.max(bufferedEnd(element) - from, 0));
  };
  const pace = new Pace(
    {
      element,
      capacitySeconds: () => CAPACITY_SECONDS,
      live: () => null,
      bitrates: () => [],
      bitrate: () => null,
      limitBitrate: () => undefined,
      countsSeconds: true,
      detach: () => abort.abort(),
    },
    options,
  );
  const on = (names: string[], act: () => void) => names.forEach((name) => element.addEventListener(name, act, { signal }));
  on(["loadstart", "progress"], begin);
  on(["suspend", "error", "emptied"], end);
  // A jump moves the end of the buffer, and nothing arrived by that.
  on(["seeking"], () => {
    end();
    begin();
  });
  begin();
  return pace;
}
