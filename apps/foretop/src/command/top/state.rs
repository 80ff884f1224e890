//! Everything that `top` shows, and how news changes it. Knows no terminal, no network and no clock.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Duration;

use clap::ValueEnum;
use node_api as api;
use text::figure::percent;
use text::printable;
use units::{Moment, span};

use super::processes::ProcessPane;
use super::row::Row;

/// The leads that the node is asked for, in steps.
pub const LEADS: [usize; 7] = [1, 2, 5, 10, 20, 30, 60];
/// The horizons of the large view, in steps.
const HORIZONS: [u32; 6] = [10, 30, 60, 120, 300, 600];
/// And further, by an outlook.
const FAR_HORIZONS: [Duration; 4] = [
    Duration::from_secs(3600),
    Duration::from_secs(6 * 3600),
    Duration::from_secs(86_400),
    Duration::from_secs(7 * 86_400),
];

/// The sort order of the signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// The node's order: the most informative signals first, then those that were always zero, then those of single
    /// cores.
    Table,
    /// A to Z.
    Name,
    /// The current value, largest first, one unit after the other.
    Value,
    /// Width of the interval as a share of the value, largest first.
    Uncertainty,
    /// Expected change as a share of the value, largest first.
    Change,
}

/// The host whose signals are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownHost {
    /// Everybody's.
    All,
    /// Those of the node's own host.
    Own,
    /// Those of a host that the node follows.
    Followed(String),
}

/// The mode that decides the meaning of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    List,
    Filter,
    Help,
    Detail,
    Processes,
}

/// The state of the connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Link {
    Connecting,
    Live,
    Lost { reason: String },
}

/// The details of the signal in the large view. They come later than the view opens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    pub forecast: Option<api::Forecast>,
    /// The outlook in place of the forecast, if the horizon is one of hours or days.
    pub far: Option<Far>,
    pub accuracy: Option<api::Accuracy>,
    pub series: Option<api::SeriesDetail>,
    /// The reason why some of the details are absent.
    pub problem: Option<String>,
}

/// Hours or days ahead, and as long a past in the same steps, NaN for a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Far {
    pub outlook: api::Outlook,
    pub past: Vec<f64>,
}

/// News from the node.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    Link(Link),
    Series(api::SeriesList),
    History(api::Samples),
    Tick(api::TickEvent),
    Health(api::Health),
    Warnings(api::Warnings),
    Detail { id: String, detail: Box<Detail> },
    Processes { at: Option<Moment>, answer: Box<Result<api::ProcessTable, String>> },
}

/// Each warning that stands and is not silenced, in a line without control characters.
fn standing(warnings: &api::Warnings) -> Vec<String> {
    let line = |warning: &api::Warning| {
        let within = Duration::try_from_secs_f64(warning.within_seconds).map_or_else(|_| String::new(), span::format);
        let probability =
            warning.probability.map_or_else(String::new, |probability| format!(": {}", percent(probability)));
        let silence = warning.no_sample_since.map_or_else(String::new, |since| format!(", no sample since {since}"));
        let acknowledged = warning.acknowledged.as_ref().map_or_else(String::new, |acknowledged| {
            acknowledged.by.as_ref().map_or_else(|| ", acknowledged".to_owned(), |by| format!(", acknowledged by {by}"))
        });
        printable(&format!("warning: {} within {within}{probability}{silence}{acknowledged}", warning.statement))
    };
    warnings.rules.iter().filter(|warning| warning.stands && warning.silent_until.is_none()).map(line).collect()
}

/// The state that `top` shows.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The place of the node, or a note that it is our own.
    pub place: String,
    pub link: Link,
    pub node: Option<api::NodeInfo>,
    /// The texts of the warnings that stand and may be shown.
    pub warnings: Vec<String>,
    pub problems: Vec<String>,
    pub rows: Vec<Row>,
    pub sort: Sort,
    pub is_reversed: bool,
    /// Lower case; a signal is shown when its name has it anywhere.
    pub filter: String,
    /// The host whose signals are shown.
    pub host: ShownHost,
    pub mode: Mode,
    /// The selected signal's id.
    pub selected: Option<String>,
    pub detail: Detail,
    pub processes: ProcessPane,
    lead_idx: usize,
    horizon_idx: usize,
}

