//! Looks ahead again and again: whether rules come true, and whether signals leave their usual range. Tells whoever is
//! to be told.

mod excursions;
mod exhaustion;
mod kept;
mod lookout;
mod page_rules;
mod rules_file;
mod running;
mod watched;
mod whole;

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alert::{Alert, Post, Way};
use picture::Kind;
use units::Timestamp;
use warn::{Chance, Rule};
use watch::{OnPanic, Thread, Watch};

use crate::api;
use crate::error::StartError;
use crate::hub::{Asked, Hub};
use crate::schedule::times;
use excursions::Excursions;
pub(crate) use exhaustion::{Exhaustions, Resource};
use kept::{Escalation, File, Kept, Stood};
pub(crate) use lookout::Lookout;
pub(crate) use page_rules::PageRules;
pub use rules_file::{RulesFile, RulesFileError};
use watched::{Drawn, Watched};

/// Paths are drawn from this, so that the same samples have the same answer.
const SEED: u64 = 1;

/// Pictures of warnings that are raised at one look: a mail with more is read by nobody.
const N_PICTURES_MAX: usize = 10;

/// Time before the first look: at its start a node has no series; a little later it has all of them.
const FIRST_AFTER: Duration = Duration::from_secs(5);

/// Rules for warnings, and recipients of warnings.
#[derive(Clone, Debug)]
pub struct WarnSettings {
    /// The rules for what somebody wants to be warned of.
    pub rules: Option<RulesFile>,
    /// The channels by which warnings are sent.
    pub channels: Vec<WarnChannel>,
    /// Time between two looks.
    pub every: Duration,
    /// Time after which others are told again of a warning that still stands; never unless given.
    pub repeat: Option<Duration>,
    /// Whether signals that will leave their usual range are looked for.
    pub excursions: bool,
}

/// A channel by which warnings are sent.
#[derive(Clone, Debug)]
pub struct WarnChannel {
    /// The way there.
    pub way: Way,
    /// Time for which it waits that somebody acknowledges a warning, from when the first channels were sent it; 0 for
    /// the first. It gets only warnings that nobody has acknowledged by then.
    pub after: Duration,
}

impl Default for WarnSettings {
    fn default() -> Self {
        Self { rules: None, channels: Vec::new(), every: Duration::from_secs(60), repeat: None, excursions: true }
    }
}

