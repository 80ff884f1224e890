// The page of a run: a bar for each worker with what it did, what it is forecast to do and how certain that is; what was moved, and why.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const PERIOD_MS = 1000;
// Older ones are in the run's journal.
const N_EVENTS_MAX = 200;

const run = { nUnits: 0, done: new Set(), plan: null, workers: new Map(), events: [] };
let offset = 0;

function worker(name) {
    if (!run.workers.has(name)) {
        run.workers.set(name, { nDone: 0, stretches: [], isLost: false });
    }
    return run.workers.get(name);
}

function take(line) {
    if (line.is === "run") {
        run.nUnits = line.n_units;
    } else if (line.is === "planned") {
        // Times begin anew where a run is taken up.
        run.plan = line;
        run.events = [];
        run.workers.clear();
        line.shares.forEach((share) => worker(share.worker));
    } else if (line.is === "done") {
        const of = worker(line.worker);
        const from = line.t - line.seconds;
        const last = of.stretches.at(-1);
        of.nDone += 1;
        run.done.add(line.unit);
        // Units that follow each other are one bar.
        if (last && from - last.until < 0.02 * line.t) {
            last.until = line.t;
        } else {
            of.stretches.push({ from, until: line.t });
        }
    } else if (line.is === "failed") {
        run.events.push(`${seconds(line.t)}: ${line.worker}: ${line.why}`);
    } else if (line.is === "decided" && line.what !== "run") {
        const what = line.what === "twin" ? "runs as well" : "gives up";
        const units = line.to - line.from === 1 ? `unit ${line.from}` : `units ${line.from} to ${line.to - 1}`;
        run.events.push(`${seconds(line.t)}: ${line.worker} ${what} ${units}${line.why ? `: ${line.why}` : ""}`);
    }
    run.events = run.events.slice(-N_EVENTS_MAX);
}

function seconds(value) {
    return value < 120 ? `${value.toFixed(1)} s` : `${(value / 60).toFixed(1)} min`;
}

function bar(svg, kind, from, until, scale) {
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", kind);
    rect.setAttribute("x", `${(100 * from) / scale}%`);
    rect.setAttribute("width", `${(100 * Math.max(0, until - from)) / scale}%`);
    rect.setAttribute("height", "100%");
    svg.append(rect);
}

function draw(told) {
    const now = told.seconds;
    const expected = new Map(told.expected.map((one) => [one.worker, one]));
    const ends = told.expected.map((one) => now + one.upper);
    const scale = Math.max(now, run.plan ? run.plan.upper : 0, ...ends, 1e-3);
    const state = told.has_ended ? "ended" : `after ${seconds(now)}`;
    document.getElementById("head").textContent = `${run.done.size} of ${run.nUnits} units, ${state}`;
    document.title = `${run.done.size} of ${run.nUnits}`;
    if (run.plan) {
        const { policy, makespan, lower, upper, confidence } = run.plan;
        const forecast = `${seconds(makespan)} (${seconds(lower)} to ${seconds(upper)} with ${Math.round(100 * confidence)} %)`;
        let text = `${policy} decides. Forecast at the start: ${forecast}.`;
        if (told.has_ended && run.done.size === run.nUnits) {
            const took = Math.max(...[...run.workers.values()].flatMap((of) => of.stretches.map((stretch) => stretch.until)));
            const off = Math.round(100 * (took / makespan - 1));
            const how = off === 0 ? "as forecast" : `${Math.abs(off)} % ${off < 0 ? "shorter" : "longer"} than forecast`;
            text += ` It took ${seconds(took)}, ${how}, ${lower <= took && took <= upper ? "inside" : "outside"} the interval.`;
        }
        document.getElementById("forecast").textContent = text;
    }
    const rows = [...run.workers].map(([name, of]) => {
        const row = document.createElement("div");
        row.className = "row";
        row.setAttribute("role", "row");
        const label = document.createElement("span");
        const left = expected.get(name);
        label.className = "name";
        label.textContent = `${name}: ${of.nDone} done${left && left.n_left ? `, ${left.n_left} to do` : ""}`;
        label.title = label.textContent;
        const svg = document.createElementNS(SVG, "svg");
        svg.setAttribute("role", "img");
        svg.setAttribute("aria-label", left ? `to be done in ${seconds(left.median)}, from ${seconds(left.lower)} to ${seconds(left.upper)}` : "");
        of.stretches.forEach((stretch) => bar(svg, "done", stretch.from, stretch.until, scale));
        if (left && left.n_left) {
            bar(svg, "median", now, now + left.median, scale);
            bar(svg, "band", now + left.lower, now + left.upper, scale);
        }
        row.append(label, svg);
        return row;
    });
    document.getElementById("rows").replaceChildren(...rows);
    const items = run.events.toReversed().map((text) => {
        const item = document.createElement("li");
        item.textContent = text;
        return item;
    });
    document.getElementById("events").replaceChildren(...items);
}

async function look() {
    try {
        const answer = await fetch(`/events?offset=${offset}`);
        if (!answer.ok) {
            throw new Error(await answer.text());
        }
        const told = await answer.json();
        offset = told.offset;
        told.lines.split("\n").filter(Boolean).forEach((line) => take(JSON.parse(line)));
        told.expected.forEach((one) => worker(one.worker));
        draw(told);
        if (told.has_ended) {
            return;
        }
        setTimeout(look, told.lines.length > 500_000 ? 0 : PERIOD_MS);
    } catch (error) {
        document.getElementById("head").textContent = `The run does not answer any more: ${error.message}`;
        setTimeout(look, 5 * PERIOD_MS);
    }
}

look();
