//! `foretop kernel status`: how an agent is doing.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use kernel::control::{Answer, Paid, PointState, Request, SubsystemStatus, TracedPoint};
use program::{Failure, written};
use text::figure::{counted, number, percent, span_ns};
use text::help::examples;
use text::{Align, Table};
use units::span;

use crate::argument::AgentAt;

/// Show what an agent measures, the overhead, and who may change the agent
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel status", "foretop kernel status --probes", "foretop kernel status --traces"]))]
pub struct Status {
    /// List the points of all subsystems
    #[arg(long)]
    points: bool,

    /// List the cost of each probe
    #[arg(long, conflicts_with = "points")]
    probes: bool,

    /// List the latest events of traced points, and how many were made and dropped
    #[arg(long, conflicts_with_all = ["points", "probes"])]
    traces: bool,

    /// Print the latest summaries as JSON
    #[arg(long, conflicts_with_all = ["points", "probes", "traces"])]
    summaries: bool,

    #[command(flatten)]
    agent: AgentAt,
}

impl Status {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let request = match (self.summaries, self.traces) {
            (true, _) => Request::Summaries,
            (_, true) => Request::Traces,
            _ => Request::Status,
        };
        match self.agent.ask(&request)? {
            Answer::Traces { now_ns, alarm, traces } => {
                written(out.write_all(traced(now_ns, alarm.as_deref(), &traces).as_bytes()))
            }
            Answer::Status(status) if self.probes => written(out.write_all(probes(&status.subsystems).as_bytes())),
            Answer::Status(status) if self.points => written(out.write_all(points(&status.subsystems).as_bytes())),
            Answer::Status(status) => written(out.write_all(shown(&status).as_bytes())),
            answer => {
                let text = serde_json::to_string_pretty(&answer).map_err(Failure::of)?;
                written(writeln!(out, "{text}"))
            }
        }
    }
}

fn shown(status: &kernel::control::Status) -> String {
    let budget = status.budget_cores.map_or_else(|| "none".into(), |cores| format!("{} of a core", percent(cores)));
    let holder = match &status.holder {
        Some((name, seconds)) => format!("{} for {seconds} s more", text::printable(name)),
        None => "nobody: whoever comes may change things".into(),
    };
    let mut text = format!(
        "{}, pulled every {}, budget {budget}\nprobes take {} of a core, the agent {}\nlease: {holder}\n",
        if status.is_on { "on" } else { "off" },
        span::format(Duration::from_millis(status.interval_ms)),
        percent(status.cost_cores),
        percent(status.own_cores),
    );
    if !status.queue.is_empty() {
        text += &format!("waiting for it: {}\n", text::printable(&status.queue.join(", ")));
    }
    let left = Align::Left;
    let mut table = Table::new(&[
        ("node", left),
        ("subsystem", left),
        ("state", left),
        ("source", left),
        ("looked at", left),
        ("cost", Align::Right),
    ]);
    for one in &status.subsystems {
        let node = status.nodes.iter().find(|node| node.number == one.node).map_or("", |node| &node.node);
        let weight = match one.weight {
            None => "nothing: too dear".into(),
            Some(1) => "all".into(),
            Some(weight) => format!("1 in {weight}"),
        };
        let state = if one.is_on { "on" } else { "off" };
        table.row([
            format!("{} ({node})", one.node),
            one.name.clone(),
            state.into(),
            one.source.clone(),
            if one.is_on { weight } else { String::new() },
            percent(one.cost_cores),
        ]);
    }
    text += &format!("\n{table}");
    for one in &status.subsystems {
        for missing in one.missing.iter().filter(|_| one.is_on) {
            text += &format!("missing: {}\n", text::printable(missing));
        }
    }
    text
}

fn probes(subsystems: &[SubsystemStatus]) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        ("node", left),
        ("probe", left),
        ("price", right),
        ("ran lately", right),
        ("per s", right),
        ("cost", right),
    ]);
    for one in subsystems {
        for Paid { what, price_ns, run_ns, per_sec, cost_cores } in &one.probes {
            table.row([
                one.node.to_string(),
                format!("{}.{what}", one.name),
                span_ns(*price_ns),
                run_ns.map_or_else(String::new, span_ns),
                number(*per_sec),
                percent(*cost_cores),
            ]);
        }
    }
    let mut text = table.to_string();
    for one in subsystems {
        if let Some(factor) = one.factor {
            text += &format!(
                "{} ({}): programs run {factor:.2} times as long as when their prices were measured, which is in the cost\n",
                one.name, one.node
            );
        }
    }
    text
}

/// Returns the counts of each traced point, and its latest events, the youngest first.
fn traced(now_ns: u64, alarm: Option<&str>, traces: &[TracedPoint]) -> String {
    let mut text = alarm.map(|alarm| format!("alarm: {}\n", text::printable(alarm))).unwrap_or_default();
    if traces.is_empty() {
        return text
            + "no point was traced since it was turned on; begin with `foretop kernel set --point fs.Read=trace`\n";
    }
    for one in traces {
        let TracedPoint { node, subsystem, point, fields, is_traced, received, per_sec, dropped, events } = one;
        let rate = if *is_traced { format!("{} a second", number(*per_sec)) } else { "no longer traced".into() };
        let name = text::printable(&format!("{subsystem}.{point}"));
        let came = counted(*received, "event");
        text +=
            &format!("{name} of node {node}: {came}, {rate}, {dropped} dropped of {subsystem} up to the last pull\n");
        let columns = ["ago", "took", "asked", "returned", "process", "thread", "processor"];
        let columns: Vec<&str> = columns.into_iter().chain(fields.iter().map(String::as_str)).collect();
        let mut table = Table::of_figures(&columns);
        for event in events.iter().rev() {
            let own = event.fields.iter().zip(fields).map(|(value, _)| value.to_string());
            let row = [
                span_ns(now_ns.saturating_sub(event.end_ns) as f64),
                span_ns(event.end_ns.saturating_sub(event.begin_ns) as f64),
                event.asked.to_string(),
                event.returned.to_string(),
                event.process.to_string(),
                event.thread.to_string(),
                event.processor.to_string(),
            ];
            table.row(row.into_iter().chain(own));
        }
        text += &format!("\n{table}\n");
    }
    text
}

fn points(subsystems: &[SubsystemStatus]) -> String {
    let left = Align::Left;
    let mut table = Table::new(&[("node", left), ("point", left), ("state", left), ("", left)]);
    for one in subsystems {
        // Points of a user are not known here, and are called by their labels anyway.
        let known = kernel::find(&one.name).map_or(&[][..], |subsystem| subsystem.points);
        for (name, state) in &one.points {
            let label = known.iter().find(|point| point.name == name).map_or("", |point| point.label);
            let state = match state {
                _ if !one.is_on => "off",
                PointState::Inactive => "inactive",
                PointState::Trace => "summary and trace",
                PointState::Summary => "summary",
            };
            table.row([one.node.to_string(), format!("{}.{name}", one.name), state.into(), label.into()]);
        }
    }
    table.to_string()
}
