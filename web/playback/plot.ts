// The last minute of a quantity, and what is expected of it.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** How a line looks. */
export interface Series {
  /** A property of the style sheet that holds its colour. */
  colour: string;
  isDashed?: boolean;
}

const HEIGHT_PX = 160;
const FONT = '11px system-ui, "DejaVu Sans", sans-serif';

/** A picture of several lines over seconds, and of a band. */
export class Plot {
  readonly #plot: uPlot;

  constructor(into: HTMLElement, title: string, series: Series[], { hasBand = false, top }: { hasBand?: boolean; top: number }) {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = title;
    figure.append(caption);
    into.append(figure);
    const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const axis = { font: FONT, stroke: resolved("--quiet"), grid: { stroke: resolved("--rule"), width: 1 }, ticks: { show: false } };
    const lines = series.map(({ colour: name, isDashed = false }) => ({
      stroke: resolved(name),
      width: 1.5,
      points: { show: false },
      ...(isDashed ? { dash: [4, 4] } : {}),
    }));
    const ends = hasBand ? [{ points: { show: false } }, { points: { show: false } }] : [];
    const n = series.length;
    this.#plot = new uPlot(
      {
        width: figure.clientWidth,
        height: HEIGHT_PX,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { time: false },
          y: { range: (_, __, greatest) => [0, Math.max(top, (greatest ?? 0) * 1.05)] },
        },
        axes: [{ ...axis, size: 28, values: (_, ticks) => ticks.map((tick) => `${tick} s`) }, { ...axis, size: 44 }],
        series: [{}, ...lines, ...ends],
        ...(hasBand ? { bands: [{ series: [n + 1, n + 2], fill: resolved("--band") }] } : {}),
      },
      [[], ...Array.from({ length: n + ends.length }, () => [])],
      figure,
    );
    new ResizeObserver(() => this.#plot.setSize({ width: figure.clientWidth, height: HEIGHT_PX })).observe(figure);

    /** Canvases do not know `light-dark()`. */
    function resolved(name: string): string {
      const probe = document.createElement("span");
      probe.style.color = colour(name);
      document.body.append(probe);
      const found = getComputedStyle(probe).color;
      probe.remove();
      return found;
    }
  }

  /** Moments in seconds, and a row of values for each line, then for the upper and the lower end of the band; `null` where there is nothing. */
  show(seconds: number[], ...rows: (number | null)[][]): void {
    this.#plot.setData([seconds, ...rows]);
  }
}
