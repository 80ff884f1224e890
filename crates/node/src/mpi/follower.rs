//! A job that is followed: reads its rings as they are written, and knows what was in them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mpi_analysis::{Analysis, Analyzer, Expectations, HostClock, Slow};
use mpi_job::{Folder, RingFile};
use mpi_trace::{Alignment, Cursor, Drain, Event, Flow, RingHeader, RingKind};
use mpi_tree::{Forest, Host};
use units::{Rank, Timestamp};

use super::answer;
use super::calls::{Calls, Written};
use super::found::Found;
use super::view::View;
use crate::api;

/// Records that are read at a time, of all rings together: at four times a second as much as takes some percent of a
/// core.
const N_AT_ONCE: u64 = 1 << 16;
/// Polls between two looks at what is in the folder: two seconds.
const N_POLLS_A_LOOK: u32 = 8;
/// Polls in an interval whose means are forecast: a second.
const N_POLLS_AN_INTERVAL: u32 = 4;
/// Time for which a stage that was slower than expected is reported.
const SLOW_FOR: Duration = Duration::from_secs(30);
/// Trees that are analyzed of one job. Each takes some megabytes.
const N_TREES_MAX: usize = 8;
/// Ranks of a tree that is analyzed: figures of a flat tree grow with their square, to 64 MiB here.
const N_RANKS_MAX: usize = 2048;

/// A job, followed since somebody asked.
pub(super) struct Follower {
    folder: Folder,
    /// Time at which somebody last asked.
    pub(super) asked: Duration,
    began: Duration,
    n_polls: u32,
    found: Found,
    /// Progress in the rings that were found.
    readings: Vec<Progress>,
    /// Analyzers by the identifier of their tree in records.
    analyzers: BTreeMap<u64, Result<Box<Inside>, String>>,
    calls: Calls,
    n_of_calls_read: u64,
    n_read: u64,
    n_lost: u64,
    n_left_out: u64,
    events: Vec<Event>,
}

/// A tree, and what is known of calls over it.
struct Inside {
    view: View,
    analyzer: Analyzer,
    expectations: Expectations,
    /// Stages that were slower than expected, and when. Of each the last time.
    slow: Vec<(Duration, Slow)>,
    /// Its hosts, and which of them have rings here.
    hosts: Vec<Host>,
    here: Vec<bool>,
}

/// Position up to which a ring is read.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    cursor: Cursor,
    /// Time at which the last call that was read ended, if none was lost since.
    until: Option<u64>,
}

impl Follower {
    /// Reads what there is. None if the folder has no ring.
    pub(super) fn begin(folder: Folder, now: Duration) -> Option<Self> {
        let found = Found::look(&folder);
        let mut follower = Self {
            readings: vec![Progress::default(); found.rings.len()],
            folder,
            asked: now,
            began: now,
            n_polls: 0,
            found,
            analyzers: BTreeMap::new(),
            calls: Calls::default(),
            n_of_calls_read: 0,
            n_read: 0,
            n_lost: 0,
            n_left_out: 0,
            events: Vec::new(),
        };
        if !follower.found.has_rings() {
            return None;
        }
        follower.poll(now);
        Some(follower)
    }

    /// Reads what is new.
    pub(super) fn poll(&mut self, now: Duration) {
        if self.n_polls > 0 && self.n_polls.is_multiple_of(N_POLLS_A_LOOK) {
            self.look();
        }
        let mut written = Written::default();
        let n_at_once = (N_AT_ONCE / self.found.rings.len().max(1) as u64).max(1);
        for at in 0..self.found.rings.len() {
            let n_written = self.read(at, n_at_once);
            written.n_records = written.n_records.saturating_add(n_written);
            if self.found.rings[at].header.kind == RingKind::Calls {
                written.n_of_calls = written.n_of_calls.saturating_add(n_written);
            }
        }
        self.n_polls += 1;
        if self.n_polls.is_multiple_of(N_POLLS_AN_INTERVAL) {
            self.analyzers.values_mut().flatten().for_each(|inside| inside.end_interval(now));
        }
        self.calls.mark(now, Written { n_of_calls_read: self.n_of_calls_read, ..written });
    }

