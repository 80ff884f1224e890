//! The study as a document, with the published figures beside.

use mpi_run::{Document, Section};
use text::figure::{percent, span_ns};
use units::Rank;

use crate::code::Code;
use crate::run::{Mode, N_WORKERS, Run, Study};

/// All tables.
#[must_use]
pub fn report(study: &Study) -> Document {
    let settings = study.settings;
    Document {
        title: "How often simulated ranks wait for each other".to_owned(),
        about: vec![
            format!(
                "{} steps of each code, seed {}; a message takes {} at least",
                settings.n_steps,
                settings.seed,
                span_ns(study.lookahead.as_nanos() as f64)
            ),
            "ranks compute for drawn spans, as long as Table 8-2 has them come until they wait; the same on every machine"
                .to_owned(),
        ],
        warnings: Vec::new(),
        sections: vec![of_rounds(study), of_workers(study), of_stretches(study), of_order(study)],
    }
}

fn cases() -> impl Iterator<Item = (Code, u32)> {
    Code::ALL.into_iter().flat_map(|code| code.ranks().map(|n_ranks| (code, n_ranks)))
}

fn of_rounds(study: &Study) -> Section {
    let saved = |(code, n_ranks): (Code, u32)| {
        let rounds = |mode| study.rounds(code, n_ranks, mode, 1);
        let quantum = rounds(Mode::Quantum)?;
        let mut row = vec![code.to_string(), n_ranks.to_string(), quantum.to_string()];
        for mode in &Mode::ALL[1..] {
            let n_rounds = rounds(*mode)?;
            row.push(format!("{n_rounds} ({})", percent(1.0 - n_rounds as f64 / quantum as f64)));
        }
        Some(row)
    };
    Section::new(
        "Rounds on one worker, and the share of the quantum's that is saved (Figures 8.2 to 8.5)",
        &["code", "ranks", "quantum", "CEP", "NMP", "NMP+CEP", "NMP+CEP+DET", "with unique tags"],
        cases().filter_map(saved).collect(),
        &[
            "Published: on BT with 9 ranks CEP saves more than 80 % of the quantum's synchronisations, NMP alone 40 %. DET leaves none of BT's and SP's, whose sources are named; it does not help \
             MG and LU, whose receives name tags only, until somebody says that each tag is one source's.",
        ],
    )
}

fn of_workers(study: &Study) -> Section {
    let row = |(code, n_ranks): (Code, u32)| {
        let mut row = vec![code.to_string(), n_ranks.to_string()];
        for mode in [Mode::Cep, Mode::Nmp, Mode::Both] {
            let rounds = N_WORKERS.map(|n_workers| study.rounds(code, n_ranks, mode, n_workers));
            row.push(rounds.map(|n| n.map_or("-".to_owned(), |n| n.to_string())).join(", "));
        }
        let ended = study.runs.iter().filter(|run| (run.code, run.n_ranks) == (code, n_ranks)).map(|run| run.ended);
        let (first, last) = (ended.clone().min()?, ended.max()?);
        row.push(if first == last { format!("{first}, all alike") } else { format!("{first} to {last}") });
        Some(row)
    };
    Section::new(
        "Rounds on 1, 2 and 4 workers, and the simulated time of all runs",
        &["code", "ranks", "CEP", "NMP", "NMP+CEP", "predicted"],
        cases().filter_map(row).collect(),
        &[
            "Published: rounds fall only modestly with more host processors, and predictions are nearly identical in all modes.",
        ],
    )
}

fn of_stretches(study: &Study) -> Section {
    let is_meant = |run: &&Run| run.mode == Mode::Both && run.n_workers == 1;
    let row = |run: &Run| {
        let mean = run.counts.stretched.as_nanos() as f64 / run.counts.n_stretches.max(1) as f64;
        let published = run.code.published_stretch(run.n_ranks);
        vec![
            run.code.to_string(),
            run.n_ranks.to_string(),
            published.map_or("-".to_owned(), |stretch| format!("{stretch:.2}")),
            format!("{:.2}", mean / study.lookahead.as_nanos() as f64),
        ]
    };
    Section::new(
        "How far a rank comes until it has to wait, in lookaheads (Table 8-2)",
        &["code", "ranks", "published", "here"],
        study.runs.iter().filter(is_meant).map(row).collect(),
        &[
            "Published: what the protocols save follows this number. Spans are chosen so that this number comes out under NMP+CEP; a receive whose message is there and safe ends no stretch.",
        ],
    )
}

fn of_order(study: &Study) -> Section {
    let row = |(how, heard): (&str, Rank)| vec![how.to_owned(), format!("rank {heard}")];
    let hows = ["in order", "quantum of a lookahead", "quantum of ten lookaheads"];
    Section::new(
        "A receive from anybody: who is heard first",
        &["protocol", "heard first"],
        hows.into_iter().zip(study.heard).map(row).collect(),
        &[
            "Rank 1 is asked by rank 3 and answers after three lookaheads, rank 0 sends after five. A quantum that is longer than the lookahead takes what is there.",
        ],
    )
}
