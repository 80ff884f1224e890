//! A template, traces and a seed: from them follows every case, by its number.

use std::collections::BTreeSet;
use std::sync::Arc;

use predict::{Family, Spec};
use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};
use crate::peer::{Contender, Peer};
use crate::template::{Template, TemplateError, Transformation};
use crate::trace::{Trace, TraceError};
use crate::window::Window;

const N_TRACES_MAX: usize = 10_000;
const N_PEERS_MAX: usize = 64;
/// A name stands in every row of the results.
const N_BYTES_PEER_MAX: usize = 200;

/// A draw of a model is repeated where the numbers make none, as those of ARMA(0,0). The template is known to stand for
/// some model.
const N_DRAWS_MAX: usize = 200;

/// The first bytes of [`Campaign::to_bytes`].
const MAGIC: &[u8] = b"foretop-campaign-1\n";

/// Everything that the results of a case depend on.
///
/// Cases come in blocks: a window is drawn, and [`Template::models_per_window`] of the models are evaluated on it, one
/// case each. Models are thus compared on the same samples, and which samples these are depends on no model.
#[derive(Clone, Debug)]
pub struct Campaign {
    template: Template,
    traces: Vec<Trace>,
    seed: u64,
    peers: Vec<Arc<dyn Peer>>,
    /// Traces that windows can be drawn from, and the transformations that leave them long enough.
    places: Vec<(usize, Vec<Transformation>)>,
    left_out: Vec<LeftOut>,
}

/// A test case: a model and a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The number of the case, from 0.
    pub number: u64,
    /// The window in which the model is fitted and tested.
    pub window: Window,
    /// The index of the model's family in the campaign.
    pub family_idx: usize,
    /// The model, with its numbers drawn, or a peer.
    pub model: Contender,
}

/// A trace that no window fits into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The trace.
    pub name: String,
    /// Its samples.
    pub n_samples: usize,
    /// Samples that the shortest window takes.
    pub need: usize,
}

