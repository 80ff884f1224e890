//! Looks ahead again and again: whether rules come true, and whether signals leave their usual range. Tells whoever is to be told.

mod excursions;
mod kept;
mod lookout;
mod rules_file;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alert::{Alert, Post, Way};
use units::Timestamp;
use warn::{Alarm, Question, Rule};
use watch::{OnPanic, Thread, Watch};

use crate::api;
use crate::error::StartError;
use crate::hub::Hub;
use crate::schedule::times;
use excursions::Excursions;
use kept::{File, Kept, Stood};
use lookout::{Key, Lookout, Purpose, Running};
pub use rules_file::{RulesFile, RulesFileError};

/// Paths are drawn from this, so that the same samples have the same answer.
const SEED: u64 = 1;

/// At its start a node knows no series; a little later it knows all of them.
const FIRST_AFTER: Duration = Duration::from_secs(5);

/// For Alertmanager a warning that is not renewed for so many looks is over.
const LOOKS_KEPT: u32 = 5;

/// A series whose last known step is longer ago than this and three steps is said to be silent.
const SILENCE_MIN: Duration = Duration::from_secs(300);

/// Who is to be warned of what.
#[derive(Clone, Debug)]
pub struct WarnSettings {
    /// What somebody wants to be warned of.
    pub rules: Option<RulesFile>,
    /// Where warnings go.
    pub ways: Vec<Way>,
    /// Time between two looks.
    pub every: Duration,
    /// Whether signals that will leave their usual range are looked for.
    pub excursions: bool,
}

impl Default for WarnSettings {
    fn default() -> Self {
        Self { rules: None, ways: Vec::new(), every: Duration::from_secs(60), excursions: true }
    }
}

