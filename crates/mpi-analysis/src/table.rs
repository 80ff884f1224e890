//! Tables for people, one for each question, and CSV with one row for each stage.

use std::fmt::Write;

use text::Table;
use text::figure::{percent, span_ns};

use crate::{Against, Analysis, Comparison, Figures, KernelLog, Part, Split, Verdict};

/// Rows of a table that has one for each rank.
const N_RANKS_SHOWN: usize = 24;

/// Median of the last 100 calls.
const MEDIAN: &str = "recent median";

impl Analysis {
    /// Returns all figures as text.
    #[must_use]
    pub fn table(&self, kernel: &KernelLog) -> String {
        let mut text = String::new();
        let (n_calls, tree) = (self.n_calls, self.title());
        push(
            &mut text,
            format_args!(
                "tree {tree}: {n_calls} calls analyzed, {} ranks, {} nodes",
                self.paths.len(),
                self.nodes.len()
            ),
        );
        for (n, what) in [
            (self.n_incomplete, "calls are incomplete: records of theirs were lost, or are not there yet"),
            (self.n_disordered, "calls have stamps that contradict each other"),
            (self.n_strangers, "records belong to no call"),
        ] {
            if n > 0 {
                push(&mut text, format_args!("{n} {what}"));
            }
        }
        if self.n_calls == 0 {
            return text;
        }
        self.totals(&mut text);
        self.last_table(&mut text);
        self.node_table(&mut text);
        self.group_table(&mut text);
        self.outlier_table(&mut text, kernel);
        self.hint_lines(&mut text);
        text
    }

    fn totals(&self, text: &mut String) {
        let mut table = Table::of_figures(&["", "mean", "deviation", "least", MEDIAN, "most"]);
        let mut row = |name: &str, figures: &Figures| table.row(cells(name, figures));
        row("slowest path of each call", &self.slowest);
        if let Some(Split { arrival, reduce, broadcast }) = &self.split {
            let parts = [("first call to last call", arrival), ("reduce", reduce), ("broadcast", broadcast)];
            for (name, figures) in parts.into_iter().filter(|(_, figures)| figures.count > 0) {
                row(&format!("  {name}"), figures);
            }
        }
        *text += &format!("\n{table}");
    }

    fn last_table(&self, text: &mut String) {
        let mut table = Table::of_figures(&["last to arrive", "calls", "share", "the others waited"]);
        let last_arrivals = self.last_arrivals();
        if last_arrivals.is_empty() {
            return;
        }
        for edge in last_arrivals {
            let mark = if edge.stands_out { "" } else { " (no more than others)" };
            table.row([
                format!("{}{mark}", edge.name),
                edge.n_last.to_string(),
                percent(edge.share),
                span_ns(edge.others_waited_ns),
            ]);
        }
        *text += &format!("\n{table}");
    }

    fn node_table(&self, text: &mut String) {
        let mut table = Table::of_figures(&["stage", "mean", "deviation", "least", MEDIAN, "most"]);
        for node in &self.nodes {
            let name = format!("{} on {}", node.name, node.host);
            table.row(std::iter::once(name).chain(std::iter::repeat_n(String::new(), 5)));
            let mut row = |name: &str, figures: &Figures| {
                if figures.count > 0 {
                    table.row(cells(&format!("  {name}"), figures));
                }
            };
            row("down", &node.down_last);
            if let Some(store) = &node.store {
                row("store", store);
            }
            row("up", &node.up_first);
            if let [first, .., last] = &node.up_by_departure[..] {
                let each_ns = (last.mean_ns - first.mean_ns) / (node.up_by_departure.len() - 1) as f64;
                row(&format!("up, last (+{} each)", span_ns(each_ns)), last);
            }
            for contributor in &node.contributors {
                if let Some(hop) = &contributor.hop {
                    let kind = if hop.is_wan { "between clusters" } else { "hop" };
                    row(&format!("{kind} from {} ({})", hop.host, contributor.name), &hop.span);
                }
            }
        }
        for subtree in self.subtrees.iter().filter(|subtree| subtree.n_nodes > 1) {
            let top = &self.nodes[subtree.node];
            let name = format!("{} nodes of {} up to {}", subtree.n_nodes, top.host, top.name);
            table.row(std::iter::once(name).chain(std::iter::repeat_n(String::new(), 5)));
            let parts = [
                ("down", &subtree.down_last),
                ("up", &subtree.up_first),
                ("longest wait to leave", &subtree.departure_wait),
            ];
            for (part, figures) in parts.into_iter().filter(|(_, figures)| figures.count > 0) {
                table.row(cells(&format!("  {part}"), figures));
            }
        }
        push(text, format_args!("\n{table}"));
    }

    fn group_table(&self, text: &mut String) {
        let columns = ["paths", "nodes", "hops", "cost", "on hosts", "on the LAN", "on the WAN", ""];
        let mut table = Table::of_figures(&columns);
        for group in self.groups().iter().take(N_RANKS_SHOWN) {
            let Some(path) = self.path(group.representative) else { continue };
            let costs = self.costs(path);
            let cost = |ns: f64| if ns == 0.0 { String::new() } else { span_ns(ns) };
            let name = if group.ranks.len() == 1 {
                format!("rank {}", path.rank)
            } else {
                format!("{} like rank {}", group.ranks.len(), path.rank)
            };
            table.row([
                name,
                group.n_nodes.to_string(),
                group.n_hops.to_string(),
                span_ns(path.cost.mean_ns),
                cost(costs.hosts_ns.values().sum()),
                cost(costs.lan_ns),
                cost(costs.wan_ns),
                if group.is_fast { "fast".to_owned() } else { String::new() },
            ]);
        }
        push(text, format_args!("{table}"));
    }