impl State {
    pub fn new(place: &str, sort: Sort, filter: &str) -> Self {
        Self {
            place: printable(place),
            link: Link::Connecting,
            node: None,
            warnings: Vec::new(),
            problems: Vec::new(),
            rows: Vec::new(),
            sort,
            is_reversed: false,
            filter: filter.to_lowercase(),
            host: ShownHost::All,
            mode: Mode::List,
            selected: None,
            detail: Detail::default(),
            processes: ProcessPane::new(api::ProcessOrder::Cpu, None),
            lead_idx: 5,
            horizon_idx: 2,
        }
    }

    /// Returns the lead of the list, in steps.
    pub fn lead(&self) -> usize {
        LEADS[self.lead_idx]
    }

    /// Returns the horizon of the large view for a signal, and whether that horizon is one for an outlook.
    pub fn horizon(&self, row: &Row) -> (Duration, bool) {
        let horizons = horizons(row.step());
        let horizon = horizons[self.horizon_idx.min(horizons.len() - 1)];
        (horizon, horizon.as_secs_f64() > row.near_seconds)
    }

    /// Looks further ahead, or less far, in the view that is shown.
    pub fn shift_horizon(&mut self, further: bool) {
        let n_horizons = self.selected_row().map_or(1, |row| horizons(row.step()).len());
        let (idx, max) = match self.mode {
            Mode::Detail => (&mut self.horizon_idx, n_horizons - 1),
            _ => (&mut self.lead_idx, LEADS.len() - 1),
        };
        *idx = if further { *idx + 1 } else { idx.saturating_sub(1) }.min(max);
    }

    /// Takes news in.
    pub fn apply(&mut self, update: Update) {
        match update {
            Update::Link(Link::Lost { reason }) => self.link = Link::Lost { reason: printable(&reason) },
            Update::Link(link) => self.link = link,
            Update::Series(list) => self.apply_list(list),
            Update::History(samples) => {
                if let Some(row) = self.rows.iter_mut().find(|row| row.id == samples.id) {
                    row.set_history(&samples);
                }
            }
            Update::Tick(tick) => self.apply_tick(tick),
            Update::Warnings(warnings) => self.warnings = standing(&warnings),
            Update::Health(health) => self.problems = health.problems.iter().map(|text| printable(text)).collect(),
            Update::Detail { id, detail } if self.selected.as_ref() == Some(&id) => self.detail = *detail,
            Update::Detail { .. } => {}
            Update::Processes { at, answer } => self.processes.answer(at, *answer),
        }
    }

    fn apply_list(&mut self, list: api::SeriesList) {
        self.node = Some(api::NodeInfo {
            host: printable(&list.node.host),
            version: printable(&list.node.version),
            model: printable(&list.node.model),
            ..list.node
        });
        let mut known = std::mem::take(&mut self.rows);
        let mut take_known = |id: &str| known.iter().position(|row| row.id == id).map(|idx| known.swap_remove(idx));
        self.rows = list
            .series
            .iter()
            .map(|series| {
                let mut row = take_known(&series.id).unwrap_or_else(|| Row::new(series));
                row.describe(series);
                row
            })
            .collect();
    }

    fn apply_tick(&mut self, mut tick: api::TickEvent) {
        for row in &mut self.rows {
            if let Some(value) = tick.values.get(row.id.as_str()) {
                row.push(tick.time, *value);
                row.forecast = tick.forecasts.remove(row.id.as_str());
            }
        }
    }