    /// Reads at most so many records of a ring. Gives how many were ever written.
    ///
    /// Of more, the newest are read: what is read of different ranks is then of the same calls, also where some ranks
    /// write more records a call than others.
    fn read(&mut self, at: usize, n_at_once: u64) -> u64 {
        let (file, progress) = (&self.found.rings[at], &mut self.readings[at]);
        let ring = file.ring();
        let n_written = ring.n_written();
        let oldest = n_written.saturating_sub(ring.capacity());
        let wanted = n_written.saturating_sub(n_at_once);
        if self.n_polls == 0 {
            // What was before the first question is of no account. The oldest record may just be overwritten.
            progress.cursor.position = if oldest == 0 { wanted } else { wanted.max(oldest + 1) };
        }
        let position = progress.cursor.position;
        if position < wanted {
            self.n_lost += oldest.saturating_sub(position);
            self.n_left_out += wanted - position.max(oldest).min(wanted);
            progress.cursor.position = wanted;
            progress.until = None;
        }
        self.events.clear();
        let mut drain = Drain::from(ring, progress.cursor);
        let n_lost = drain.take(n_at_once as usize, &mut self.events);
        let n_taken = drain.cursor().position - progress.cursor.position;
        progress.cursor = drain.cursor();
        self.n_lost += n_lost;
        self.n_read += n_taken.saturating_sub(n_lost);
        if n_lost > 0 {
            progress.until = None;
        }
        match file.header.kind {
            RingKind::Calls => {
                self.n_of_calls_read += n_taken.saturating_sub(n_lost);
                self.calls.take(file.header.rank, file.line(), &mut progress.until, &self.events);
            }
            RingKind::Stages => {
                let id = file.header.tree;
                if !self.analyzers.contains_key(&id) && self.analyzers.len() < N_TREES_MAX {
                    self.analyzers.insert(id, Inside::begin(&self.found, id).map(Box::new));
                }
                if let Some(Ok(inside)) = self.analyzers.get_mut(&id) {
                    let Inside { view, analyzer, .. } = &mut **inside;
                    analyzer.take(self.events.drain(..).filter_map(|event| view.translate(event)));
                }
            }
        }
        n_written
    }

    /// Finds rings that were made since, and how the job is.
    fn look(&mut self) {
        let mut found = Found::look(&self.folder);
        if !found.has_rings() {
            // The job has ended, and taken its folder along. What is mapped stays, and is what there is to show.
            self.found.is_running = false;
            return;
        }
        let known: BTreeMap<_, _> = self.found.rings.drain(..).zip(self.readings.drain(..)).map(by_path).collect();
        for ring in &mut found.rings {
            let same = known.get(&ring.path).filter(|(header, _)| *header == ring.header);
            self.readings.push(same.map(|(_, progress)| *progress).unwrap_or_default());
        }
        self.found = found;
        // The trees in force may be others now, and more of their hosts may be here.
        let is_same = |id: u64, inside: &Inside| inside.here == here(&self.found, id, &inside.hosts);
        self.analyzers.retain(|&id, inside| inside.as_ref().is_ok_and(|inside| is_same(id, inside)));
    }

    /// All that was seen.
    pub(super) fn detail(&self, job: &str, now: Duration, wall: Timestamp) -> api::MpiJobDetail {
        let mut about = self.found.about(job, wall);
        about.problems.extend(self.analyzers.values().filter_map(|analyzer| analyzer.as_ref().err().cloned()));
        api::MpiJobDetail {
            about,
            watched_seconds: now.saturating_sub(self.began).as_secs_f64(),
            records_per_second: self.calls.records_per_second(),
            calls_per_second: self.calls.calls_per_second(),
            n_read: self.n_read,
            n_lost: self.n_lost,
            n_left_out: self.n_left_out,
            operations: self.calls.operations(),
            by_rank: self.calls.by_rank(),
            analyses: self.insides().flat_map(|inside| inside.told(now)).collect(),
        }
    }

    /// The figures of one tree and flow, by default of that of most calls; none if no call had it. The names of the
    /// trees that there are if it is none of them.
    pub(super) fn analysis(&self, tree: Option<&str>, flow: Option<Flow>) -> Result<Option<Analysis>, Vec<String>> {
        let names = || self.insides().map(|inside| inside.view.tree.name.clone()).collect::<Vec<_>>();
        let is_only = self.insides().count() == 1;
        let is_wanted = |inside: &&Inside| tree.map_or(is_only, |tree| inside.view.tree.name == tree);
        let inside = self.insides().find(is_wanted).ok_or_else(names)?;
        Ok(inside.analyses().into_iter().find(|one| flow.is_none_or(|flow| one.flow == flow)))
    }

