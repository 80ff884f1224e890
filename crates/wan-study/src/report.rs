//! The results as a document: the measured figures beside the published ones.

use mpi_run::{Document, MalformedRecord, Outcome, Section};
use text::figure::{percent, span_ns};
use units::ByteCount;

use crate::record::{Answered, Needed, Noise, Run, kind};
use crate::{CLUSTERS, Case, Joined, Links, Settings, Topology, Trial, noise, relaxation};

/// Remote values that P3's clusters needed, in the order of [`CLUSTERS`]: the data set, its calls, and these.
const PUBLISHED_NEEDED: [(&str, u64, [u64; 5]); 3] = [
    ("frosty", 16_210, [4, 4, 14, 165, 5_291]),
    ("tridiagonal", 15_635, [9, 9, 55, 254, 6_013]),
    ("random", 15_015, [55, 55, 235, 3_267, 4_388]),
];

/// Builds the document of all results so far.
///
/// # Errors
/// A record that is not of its kind.
pub fn report(outcome: &Outcome) -> Result<Document, MalformedRecord> {
    let settings: Vec<Settings> = outcome.all(kind::SETTINGS)?;
    let runs: Vec<Run> = outcome.all(kind::RUN)?;
    let mut about = vec![format!("MPI: {}", outcome.header.mpi), format!("started: {}", outcome.header.started)];
    if let Some(settings) = settings.first() {
        let Settings { work_ms, n_iterations, n_replayed_max, side, .. } = settings;
        about.push(format!(
            "{work_ms} ms of work between allreduces, {n_iterations} iterations; of each data set ({side} x {side} points), the first {n_replayed_max} at most"
        ));
    }
    let answered: Vec<Answered> = outcome.all(kind::ANSWERED)?;
    let noise: Vec<Noise> = outcome.all(kind::NOISE)?;
    let mut sections = vec![of_round_trips(&runs), of_senders(&runs), of_sums(&runs), of_relaxation()];
    sections.extend([of_iterations(&runs), of_needed(&outcome.all(kind::NEEDED)?, &answered), of_waits(&answered)]);
    let of_noise = runs.iter().find(|run| run.trial == Trial::Noise).zip(noise.last());
    sections.extend(of_noise.map(|(run, noise)| noise::section(noise, run)));
    let title = "A study of collectives over sites".to_owned();
    Ok(Document { title, about, warnings: outcome.warnings(), sections })
}

fn of_round_trips(runs: &[Run]) -> Section {
    let row = |run: &Run| {
        let Trial::RoundTrips { links, size_bytes } = &run.trial else { return None };
        let error = run.modelled_ns.map_or(["-".to_owned(), "-".to_owned()], |modelled_ns| {
            let error_ns = run.took_ns - modelled_ns;
            [span_ns(modelled_ns), format!("{} ({})", span_ns(error_ns), percent(error_ns / modelled_ns))]
        });
        let [modelled, error] = error;
        Some(vec![
            ByteCount::new((*size_bytes).into()).to_string(),
            links.to_string(),
            modelled,
            span_ns(run.took_ns),
            error,
        ])
    };
    Section::new(
        "Precision: round trips between Odense and Aalborg",
        &["size", "links", "by the model", "here, median", "error"],
        runs.iter().filter_map(row).collect(),
        &[
            "Longcut compared its emulation with the real link, and found \"similar latency and bandwidth for most message sizes\", without figures. Here a relay is compared with the model of its \
           link; `foretop wan compare` does so with a real one. The goal is 1 % or 50 us. Longcut's constant links and its traces did not differ significantly, and NWS differed.",
        ],
    )
}

fn of_senders(runs: &[Run]) -> Section {
    let row = |run: &Run| match run.trial {
        Trial::Senders { n } => Some(vec![n.to_string(), run.n.to_string(), span_ns(run.took_ns)]),
        _ => None,
    };
    Section::new(
        "Scaling: messages of many senders",
        &["senders", "messages", "99.9 % are less late than"],
        runs.iter().filter_map(row).collect(),
        &["Longcut's largest latency was equal with 2 and 40 connections."],
    )
}

fn of_sums(runs: &[Run]) -> Section {
    let took = |topology, joined| {
        let run = runs.iter().find(|run| run.trial == Trial::Sums { topology, joined })?;
        Some(run.took_ns)
    };
    let cell = |took_ns: Option<f64>| took_ns.map_or("-".to_owned(), span_ns);
    let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or("-".to_owned(), |(a, b)| format!("{:.2}", a / b));
    let row = |(name, topology, published): (String, Topology, &str)| {
        let [sequential, exchanged] = [Joined::Sequential, Joined::AllToAll].map(|joined| took(topology, joined));
        let of_constant = match topology {
            Topology::Four(_) => ratio(exchanged, took(Topology::Four(Links::Constant), Joined::AllToAll)),
            _ => "-".to_owned(),
        };
        vec![name, cell(sequential), cell(exchanged), ratio(sequential, exchanged), published.to_owned(), of_constant]
    };
    let four = Links::ALL.map(|links| (format!("four sites, {links}"), Topology::Four(links), "-"));
    let two = ("two sites, 18 ms each way".to_owned(), Topology::Two, "about 2.0 (P3)");
    Section::new(
        "Sums of 8 bytes over sites",
        &[
            "sites",
            "one root",
            "all to all",
            "one root by all to all",
            "published",
            "all to all, by that over constant links",
        ],
        std::iter::once(two).chain(four).map(row).collect(),
        &[
            "Over four parts, Longcut's allreduce differed between constant links and traces by less than its ping-pong did, and with NWS's links markedly.",
        ],
    )
}