    fn outlier_table(&self, text: &mut String, kernel: &KernelLog) {
        let outliers = self.outliers(kernel);
        for outlier in outliers.iter().take(N_RANKS_SHOWN) {
            let node = &self.nodes[outlier.node];
            let from = outlier.contributor.map_or(String::new(), |i| format!(" from {}", node.contributors[i].name));
            let (found, usual) = (span_ns(outlier.found_ns), span_ns(outlier.usual_ns));
            let against = match outlier.against {
                Against::Peers => format!("takes {found}, others of its kind {usual}"),
                Against::Itself => format!("took up to {found}, usually {usual}"),
            };
            let (what, factor) = (outlier.part.name(), text::figure::three_digits(outlier.factor));
            push(text, format_args!("outlier: {what} at {}{from} {against}: {factor} times", node.name));
            let when = if outlier.span_ns.is_some() { "around it" } else { "of the run" };
            for (host, told) in &outlier.kernel {
                let (forced, voluntary) = (told.n_forced_switches, told.n_voluntary_switches);
                let [span, waited, stolen] =
                    [told.span_ns, told.waited_ns, told.stolen_ns].map(|ns| span_ns(ns as f64));
                push(
                    text,
                    format_args!("  {host}, {span} {when}: {forced} forced switches (yields too), {voluntary} waits"),
                );
                push(text, format_args!("    ranks lacked a processor for {waited}; {stolen} stolen"));
            }
        }
    }

    fn hint_lines(&self, text: &mut String) {
        for hint in self.hints() {
            push(text, format_args!("hint: {}", hint.evidence.replace("; ", "\n  ")));
            for remedy in hint.remedies {
                push(text, format_args!("  try: {}", remedy.advice()));
            }
        }
    }

    fn csv_rows(&self, text: &mut String) {
        for node in &self.nodes {
            let mut row = |contributor: &str, stage: &str, figures: &Figures| {
                let Figures { count, mean_ns, deviation_ns, min_ns, median_last_ns, max_ns, .. } = figures;
                let names = [&self.title(), &node.name, &node.host, contributor].map(field).join(",");
                push(
                    text,
                    format_args!("{names},{stage},{count},{mean_ns},{deviation_ns},{min_ns},{median_last_ns},{max_ns}"),
                );
            };
            row("", Part::Down.name(), &node.down_last);
            row("", Part::Up.name(), &node.up_first);
            if let Some(store) = &node.store {
                row("", Part::Store.name(), store);
            }
            for own in &node.contributors {
                row(&own.name, Part::ArrivalWait.name(), &own.arrival_wait);
                row(&own.name, Part::DepartureWait.name(), &own.departure_wait);
                row(&own.name, "own down", &own.down);
                row(&own.name, "own up", &own.up);
                row(&own.name, "total", &own.total);
                if let Some(hop) = &own.hop {
                    row(&own.name, Part::Hop.name(), &hop.span);
                }
            }
        }
    }
}

/// One row for each stage and contributor of each tree.
#[must_use]
pub fn to_csv(trees: &[Analysis]) -> String {
    let mut text =
        "tree,node,host,contributor,stage,calls,mean_ns,deviation_ns,min_ns,median_last_ns,max_ns\n".to_owned();
    trees.iter().for_each(|tree| tree.csv_rows(&mut text));
    text
}

impl Comparison {
    /// Returns the comparison as text.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        let verdict = match self.verdict {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Undecided => "no difference beyond chance",
        };
        let (before, after) = (span_ns(self.slowest_before_ns), span_ns(self.slowest_after_ns));
        push(
            &mut text,
            format_args!(
                "slowest path of each call: {before} before, {after} after\n  {:.3} times as fast: {verdict}",
                self.speedup
            ),
        );
        push(&mut text, format_args!("slowest path on average: {:.3} times as fast", self.speedup_by_means));
        if self.means_mislead {
            let n = self.n_slowest_faster;
            push(
                &mut text,
                format_args!(
                    "averages mislead: the {n} slowest paths got faster, yet others are now the slowest of a call"
                ),
            );
        }
        push(&mut text, format_args!("{} of {} ranks got faster on average", self.n_faster, self.ranks.len()));
        let mut table = Table::of_figures(&["rank", "before", "after", "slowest before", "slowest after"]);
        let mut ranks: Vec<_> = self.ranks.iter().collect();
        ranks.sort_by(|a, b| b.after_ns.total_cmp(&a.after_ns));
        for rank in ranks.into_iter().take(N_RANKS_SHOWN) {
            let times = [rank.before_ns, rank.after_ns].map(span_ns);
            let shares = [rank.slowest_before, rank.slowest_after].map(percent);
            table.row(std::iter::once(rank.rank.to_string()).chain(times).chain(shares));
        }
        text.push_str(&table.to_string());
        text
    }
}

fn cells(name: &str, figures: &Figures) -> [String; 6] {
    let Figures { mean_ns, deviation_ns, min_ns, median_last_ns, max_ns, .. } = *figures;
    let [mean, deviation, least, median, most] = [mean_ns, deviation_ns, min_ns, median_last_ns, max_ns].map(span_ns);
    [name.to_owned(), mean, deviation, least, median, most]
}

/// Returns the text in quotes if it needs them.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _infallible = writeln!(text, "{line}");
}