    /// The signals that pass the filter, in order.
    pub fn visible(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| self.shows(row)).collect();
        match self.sort {
            Sort::Table => rows.sort_by_key(|row| (row.is_of_core, !row.has_moved)),
            Sort::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
            Sort::Value => return self.by_value(rows),
            Sort::Uncertainty => sort_by_figure(&mut rows, |row| row.uncertainty(self.lead())),
            Sort::Change => sort_by_figure(&mut rows, |row| row.change(self.lead())),
        }
        if self.is_reversed {
            rows.reverse();
        }
        rows
    }

    /// Shares beside bytes say nothing by their size: each unit is sorted by itself, in the order in which the node has
    /// them. What has no value comes last of its unit.
    fn by_value<'a>(&self, rows: Vec<&'a Row>) -> Vec<&'a Row> {
        let mut by_unit: Vec<Vec<&Row>> = Vec::new();
        for row in rows {
            match by_unit.iter_mut().find(|group| group[0].unit == row.unit) {
                Some(group) => group.push(row),
                None => by_unit.push(vec![row]),
            }
        }
        let sign = if self.is_reversed { -1.0 } else { 1.0 };
        by_unit.iter_mut().for_each(|group| sort_by_figure(group, |row| row.value().map(|value| sign * value)));
        by_unit.concat()
    }

    /// Shows the next host alone, and after the last one all of them again.
    pub fn next_host(&mut self) {
        let hosts: BTreeSet<&String> = self.rows.iter().filter_map(|row| row.host.as_ref()).collect();
        let first = || hosts.first().map_or(ShownHost::All, |host| ShownHost::Followed((*host).clone()));
        self.host = match &self.host {
            ShownHost::All if hosts.is_empty() => ShownHost::All,
            ShownHost::All => ShownHost::Own,
            ShownHost::Own => first(),
            ShownHost::Followed(host) => {
                let next = hosts.range::<String, _>((Bound::Excluded(host), Bound::Unbounded)).next();
                next.map_or(ShownHost::All, |next| ShownHost::Followed((*next).clone()))
            }
        };
    }

    fn shows(&self, row: &Row) -> bool {
        let is_of_host = match &self.host {
            ShownHost::All => true,
            ShownHost::Own => row.host.is_none(),
            ShownHost::Followed(host) => row.host.as_ref() == Some(host),
        };
        let has = |text: &String| text.to_lowercase().contains(&self.filter);
        is_of_host && (has(&row.name) || row.aliases.iter().any(has))
    }

    /// Returns the position of the selected signal among the visible ones; the first if it is not among them.
    pub fn selected_idx(&self) -> usize {
        let is_selected = |row: &&Row| Some(&row.id) == self.selected.as_ref();
        self.visible().iter().position(is_selected).unwrap_or(0)
    }

    /// Moves the selection by so many rows, and not beyond the ends.
    pub fn select_by(&mut self, n_rows: isize) {
        let visible = self.visible();
        let last = visible.len().saturating_sub(1);
        let idx = self.selected_idx().saturating_add_signed(n_rows).min(last);
        self.selected = visible.get(idx).map(|row| row.id.clone());
    }

    /// The selected signal, if it is still there.
    pub fn selected_row(&self) -> Option<&Row> {
        match self.mode {
            Mode::Detail => self.rows.iter().find(|row| Some(&row.id) == self.selected.as_ref()),
            _ => self.visible().get(self.selected_idx()).copied(),
        }
    }
}

/// The horizons to choose from, at least one, for a signal of this step.
fn horizons(step: Duration) -> Vec<Duration> {
    let near = HORIZONS.map(|n_steps| step.saturating_mul(n_steps));
    let far = FAR_HORIZONS.into_iter().filter(|far| *far > near[near.len() - 1]);
    near.into_iter()
        .chain(far)
        .enumerate()
        .filter(|(idx, horizon)| *idx == 0 || *horizon <= warn::HORIZON_MAX)
        .map(|(_, horizon)| horizon)
        .collect()
}