/// The thread that looks. When it is dropped, what stands and what nobody was told yet is written.
#[derive(Debug)]
pub(crate) struct Warnings(#[expect(dead_code, reason = "dropping it ends the thread")] Thread);

/// Whoever looks.
pub(crate) struct Warden {
    hub: Arc<Hub>,
    rules: Option<RulesFile>,
    watched: Vec<Watched>,
    /// Warnings of rules that are gone, of whose end nobody was told yet.
    gone: Vec<Alert>,
    lookout: Lookout,
    excursions: Option<Excursions>,
    posts: Vec<Post>,
    file: Option<File>,
    every: Duration,
    host: String,
    /// The address of the page.
    page: String,
    is_unwritten: bool,
}

/// A rule that is watched.
#[derive(Debug)]
struct Watched {
    rule: Rule,
    alarm: Alarm,
    since: Option<Timestamp>,
    /// Whether somebody was told that it stands.
    is_told: bool,
    said: Option<Said>,
    problem: Option<String>,
}

/// What was said of it last.
#[derive(Clone, Copy, Debug)]
struct Said {
    probability: f64,
    after: api::Passage,
    /// Where the last known step begins.
    origin: Timestamp,
    step: Duration,
    /// Where the next step begins: until it has ended there is nothing new to say.
    next: Timestamp,
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
        let keep = settings.every.saturating_mul(LOOKS_KEPT);
        let posts = settings.ways.iter().map(|way| {
            let waiting = waiting.remove(&way.name()).unwrap_or_default();
            Post::start(way.clone(), waiting, keep, watch).map_err(StartError::NoThread)
        });
        silences.into_iter().for_each(|(rule, until)| hub.silence_until(rule, until));
        let mut warden = Self {
            rules: settings.rules.clone(),
            watched: Vec::new(),
            gone: Vec::new(),
            lookout: Lookout::default(),
            excursions: settings.excursions.then(Excursions::default),
            posts: posts.collect::<Result<_, _>>()?,
            file,
            every: settings.every,
            host: hub.info().host,
            hub,
            page,
            is_unwritten: false,
        };
        warden.watch(&standing);
        Ok(warden)
    }

    /// Watches the rules that there are, each as it stood.
    fn watch(&mut self, stood: &BTreeMap<String, Stood>) {
        let rules = self.rules.iter().flat_map(|file| file.rules().rules());
        self.watched = rules.map(|rule| Watched::new(rule.clone(), stood.get(&rule.name))).collect();
    }

    /// Looks once, and tells.
    pub(crate) fn look(&mut self) {
        let now = self.hub.now();
        let problem = self.read_rules(now);
        let silences = self.hub.silences(now);
        let mut changes = std::mem::take(&mut self.gone);
        let mut standing = Vec::new();
        for watched in &mut self.watched {
            watched.ask(&self.hub, &mut self.lookout, now);
            let is_silent = silences.contains_key(&watched.rule.name);
            let told = |stands| watched.alert(stands, now, &self.host, &self.page);
            let stands = watched.alarm.stands();
            if stands && !is_silent {
                standing.push(told(true));
            }
            // Who was told that it stands is told of its end as well, whatever was silenced since.
            if stands != watched.is_told && !(stands && is_silent) {
                changes.push(told(stands));
                watched.is_told = stands;
            }
        }
        if let Some(excursions) = &mut self.excursions {
            excursions.look(&self.hub, &mut self.lookout, now);
        }
        let wanted: HashSet<_> = self.watched.iter().map(Watched::key).collect();
        self.lookout.keep(|key| key.purpose == Purpose::Excursion || wanted.contains(key));
        for change in &changes {
            tracing::info!(rule = change.rule, stands = change.stands, "{}", change.summary);
        }
        self.posts.iter().for_each(|post| post.put(&changes, &standing));
        let (excursions, n_too_young) = self.excursions.as_ref().map(Excursions::found).unwrap_or_default();
        self.hub.tell_warnings(api::Warnings {
            at: Some(now),
            every_seconds: self.every.as_secs_f64(),
            rules: self.watched.iter().map(|watched| watched.told(silences.get(&watched.rule.name).copied())).collect(),
            problem,
            excursions,
            n_too_young,
            ways: self.posts.iter().map(way).collect(),
        });
        self.write();
    }

    /// Reads the file of rules again. Warnings of rules that are gone are over.
    fn read_rules(&mut self, now: Timestamp) -> Option<String> {
        match self.rules.as_mut()?.refresh() {
            Err(error) => return Some(text::with_causes(&error)),
            Ok(false) => return None,
            Ok(true) => {}
        }
        let stood = self.stood();
        let before = std::mem::take(&mut self.watched);
        self.watch(&stood);
        let names: BTreeSet<&str> = self.watched.iter().map(|watched| &*watched.rule.name).collect();
        let gone = before.iter().filter(|one| one.is_told && !names.contains(&*one.rule.name));
        self.gone = gone.map(|one| one.alert(false, now, &self.host, &self.page)).collect();
        None
    }

    fn stood(&self) -> BTreeMap<String, Stood> {
        let stood = |one: &Watched| Some((one.rule.name.clone(), Stood { since: one.since?, is_told: one.is_told }));
        self.watched.iter().filter_map(stood).collect()
    }

    /// Writes what outlives a restart, if anything has changed.
    fn write(&mut self) {
        let kept = Kept {
            standing: self.stood(),
            silences: self.hub.silences(self.hub.now()),
            waiting: self.posts.iter().map(|post| (post.status().name, post.waiting())).collect(),
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

impl Watched {
    fn new(rule: Rule, stood: Option<&Stood>) -> Self {
        let alarm = Alarm::new(rule.raise, rule.clear);
        Self {
            alarm: if stood.is_some() { alarm.raised() } else { alarm },
            since: stood.map(|stood| stood.since),
            is_told: stood.is_some_and(|stood| stood.is_told),
            rule,
            said: None,
            problem: None,
        }
    }

    fn key(&self) -> Key {
        Key { id: self.rule.when.signal.as_str().into(), horizon: self.rule.within, purpose: Purpose::Rule }
    }

    /// Asks how probable it is, if there is anything new to say. A rule that cannot be asked stays as it was.
    fn ask(&mut self, hub: &Hub, lookout: &mut Lookout, now: Timestamp) {
        match lookout
            .look(hub, &self.key())
            .map_err(|error| error.to_string())
            .and_then(|running| self.said_by(running))
        {
            Err(problem) => self.problem = Some(problem),
            Ok(said) => {
                self.problem = None;
                let is_new = self.said.is_none_or(|before| before.next != said.next);
                self.said = Some(said);
                if is_new && let Some(raised) = self.alarm.hear(said.probability) {
                    self.since = raised.then_some(now);
                }
            }
        }
    }

    fn said_by(&self, running: &Running) -> Result<Said, String> {
        let Rule { when, within, lasting, .. } = &self.rule;
        if let Some(said) = self.said.filter(|said| said.next == running.next) {
            return Ok(said);
        }
        let question = Question::of(when, &running.unit, *within, *lasting, running.step);
        let question = question.map_err(|error| error.to_string())?;
        let chance = warn::chance(&running.outlook, &question, SEED);
        let chance = chance.ok_or_else(|| format!("`{}` is too young for a forecast", when.signal))?;
        let &Running { step, known: origin, next, .. } = running;
        Ok(Said { probability: chance.probability, after: passage(chance.leads, step), origin, step, next })
    }

    fn alert(&self, stands: bool, now: Timestamp, host: &str, page: &str) -> Alert {
        let rule = &self.rule;
        let probability = self.said.map_or(f64::NAN, |said| said.probability);
        let mut summary = self.said.map_or_else(|| rule.when.to_string(), |said| rule.says(said.probability));
        if let Some(said) = self.said
            && now.saturating_since(said.origin) > SILENCE_MIN + said.step.saturating_mul(3)
        {
            summary.push_str(&format!("; no sample since {}", said.origin + said.step));
        }
        Alert {
            rule: rule.name.clone(),
            host: host.to_owned(),
            series: rule.when.signal.clone(),
            summary,
            probability: if probability.is_nan() { 0.0 } else { probability },
            stands,
            since: self.since.unwrap_or(now),
            at: now,
            origin: self.said.map_or(now, |said| said.origin),
            url: page.to_owned(),
        }
    }

    fn told(&self, silent_until: Option<Timestamp>) -> api::Warning {
        let Rule { name, when, within, lasting, raise, clear } = &self.rule;
        api::Warning {
            name: name.clone(),
            id: when.signal.clone(),
            statement: when.to_string(),
            within_seconds: within.as_secs_f64(),
            for_seconds: lasting.map(|lasting| lasting.as_secs_f64()),
            raise: *raise,
            clear: *clear,
            probability: self.said.map(|said| said.probability),
            after: self.said.map(|said| said.after),
            origin: self.said.map(|said| said.origin),
            problem: self.problem.clone(),
            stands: self.alarm.stands(),
            since: self.since,
            silent_until,
        }
    }
}

fn passage(leads: [Option<usize>; 3], step: Duration) -> api::Passage {
    let seconds = |lead: Option<usize>| lead.map(|lead| times(step, lead as u64).as_secs_f64());
    let [p10_seconds, p50_seconds, p90_seconds] = leads.map(seconds);
    api::Passage { p10_seconds, p50_seconds, p90_seconds }
}

fn way(post: &Post) -> api::WarningWay {
    let alert::Status { name, n_told, n_waiting, n_given_up, problem } = post.status();
    api::WarningWay { name, n_told, n_waiting, n_given_up, problem }
}
