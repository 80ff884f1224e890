//! Identity of results: the same for all parts of a campaign, and written into every file.

use serde::{Deserialize, Serialize};

use crate::campaign::Campaign;

/// The format of result files; what a program of another format wrote is not read.
pub(crate) const FORMAT: &str = "foretop-crossval-2";

pub(crate) const FORMAT_KEY: &str = "foretop.format";
pub(crate) const VERSION_KEY: &str = "foretop.version";
pub(crate) const TEMPLATE_KEY: &str = "foretop.template";
pub(crate) const SEED_KEY: &str = "foretop.seed";
pub(crate) const TRACES_KEY: &str = "foretop.traces";
pub(crate) const PEERS_KEY: &str = "foretop.peers";

/// Everything that the results of a case depend on besides its number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The format of the files.
    pub format: String,
    /// The version of the program: another version may forecast otherwise.
    pub version: String,
    /// The template's text.
    pub template: String,
    /// The seed of the random numbers.
    pub seed: u64,
    /// All traces, by name.
    pub traces: Vec<TraceIdentity>,
    /// The names of the peers, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
}

/// A trace, by what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TraceIdentity {
    /// The name of the trace.
    pub name: String,
    /// The number of samples in the trace.
    pub n_samples: usize,
    /// See [`crate::Trace::digest`].
    pub sha256: String,
}

impl Identity {
    pub(crate) fn of(campaign: &Campaign) -> Self {
        let traces = campaign.traces().iter().map(|trace| TraceIdentity {
            name: trace.name().to_owned(),
            n_samples: trace.samples().len(),
            sha256: trace.digest().to_owned(),
        });
        Self {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            template: campaign.template().text().to_owned(),
            seed: campaign.seed(),
            traces: traces.collect(),
            peers: campaign.peers().iter().map(|peer| peer.name().to_owned()).collect(),
        }
    }

    pub(crate) fn metadata(&self) -> Vec<(&'static str, String)> {
        let traces = serde_json::to_string(&self.traces).expect("names and numbers can be written");
        let mut pairs = vec![
            (FORMAT_KEY, self.format.clone()),
            (VERSION_KEY, self.version.clone()),
            (TEMPLATE_KEY, self.template.clone()),
            (SEED_KEY, self.seed.to_string()),
            (TRACES_KEY, traces),
        ];
        if !self.peers.is_empty() {
            pairs.push((PEERS_KEY, serde_json::to_string(&self.peers).expect("names can be written")));
        }
        pairs
    }

    /// Reads the identity from `metadata`, by key; `None` if `metadata` lacks an entry or has it in another form.
    pub(crate) fn read<'m>(metadata: impl Fn(&str) -> Option<&'m str>) -> Option<Self> {
        Some(Self {
            format: metadata(FORMAT_KEY).filter(|format| *format == FORMAT)?.to_owned(),
            version: metadata(VERSION_KEY)?.to_owned(),
            template: metadata(TEMPLATE_KEY)?.to_owned(),
            seed: metadata(SEED_KEY)?.parse().ok()?,
            traces: serde_json::from_str(metadata(TRACES_KEY)?).ok()?,
            peers: metadata(PEERS_KEY).map_or(Some(Vec::new()), |peers| serde_json::from_str(peers).ok())?,
        })
    }

    /// Returns the first property that is not the same in `other`, in words.
    pub(crate) fn difference(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            (self.format != other.format, "format"),
            (self.version != other.version, "version of the program"),
            (self.template != other.template, "template"),
            (self.seed != other.seed, "seed"),
            (self.traces != other.traces, "traces"),
            (self.peers != other.peers, "peers"),
        ];
        differences.into_iter().find_map(|(differs, what)| differs.then_some(what))
    }
}