/// The thread that looks. When it is dropped, what stands and what nobody was told yet is written.
#[derive(Debug)]
pub(crate) struct Warnings(#[expect(dead_code, reason = "dropping it ends the thread")] Thread);

/// The part of the node that looks.
pub(crate) struct Warden {
    hub: Arc<Hub>,
    rules: Option<RulesFile>,
    watched: Vec<Watched>,
    excursions: Option<Excursions>,
    /// Channels, each with the time for which it waits for an acknowledgement.
    posts: Vec<(Post, Duration)>,
    /// Changes that no post has yet.
    changes: Vec<Change>,
    file: Option<File>,
    every: Duration,
    repeat: Option<Duration>,
    host: String,
    /// The address of the page.
    page: String,
    /// Whether anybody gets pictures rather than where they are drawn.
    takes_pictures: bool,
    is_unwritten: bool,
    /// Whether the log has what is wrong with the rules of the file.
    is_checked: bool,
}

/// A change that channels are sent.
struct Change {
    alert: Alert,
    /// Waits of the channels that get it.
    waits: (Bound<Duration>, Bound<Duration>),
}

impl Change {
    /// A change for the channels that wait so long at most.
    fn up_to(wait: Duration, alert: Alert) -> Self {
        Self { alert, waits: (Bound::Unbounded, Bound::Included(wait)) }
    }
}

impl Warnings {
    pub(crate) fn start(mut warden: Warden, watch: &Watch) -> Result<Self, StartError> {
        let every = warden.every;
        let thread = Thread::start(watch, "warnings", OnPanic::BeginAgain, move |stop| {
            let mut wait = every.min(FIRST_AFTER);
            while !stop.wait(wait) {
                warden.look();
                wait = every;
            }
            warden.write();
        });
        thread.map(Self).map_err(StartError::NoThread)
    }
}

impl Warden {
    /// One that has not looked yet, and goes on from what `data_dir` has. `page` is the node's own address.
    pub(crate) fn new(
        settings: &WarnSettings,
        hub: Arc<Hub>,
        data_dir: Option<&Path>,
        page: String,
        watch: &Watch,
    ) -> Result<Self, StartError> {
        let (file, kept) = data_dir.map(File::open).unzip();
        let Kept { standing, silences, mut waiting } = kept.unwrap_or_default();
        let WarnSettings { rules, channels, every, repeat, excursions } = settings.clone();
        let (ways, waits): (Vec<_>, Vec<_>) = channels.into_iter().map(|channel| (channel.way, channel.after)).unzip();
        let takes_pictures = ways.iter().any(Way::takes_pictures);
        let posts = alert::names(&ways).into_iter().zip(ways).zip(waits).map(|((name, way), wait)| {
            let waiting = waiting.remove(&name).unwrap_or_default();
            let post = Post::start(&name, way, waiting, every, watch).map_err(StartError::NoThread);
            post.map(|post| (post, wait))
        });
        silences.into_iter().for_each(|(rule, until)| hub.silence_until(rule, until));
        let acknowledged =
            |(rule, stood): (&String, &Stood)| Some((rule.clone(), (stood.since, stood.acknowledged.clone()?)));
        hub.restore_acknowledged(standing.iter().filter_map(acknowledged).collect());
        if let Some(directory) = data_dir {
            check_apart(rules.as_ref(), directory)?;
            hub.keep_rules(PageRules::open(directory));
        }
        rules.iter().for_each(|file| hub.tell_file_rules(file.rules().rules()));
        *hub.lookout() = Lookout::default();
        let mut warden = Self {
            rules,
            watched: Vec::new(),
            excursions: excursions.then(Excursions::default),
            posts: posts.collect::<Result<_, StartError>>()?,
            changes: Vec::new(),
            file,
            every,
            repeat,
            host: hub.info().host,
            hub,
            page,
            takes_pictures,
            is_unwritten: false,
            is_checked: false,
        };
        warden.watch(warden.hub.rules_in_force(), standing);
        warden.show(None, None);
        Ok(warden)
    }

    /// Limits the warden to fewer outlooks.
    #[cfg(test)]
    pub(crate) fn limited_to(self, n_running: usize, n_steps: usize) -> Self {
        *self.hub.lookout() = Lookout::new(lookout::Limits { n_running, n_steps });
        self
    }

    /// Watches the rules that there are, each as it stood. Warnings of rules that are gone are over.
    fn watch(&mut self, rules: Vec<Rule>, mut stood: BTreeMap<String, Stood>) {
        let watched = |rule: Rule| {
            let stood = stood.remove(&rule.name);
            Watched::new(rule, stood.as_ref())
        };
        self.watched = rules.into_iter().map(watched).collect();
        let now = self.hub.now();
        let over = |gone: Stood| Some(Change::up_to(Escalation::reached(gone.escalation), gone.told?.over(now)));
        self.changes.extend(stood.into_values().filter_map(over));
        self.hub.lookout().want(self.watched.iter().map(|watched| &watched.rule));
    }

    /// Looks once, and tells.
    pub(crate) fn look(&mut self) {
        let problem = self.read_rules();
        // People read these times.
        let now = self.hub.now().floor_to(Duration::from_secs(1));
        let silences = self.hub.silences(now);
        let (mut standing, mut n_pictures) = (Vec::new(), 0);
        self.ask(now);
        let acknowledged = self.hub.acknowledged();
        for watched in &mut self.watched {
            watched.explain(&self.hub, now);
            let is_quiet = self.hub.is_quiet(&watched.rule.quiet, now);
            // Whoever was notified before quiet hours began would take a warning that is missing for one that is over.
            let is_silent = silences.contains_key(&watched.rule.name) || (is_quiet && !watched.was_sent());
            let stands = watched.standing(is_silent, now, &self.host, &self.page);
            let is_pressing = !is_quiet && watched.acknowledged_in(&acknowledged).is_none();
            let change = watched.change(stands.as_ref(), self.repeat.filter(|_| is_pressing), now);
            let waits = self.posts.iter().map(|(_, wait)| *wait);
            let escalated =
                stands.as_ref().filter(|_| is_pressing).and_then(|alert| watched.escalate(alert, waits, now));
            for mut change in change.into_iter().chain(escalated) {
                if self.takes_pictures && change.alert.stands && n_pictures < N_PICTURES_MAX {
                    change.alert.png = png(&self.hub, &watched.rule, change.alert.probability);
                    n_pictures += 1;
                }
                self.changes.push(change);
            }
            standing.extend(stands.map(|alert| Change::up_to(watched.reached(), alert)));
        }
        if let Some(excursions) = &mut self.excursions {
            excursions.look(&self.hub, now);
        }
        let changes = std::mem::take(&mut self.changes);
        for Change { alert, .. } in &changes {
            tracing::info!(rule = alert.rule, stands = alert.stands, escalated = alert.escalated, "{}", alert.summary);
        }
        for (post, wait) in &self.posts {
            post.put(&of_wait(&changes, *wait), &of_wait(&standing, *wait));
        }
        self.show(Some(now), problem);
        self.write();
    }

    /// Asks how probable each rule is. Those that were asked longest ago come first, so that all have their turn, and
    /// of these, those that ask the same outlook one after the other.
    fn ask(&mut self, now: Timestamp) {
        let mut watched: Vec<&mut Watched> = self.watched.iter_mut().collect();
        watched.sort_by_cached_key(|watched| (watched.asked(), watched.key()));
        let mut drawn = Drawn::default();
        for watched in watched {
            // Locked for one rule at a time, so that whoever asks the same question waits for no more than that.
            watched.ask(&self.hub, &mut self.hub.lookout(), &mut drawn, now);
        }
        self.hub.lookout().end_look();
    }

    /// Takes over the rules that have changed, and says what is wrong with their file.
    fn read_rules(&mut self) -> Option<String> {
        let refreshed = self.rules.as_mut().map_or(Ok(false), RulesFile::refresh);
        if let (Ok(true), Some(file)) = (&refreshed, &self.rules) {
            self.hub.tell_file_rules(file.rules().rules());
            self.is_checked = false;
        }
        if !std::mem::replace(&mut self.is_checked, true) {
            self.log_refused();
        }
        let rules = self.hub.rules_in_force();
        if self.watched.iter().map(|watched| &watched.rule).ne(&rules) {
            let stood = self.stood();
            self.watch(rules, stood);
        }
        refreshed.err().map(|error| text::with_causes(&error))
    }

    /// Logs the rules of the file that have no answer as they are written.
    fn log_refused(&self) {
        for rule in self.rules.iter().flat_map(|file| file.rules().rules()) {
            if let Err(error) = self.hub.check_rule(rule) {
                tracing::warn!(rule = rule.name, %error, "a rule has no answer as it is written");
            }
        }
    }

    fn stood(&self) -> BTreeMap<String, Stood> {
        let (watched, acknowledged) = (self.watched.iter(), self.hub.acknowledged());
        watched.filter_map(|watched| Some((watched.rule.name.clone(), watched.stood(&acknowledged)?))).collect()
    }

    /// Shows on the board what was seen.
    fn show(&self, at: Option<Timestamp>, problem: Option<String>) {
        let now = self.hub.now();
        let silences = self.hub.silences(now);
        let rule = |watched: &Watched| {
            let silence = silences.get(&watched.rule.name).copied();
            watched.show(self.hub.silent_until(silence, &watched.rule.quiet, now), now)
        };
        let (excursions, n_too_young) = self.excursions.as_ref().map(Excursions::found).unwrap_or_default();
        self.hub.tell_warnings(api::Warnings {
            at,
            every_seconds: self.every.as_secs_f64(),
            rules: self.watched.iter().map(rule).collect(),
            problem,
            excursions,
            n_too_young,
            ways: self.posts.iter().map(|(post, _)| way(post)).collect(),
        });
    }

    /// Writes what outlives a restart, if anything has changed.
    fn write(&mut self) {
        let kept = Kept {
            standing: self.stood(),
            silences: self.hub.silences(self.hub.now()),
            waiting: self.posts.iter().map(|(post, _)| (post.status().name, post.waiting())).collect(),
        };
        let Some(file) = &mut self.file else { return };
        let written = file.write(kept);
        if let Err(error) = &written
            && !self.is_unwritten
        {
            tracing::warn!(%error, "which warnings stand cannot be written");
        }
        self.is_unwritten = written.is_err();
    }
}

/// A file that the page's rules are written to is no file that somebody else writes.
fn check_apart(rules: Option<&RulesFile>, directory: &Path) -> Result<(), StartError> {
    let Some(path) = rules.map(RulesFile::path) else { return Ok(()) };
    let place = |path: &Path| path.canonicalize().ok();
    let real = place(path);
    if real.is_some() && real == place(&PageRules::place(directory)) {
        return Err(StartError::RulesOfPage { path: path.to_owned() });
    }
    Ok(())
}

/// Returns the alerts for a channel that waits so long for an acknowledgement.
fn of_wait(changes: &[Change], wait: Duration) -> Vec<Alert> {
    changes.iter().filter(|change| change.waits.contains(&wait)).map(|change| change.alert.clone()).collect()
}

fn passage(chance: Chance, step: Duration) -> api::Passage {
    let seconds = |lead: Option<usize>| lead.map(|lead| times(step, lead as u64).as_secs_f64());
    let [p10_seconds, p50_seconds, p90_seconds] = chance.leads.map(seconds);
    api::Passage { p10_seconds, p50_seconds, p90_seconds }
}

fn way(post: &Post) -> api::WarningWay {
    let alert::Status { name, n_told, n_waiting, n_given_up, problem } = post.status();
    api::WarningWay { name, n_told, n_waiting, n_given_up, problem }
}

/// Draws the series of a rule. A warning without a picture is better than none.
fn png(hub: &Hub, rule: &Rule, told: f64) -> Option<Arc<[u8]>> {
    let Rule { when: statement, within, lasting, .. } = rule.clone();
    let drawn = hub.picture(&Asked { statement, within, lasting, seasons: api::Seasons::Learned }, Some(told));
    Some(drawn.ok()?.encode(Kind::Png).ok()?.into())
}