    fn insides(&self) -> impl Iterator<Item = &Inside> {
        self.analyzers.values().filter_map(|inside| inside.as_deref().ok())
    }
}

type Known = (std::path::PathBuf, (RingHeader, Progress));

fn by_path((file, progress): (RingFile, Progress)) -> Known {
    (file.path, (file.header, progress))
}

impl Inside {
    /// Begins the analysis of the tree that has this `id` in records; the error is the reason why not, for people.
    fn begin(found: &Found, id: u64) -> Result<Self, String> {
        let known = |forest: &Forest| Some((forest.hosts.clone(), forest.trees[forest.tree_of(id)?].clone()));
        let Some((hosts, tree)) = found.forest.as_ref().and_then(known) else {
            return Err(format!("there are stages of a tree {id:016x} that is not in the job's tree.toml"));
        };
        let n_ranks: usize = hosts.iter().map(|host| host.ranks.len()).sum();
        if n_ranks > N_RANKS_MAX {
            return Err(format!("tree {} has {n_ranks} ranks; at most {N_RANKS_MAX} are analyzed here", tree.name));
        }
        let here = here(found, id, &hosts);
        let view = View::of(&tree, &hosts, &here);
        if view.tree.nodes.is_empty() {
            return Err(format!("no node of tree {} is on this host, so that only calls are seen", tree.name));
        }
        // All rings of a folder are on this machine, and share its monotonic clock whatever their hosts are called.
        let clock = |host: &Host| {
            let ring = stages(found, id).find(|ring| host.ranks.contains(&ring.header.rank));
            let clock = |ring: &RingFile| HostClock { line: ring.line(), alignment: Some(Alignment::default()) };
            ring.map_or_else(HostClock::alone, clock)
        };
        let clocks = hosts.iter().map(clock).collect();
        let analyzer = Analyzer::new(view.tree.clone(), view.hosts.clone(), clocks);
        Ok(Self { view, analyzer, expectations: Expectations::default(), slow: Vec::new(), hosts, here })
    }

    /// Compares the means of the interval that ends with what was expected.
    fn end_interval(&mut self, now: Duration) {
        let slow = self.expectations.step(&self.analyzer.end_interval());
        let is_again = |old: &Slow| slow.iter().any(|new| new.stage() == old.stage());
        self.slow.retain(|(at, old)| now.saturating_sub(*at) < SLOW_FOR && !is_again(old));
        self.slow.splice(0..0, slow.into_iter().map(|slow| (now, slow)));
    }

    /// Returns the analysis of each flow that calls had, that of most calls first.
    fn analyses(&self) -> Vec<Analysis> {
        let mut analyses = self.analyzer.analyses();
        if analyses.iter().any(|analysis| analysis.n_calls > 0) {
            analyses.retain(|analysis| analysis.n_calls > 0 || analysis.n_disordered > 0);
        }
        analyses.sort_by_key(|analysis| std::cmp::Reverse(analysis.n_calls));
        analyses.into_iter().map(|analysis| self.view.rename(analysis)).collect()
    }

    fn told(&self, now: Duration) -> Vec<api::MpiAnalysis> {
        let slow = |analysis: &Analysis| {
            let own = self.slow.iter().filter(|(_, slow)| slow.flow == analysis.flow);
            own.map(|(at, slow)| answer::slow(slow, now.saturating_sub(*at))).collect()
        };
        self.analyses().iter().map(|one| answer::analysis(one, slow(one))).collect()
    }
}

fn stages(found: &Found, id: u64) -> impl Iterator<Item = &RingFile> {
    found.rings.iter().filter(move |ring| ring.header.kind == RingKind::Stages && ring.header.tree == id)
}

/// Returns for each host of a tree whether it has rings here.
fn here(found: &Found, id: u64, hosts: &[Host]) -> Vec<bool> {
    let ranks: BTreeSet<Rank> = stages(found, id).map(|ring| ring.header.rank).collect();
    hosts.iter().map(|host| host.ranks.iter().any(|rank| ranks.contains(rank))).collect()
}