/// Greatest first; what has no figure comes last; equals by name, so that rows do not dance.
fn sort_by_figure(rows: &mut [&Row], figure: impl Fn(&Row) -> Option<f64>) {
    rows.sort_by(|a, b| match (figure(a), figure(b)) {
        (Some(a_figure), Some(b_figure)) => b_figure.total_cmp(&a_figure).then_with(|| a.name.cmp(&b.name)),
        (a_figure, b_figure) => b_figure.is_some().cmp(&a_figure.is_some()).then_with(|| a.name.cmp(&b.name)),
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use units::Timestamp;

    use super::super::sample;
    use super::*;

    fn names(state: &State) -> Vec<&str> {
        state.visible().iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn sorting_by_change_puts_the_unknown_last() {
        let mut state = sample::state();
        state.sort = Sort::Change;
        assert_eq!(names(&state), ["load.1m", "cpu.availability.vmstat", "memory.available", "swap.used"]);
    }

    #[test]
    fn zeros_come_after_what_moves_and_single_cores_last() {
        let mut state = sample::state();
        let mut list = sample::list(&["cpu.0.busy", "cpu.guest", "cpu.busy", "memory.available"]);
        list.series[0].labels.insert("core".to_owned(), "0".to_owned());
        for series in &mut list.series {
            (series.last, series.source) = (None, api::Source::Sensor);
        }
        state.sort = Sort::Table;
        state.apply(Update::Series(list));
        for (idx, value) in [(0, 0.5), (1, 0.0), (2, 0.5), (3, 1e9)] {
            state.rows[idx].push(Timestamp::from_nanos(0), Some(value));
        }
        state.rows[2].push(Timestamp::from_nanos(1_000_000_000), Some(0.0));
        assert_eq!(names(&state), ["cpu.busy", "memory.available", "cpu.guest", "cpu.0.busy"]);
    }

    #[test]
    fn values_are_sorted_within_their_unit() {
        let mut state = sample::state();
        state.sort = Sort::Value;
        // Memory and swap are bytes, and swap has no value.
        assert_eq!(names(&state), ["cpu.availability.vmstat", "load.1m", "memory.available", "swap.used"]);
        let next = state.rows[2].time.unwrap() + Duration::from_secs(1);
        state.rows[3].push(next, Some(1e12));
        assert_eq!(names(&state)[2..], ["swap.used", "memory.available"]);
        state.is_reversed = true;
        assert_eq!(names(&state), ["cpu.availability.vmstat", "load.1m", "memory.available", "swap.used"]);
    }

    #[test]
    fn an_alias_passes_the_filter_as_well() {
        let mut state = sample::state();
        state.filter = "y.v".to_owned();
        assert_eq!(names(&state), ["cpu.availability.vmstat"]);
        state.filter = "short.cpu".to_owned();
        assert_eq!(names(&state), ["cpu.availability.vmstat"]);
    }

    #[test]
    fn hosts_are_shown_one_after_the_other_and_then_all_again() {
        let mut state = sample::state();
        state.next_host();
        assert_eq!(state.host, ShownHost::All, "there is only one");
        let mut list = sample::list(&["load.1m", "a/load.1m", "b/load.1m"]);
        for (series, host) in list.series[1..].iter_mut().zip(["a", "b"]) {
            series.labels.insert("host".to_owned(), host.to_owned());
        }
        state.apply(Update::Series(list));
        let mut shown = Vec::new();
        for _ in 0..4 {
            state.next_host();
            shown.push(names(&state).join(" "));
        }
        assert_eq!(shown, ["load.1m", "a/load.1m", "b/load.1m", "a/load.1m b/load.1m load.1m"]);
    }

    #[test]
    fn beyond_what_the_node_calls_near_an_outlook_answers() {
        let mut state = sample::state();
        let at = |state: &State, step_seconds: u32| {
            let step_seconds = f64::from(step_seconds);
            let near_seconds = 3600.0_f64.min(600.0 * step_seconds);
            let (horizon, is_far) = state.horizon(&Row { step_seconds, near_seconds, ..state.rows[0].clone() });
            (horizon.as_secs(), is_far)
        };
        assert_eq!((at(&state, 1), at(&state, 300)), ((60, false), (18_000, true)));
        state.horizon_idx = 6;
        assert_eq!((at(&state, 1), at(&state, 300)), ((3600, true), (604_800, true)));
        state.horizon_idx = 9;
        assert_eq!((at(&state, 1), at(&state, 3600)), ((604_800, true), (300 * 3600, true)));
        // No further than an outlook sees, and not nowhere.
        assert_eq!(at(&state, 1_000_000), (10_000_000, true));
    }

    #[test]
    fn the_selection_stays_with_its_signal() {
        let mut state = sample::state();
        state.select_by(1);
        assert_eq!(state.selected.as_deref(), Some("load.1m"));
        state.is_reversed = true;
        assert_eq!(state.selected_idx(), 2);
        state.select_by(100);
        assert_eq!(state.selected.as_deref(), Some("cpu.availability.vmstat"));
        state.select_by(-100);
        assert_eq!(state.selected.as_deref(), Some("swap.used"));
    }

    #[test]
    fn a_signal_that_is_gone_leaves_the_list_and_the_others_keep_their_history() {
        let mut state = sample::state();
        let list = sample::list(&["load.1m"]);
        state.apply(Update::Series(list));
        assert_eq!(names(&state), ["load.1m"]);
        assert!(!state.rows[0].history.is_empty());
    }

    #[test]
    fn what_was_asked_for_another_signal_is_passed_over() {
        let mut state = sample::state();
        state.selected = Some("load.1m".to_owned());
        let detail = Box::new(Detail { problem: Some("x".to_owned()), ..Detail::default() });
        state.apply(Update::Detail { id: "swap.used".to_owned(), detail });
        assert_eq!(state.detail, Detail::default());
    }
}