fn of_relaxation() -> Section {
    let published = [("383.8 s", "1.00"), ("390.3 s", "1.017"), ("461.9 s", "1.203")];
    let iterations = relaxation::iterations();
    let rows = iterations.into_iter().zip(published).map(|((links, took_ns), (time, ratio))| {
        vec![
            links.to_string(),
            time.to_owned(),
            ratio.to_owned(),
            span_ns(took_ns),
            format!("{:.3}", took_ns / iterations[0].1),
        ]
    });
    Section::new(
        "Constant links against traces: a relaxation over four parts",
        &["links", "published", "ratio", "an iteration here", "ratio here"],
        rows.collect(),
        &[
            "By the model of the links alone, in simulated time: two exchanges of borders of 19,800 bytes and a sum in each iteration. Longcut's traces are lost; these are drawn from their means and \
           deviations, a point a second, without what followed what in them. Work is as long as makes 70 % communication over NWS's links.",
        ],
    )
}

fn of_iterations(runs: &[Run]) -> Section {
    let published = [
        (Case::Sequential, 94.1),
        (Case::Worst, 98.3),
        (Case::Best, 38.6),
        (Case::Data("frosty".to_owned()), 39.6),
        (Case::Data("tridiagonal".to_owned()), 38.6),
        (Case::Data("random".to_owned()), 38.3),
    ];
    let took = |case: &Case| runs.iter().find(|run| run.trial == Trial::Iterations { case: case.clone() });
    let sequential = took(&Case::Sequential).map(|run| run.took_ns);
    let best = took(&Case::Best).map(|run| run.took_ns);
    let ratio = |a: Option<f64>, b: f64| a.map_or("-".to_owned(), |a| format!("{:.3}", a / b));
    let rows = published.iter().map(|(case, published_ms)| {
        let cells = took(case).map_or(["-".to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned()], |run| {
            let by_best = best.map_or("-".to_owned(), |best| format!("{:.3}", run.took_ns / best));
            [run.n.to_string(), span_ns(run.took_ns), ratio(sequential, run.took_ns), by_best]
        });
        let head = [case.to_string(), format!("{published_ms} ms"), format!("{:.2}", published[0].1 / published_ms)];
        head.into_iter().chain(cells).collect()
    });
    Section::new(
        "Conditional allreduce over P3's five clusters",
        &["run", "published", "speed-up", "iterations here", "an iteration here", "speed-up here", "by the best case"],
        rows.collect(),
        &[
            "A rank for each cluster, 30 ms of work, which ranks sleep where they are more than the cores. P3's slowest cluster computed 34 ms and its sequential tree lost 23 ms more than the WAN's 36 to its broadcast: \
           2.4 was its speed-up, 66/30 = 2.2 is the most that there can be here. Of all to all it had expected a speed-up of 1.1. P3 replayed each data set until it had some 15,000 iterations.",
        ],
    )
}

fn of_needed(needed: &[Needed], answered: &[Answered]) -> Section {
    let mut rows = Vec::new();
    for (data, n_published, published) in PUBLISHED_NEEDED {
        let of_data = needed.iter().find(|needed| needed.data == data);
        for (at, cluster) in CLUSTERS.iter().enumerate() {
            let share = |n: u64, of: u64| format!("{n} of {of} ({})", percent(n as f64 / of.max(1) as f64));
            let whole = of_data.map_or("-".to_owned(), |it| share(it.n_needed[at], it.n_iterations));
            let trial = Trial::Iterations { case: Case::Data(data.to_owned()) };
            let here = answered.iter().find(|it| it.trial == trial && it.site == cluster.site);
            let here = here.and_then(|it| it.counts.as_ref());
            let here = here.map_or("-".to_owned(), |counts| share(counts.calls - counts.local, counts.calls));
            let processes = cluster.n_processes.to_string();
            rows.push(vec![
                data.to_owned(),
                cluster.name.to_owned(),
                processes,
                share(published[at], n_published),
                whole,
                here,
            ]);
        }
    }
    Section::new(
        "Calls that needed a remote value",
        &["data", "cluster", "processes", "published", "whole data set here", "of the iterations replayed"],
        rows,
        &[
            "In the whole data set: iterations in which the cluster's own part is below the threshold, which depends on the data alone. P3 does not say which rows each cluster had; here they follow each other in \
           the table's order from the top.",
        ],
    )
}

fn of_waits(answered: &[Answered]) -> Section {
    let mut rows = Vec::new();
    for it in answered {
        let (Trial::Iterations { case: Case::Data(data) }, Some(counts)) = (&it.trial, &it.counts) else { continue };
        for remote in counts.remotes.iter().filter(|remote| remote.prefetched + remote.waited > 0) {
            let mean = if remote.waited == 0 {
                "-".to_owned()
            } else {
                span_ns(remote.waited_ns as f64 / remote.waited as f64)
            };
            let counts = [remote.prefetched, remote.waited].map(|n| n.to_string());
            rows.push([&[data.clone(), it.site.clone(), remote.cluster.clone()][..], &counts, &[mean]].concat());
        }
    }
    Section::new(
        "Whom clusters waited for",
        &["data", "cluster", "remote", "prefetched", "waited for", "a wait, mean"],
        rows,
        &[
            "P3: where Blade needed a value of the frosty set it waited 2.5 ms (Dominic) to 133 ms (4W) in the mean, with a median of some microseconds, since most values had been prefetched; in the last iteration of \
           the best case three clusters waited 53 to 102 s for those that had fallen behind.",
        ],
    )
}
