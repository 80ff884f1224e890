//! The models that an `AUTO` weighs, as a table and as JSON. Specified in docs/formats/cli.md.

use std::time::Duration;

use predict::{Model, Parameter, SeasonLead, SeasonStanding, Standing};
use serde::Serialize;
use series::{Grid, Step};
use text::figure::{percent, six_digits};
use text::{Align, Table};
use units::span;

/// A model, its share in the forecast of the next sample, and what its last fit found.
#[derive(Debug, Serialize)]
pub struct Speaker {
    model: String,
    weight_ratio: f64,
    n_samples: usize,
    parameters: Vec<Estimate>,
    leads: Vec<LeadWeight>,
}

#[derive(Debug, Serialize)]
struct Estimate {
    name: String,
    value: f64,
}

#[derive(Debug, Serialize)]
struct LeadWeight {
    lead_steps: usize,
    weight_ratio: f64,
}

impl Speaker {
    /// The heaviest first; none of a model that does not weigh several.
    pub fn all(model: &Model) -> Vec<Self> {
        model.speakers().into_iter().map(Self::from).collect()
    }

    /// A row for each speaker of the next sample, in `Detail::Full` one for each of its parameters; and how many speak
    /// later on.
    pub fn table(speakers: &[Self], detail: Detail) -> String {
        let shown = |estimate: &Estimate| format!("{} {}", estimate.name, six_digits(estimate.value));
        let mut table = Table::new(&[
            ("model", Align::Left),
            ("weight", Align::Right),
            ("samples", Align::Right),
            ("parameters", Align::Left),
        ]);
        let (next, later): (Vec<&Self>, Vec<&Self>) = speakers.iter().partition(|speaker| speaker.weight_ratio > 0.0);
        for Self { model, weight_ratio, n_samples, parameters, .. } in next {
            let mut lines: Vec<String> = match detail {
                Detail::Full => parameters.iter().map(shown).collect(),
                Detail::Short => {
                    let mut line: Vec<String> = parameters.iter().take(N_SHORT).map(shown).collect();
                    let n_more = parameters.len().saturating_sub(N_SHORT);
                    line.extend((n_more > 0).then(|| format!("and {n_more} more")));
                    vec![line.join(", ")]
                }
            };
            let first = if lines.is_empty() { String::new() } else { lines.remove(0) };
            table.row([model.clone(), percent(*weight_ratio), n_samples.to_string(), first]);
            for line in lines {
                table.row([String::new(), String::new(), String::new(), line]);
            }
        }
        let more = match later.len() {
            0 => String::new(),
            1 => "1 more model has a weight at longer leads\n".to_owned(),
            n => format!("{n} more models have a weight at longer leads\n"),
        };
        format!("{table}{more}")
    }
}

/// Returns, in a line, the season of an `AUTO`, and how much less the model with that season errs, at the lead where it
/// helps most.
pub fn season_line(season: &SeasonStanding, step: Option<Duration>) -> String {
    let in_time = |n_steps: f64| {
        let seconds = step.map(|step| Duration::from_secs((n_steps * step.as_secs_f64()).round() as u64));
        seconds.filter(|time| !time.is_zero()).map_or_else(String::new, |time| format!(" ({})", span::format(time)))
    };
    let lengths =
        season.periods.iter().map(|steps| format!("{} steps{}", (steps * 100.0).round() / 100.0, in_time(*steps)));
    let season_of = format!("season of {}", lengths.collect::<Vec<_>>().join(" and "));
    let model = &season.spec;
    match season.best() {
        Some(SeasonLead { lead, error_ratio, .. }) if *error_ratio < 1.0 => {
            let less = percent(1.0 - error_ratio);
            format!(
                "{season_of}: {model} errs {less} less than models without it at lead {lead}{}",
                in_time(*lead as f64)
            )
        }
        Some(_) => format!("{season_of}: {model} errs no less than models without it at any lead"),
        None => format!("{season_of}: {model} has not been compared yet"),
    }
}

/// The step of samples as a length of time, unless it is one of the calendar.
pub fn step_in_time(grid: &Grid) -> Option<Duration> {
    match grid.step {
        Step::Span(step) | Step::Clock(step) => Some(step),
        _ => None,
    }
}

/// The amount that a table shows of each speaker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    /// The first few parameters, on one line.
    Short,
    /// Every parameter, one a line.
    Full,
}

/// The number of parameters that fit on a line.
const N_SHORT: usize = 2;

impl From<Standing> for Speaker {
    fn from(standing: Standing) -> Self {
        let heard = standing.leads.iter().filter(|at| at.weight > 0.0);
        Self {
            model: standing.spec.to_string(),
            weight_ratio: standing.weight(),
            n_samples: standing.n_samples,
            leads: heard.map(|at| LeadWeight { lead_steps: at.lead, weight_ratio: at.weight }).collect(),
            parameters: standing.parameters.into_iter().map(Estimate::from).collect(),
        }
    }
}

impl From<Parameter> for Estimate {
    fn from(Parameter { name, value, .. }: Parameter) -> Self {
        Self { name, value }
    }
}