/// The reason why there is no campaign.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// Nothing to draw from, or too much.
    #[error("{n} traces are given; there must be from 1 to {N_TRACES_MAX}")]
    TraceCount {
        /// Traces given.
        n: usize,
    },
    /// Two traces that results could not tell apart.
    #[error("two traces are called `{name}`; rename one")]
    SameName {
        /// The name of both.
        name: String,
    },
    /// No window fits into any trace.
    #[error(
        "the shortest case takes {need} samples, and the longest trace, `{name}`, has {n_samples}; shorten `fit` and `test`"
    )]
    NoRoom {
        /// Samples that the shortest window takes.
        need: usize,
        /// The longest trace.
        name: String,
        /// Its samples.
        n_samples: usize,
    },
    /// Too many peers.
    #[error("{n} peers are given; there may be up to {N_PEERS_MAX}")]
    PeerCount {
        /// Peers given.
        n: usize,
    },
    /// A name that says nothing, or too much, or that is another one's.
    #[error(
        "a peer is called `{name}`; its name must have from 1 to {N_BYTES_PEER_MAX} bytes, and must not be another peer's or model's"
    )]
    PeerName {
        /// The name, as given.
        name: String,
    },
    /// Bytes that [`Campaign::to_bytes`] did not write.
    #[error("these {n_bytes} bytes are not a campaign")]
    NotACampaign {
        /// Their number.
        n_bytes: usize,
        /// The error of the decoder, unless the beginning of the bytes is wrong already.
        source: Option<postcard::Error>,
    },
    /// An invalid template, in bytes that were changed on their way.
    #[error("the campaign's template")]
    Template(#[from] TemplateError),
    /// An invalid trace, in bytes that were changed on their way.
    #[error("the campaign's traces")]
    Trace(#[from] TraceError),
}

#[derive(Deserialize, Serialize)]
struct Encoded {
    template: String,
    traces: Vec<(String, Vec<f64>)>,
    seed: u64,
}

impl Campaign {
    /// Traces that are shorter than the shortest case are left out; see [`Campaign::left_out`].
    ///
    /// # Errors
    /// [`CampaignError`] when no trace is left, or when two have one name.
    pub fn new(template: Template, mut traces: Vec<Trace>, seed: u64) -> Result<Self, CampaignError> {
        if !(1..=N_TRACES_MAX).contains(&traces.len()) {
            return Err(CampaignError::TraceCount { n: traces.len() });
        }
        // Files come in whatever order a folder has.
        traces.sort_by(|a, b| a.name().cmp(b.name()));
        if let Some(pair) = traces.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
            return Err(CampaignError::SameName { name: pair[0].name().to_owned() });
        }
        let (mut places, mut left_out) = (Vec::new(), Vec::new());
        for (trace_idx, trace) in traces.iter().enumerate() {
            let n_samples = trace.samples().len();
            let possible = template.transformations().iter().filter(|how| shortest(&template, **how) <= n_samples);
            let possible: Vec<Transformation> = possible.copied().collect();
            if possible.is_empty() {
                left_out.push(LeftOut { name: trace.name().to_owned(), n_samples, need: shortest_of_all(&template) });
            } else {
                places.push((trace_idx, possible));
            }
        }
        if places.is_empty() {
            let longest = traces.iter().max_by_key(|trace| trace.samples().len()).expect("there is a trace");
            let (name, n_samples) = (longest.name().to_owned(), longest.samples().len());
            return Err(CampaignError::NoRoom { need: shortest_of_all(&template), name, n_samples });
        }
        Ok(Self { template, traces, seed, peers: Vec::new(), places, left_out })
    }

    /// The same with peers, each of which is judged on every window after the models.
    ///
    /// # Errors
    /// [`CampaignError`] for names that results could not tell apart.
    pub fn with_peers(mut self, peers: Vec<Arc<dyn Peer>>) -> Result<Self, CampaignError> {
        if peers.len() > N_PEERS_MAX {
            return Err(CampaignError::PeerCount { n: peers.len() });
        }
        self.peers.clear();
        let mut known: BTreeSet<String> = self.families().into_iter().collect();
        for peer in &peers {
            let name = peer.name();
            if !(1..=N_BYTES_PEER_MAX).contains(&name.len()) || !known.insert(name.to_owned()) {
                return Err(CampaignError::PeerName { name: name.to_owned() });
            }
        }
        self.peers = peers;
        Ok(self)
    }

    /// Forecasters of other libraries.
    #[must_use]
    pub fn peers(&self) -> &[Arc<dyn Peer>] {
        &self.peers
    }

    /// The models of the template as it has them, and then the names of the peers.
    #[must_use]
    pub fn families(&self) -> Vec<String> {
        let models = self.template.models().iter().map(ToString::to_string);
        models.chain(self.peers.iter().map(|peer| peer.name().to_owned())).collect()
    }

    /// Cases on each window.
    #[must_use]
    pub fn n_slots(&self) -> usize {
        self.template.models_per_window() + self.peers.len()
    }

    /// Returns the template, which defines the possible cases.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// All traces, by name, those that are left out included.
    #[must_use]
    pub fn traces(&self) -> &[Trace] {
        &self.traces
    }

    /// Returns the seed of the random numbers.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Traces that are too short for any case.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The window that case `number` is on, and the place among the window's cases that it has.
    #[must_use]
    pub fn window_of(&self, number: u64) -> (u64, usize) {
        let n_slots = self.n_slots() as u64;
        (number / n_slots, (number % n_slots) as usize)
    }

    /// Case `number`.
    #[must_use]
    pub fn case(&self, number: u64) -> Case {
        let (window_number, slot) = self.window_of(number);
        self.cases_of(&self.window(window_number)).swap_remove(slot)
    }

    /// Window `number`. Each usable trace is as likely as any other, and so is each transformation that leaves the
    /// trace long enough, each length of the fit that leaves room for a test, each length of the test that fits in, and
    /// each place.
    #[must_use]
    pub fn window(&self, number: u64) -> Window {
        let mut draw = Draw::new(self.seed, Purpose::Window, number);
        let (trace_idx, possible) = &self.places[draw.below(self.places.len() as u64) as usize];
        let transformation = possible[draw.below(possible.len() as u64) as usize];
        let Transformation { aggregate, n_differences } = transformation;
        let n_samples = self.traces[*trace_idx].samples().len();
        let room = n_samples / aggregate - n_differences;
        let (fit, test) = (self.template.fit(), self.template.test());
        let n_fit = draw.within(fit.low(), fit.high().min(room - test.low()));
        let n_test = draw.within(test.low(), test.high().min(room - n_fit));
        let at_start = Window { number, trace_idx: *trace_idx, transformation, start: 0, n_fit, n_test };
        Window { start: draw.within(0, n_samples - at_start.n_raw()), ..at_start }
    }

    /// The cases on a window, in the order of their numbers.
    #[must_use]
    pub fn cases_of(&self, window: &Window) -> Vec<Case> {
        let families = self.template.models();
        let mut draw = Draw::new(self.seed, Purpose::Models, window.number);
        let chosen = draw.choice(self.template.models_per_window(), families.len()).into_iter();
        let model = |family_idx: usize| (family_idx, Contender::Model(member(&families[family_idx], &mut draw)));
        let peers = self.peers.iter().enumerate();
        let peers = peers.map(|(idx, peer)| (families.len() + idx, Contender::Peer(Arc::clone(peer))));
        let case = |(slot, (family_idx, model)): (usize, (usize, Contender))| Case {
            number: window.number * self.n_slots() as u64 + slot as u64,
            window: *window,
            family_idx,
            model,
        };
        chosen.map(model).chain(peers).enumerate().map(case).collect()
    }

    /// All of it but its peers, for a worker elsewhere.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let traces = self.traces.iter().map(|trace| (trace.name().to_owned(), trace.samples().to_vec())).collect();
        let encoded = Encoded { template: self.template.text().to_owned(), traces, seed: self.seed };
        postcard::to_extend(&encoded, MAGIC.to_vec()).expect("a campaign has nothing that cannot be written")
    }

    /// The campaign that was written by [`Campaign::to_bytes`].
    ///
    /// # Errors
    /// [`CampaignError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CampaignError> {
        let not_one = |source| CampaignError::NotACampaign { n_bytes: bytes.len(), source };
        let body = bytes.strip_prefix(MAGIC).ok_or_else(|| not_one(None))?;
        let Encoded { template, traces, seed } = postcard::from_bytes(body).map_err(|error| not_one(Some(error)))?;
        let traces = traces.into_iter().map(|(name, samples)| Trace::new(name, samples)).collect::<Result<_, _>>()?;
        Self::new(Template::read(&template)?, traces, seed)
    }
}

/// Samples of a trace that the shortest window takes.
fn shortest(template: &Template, Transformation { aggregate, n_differences }: Transformation) -> usize {
    (template.fit().low() + template.test().low() + n_differences) * aggregate
}

fn shortest_of_all(template: &Template) -> usize {
    let needs = template.transformations().iter().map(|how| shortest(template, *how));
    needs.min().expect("a template has a transformation")
}

fn member(family: &Family, draw: &mut Draw) -> Spec {
    let drawn = (0..N_DRAWS_MAX).find_map(|_| family.member(draw.below(family.n_members())).ok().flatten());
    let last = || family.member(family.n_members() - 1).ok().flatten();
    drawn.or_else(last).expect("a template's models stand for some model")
}
