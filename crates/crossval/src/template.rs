//! Template of the possible test cases (RPS section 5.4), as TOML: `docs/formats/crossval.md`.

use std::collections::BTreeSet;

use predict::{Family, SpecError};
use serde::Deserialize;

use crate::lengths::Lengths;

/// Text beyond this is no template.
const TEXT_BYTES_MAX: usize = 1 << 20;
const N_MODELS_MAX: usize = 256;
const N_TRANSFORMATIONS_MAX: usize = 64;
const LEAD_MAX: usize = 10_000;
/// A fit or a test of so many samples takes 8 MB.
const LENGTH_MAX: usize = 1_000_000;
/// A worker keeps every error of a case, to find the medians: 16 MB of them.
const N_ERRORS_MAX: usize = 2_000_000;
const AGGREGATE_MAX: usize = 100_000;
const DIFFERENCE_MAX: usize = 8;

/// A checked template.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    text: String,
    models: Vec<Family>,
    models_per_window: usize,
    fit: Lengths,
    test: Lengths,
    leads: Vec<usize>,
    transformations: Vec<Transformation>,
}

/// The transformation of a window's samples before anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transformation {
    /// Means of so many neighbouring samples take their place; 1 leaves them.
    pub aggregate: usize,
    /// So many times each sample is replaced by its difference from the one before.
    pub n_differences: usize,
}

/// The reason why a text is no template.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// No file of a person is that long.
    #[error("the template has {n_bytes} bytes; at most {TEXT_BYTES_MAX} are read")]
    TooLong {
        /// The number of bytes in the text.
        n_bytes: usize,
    },
    /// Not TOML, or not with these keys.
    #[error("cannot read the template")]
    Toml(#[from] toml::de::Error),
    /// A model text that is none.
    #[error("`{text}` among the models")]
    Model {
        /// The model as the template has it.
        text: String,
        /// The error in the model.
        source: SpecError,
    },
    /// Ranges of orders that hold nothing but 0.
    #[error("`{text}` among the models stands for no model: every combination of its orders is 0")]
    NoMember {
        /// The model as the template has it.
        text: String,
    },
    /// A list with nothing in it, with too much, or with something twice.
    #[error("`{key}` lists {n} things; it must list from 1 to {n_max}")]
    ListLength {
        /// The list.
        key: &'static str,
        /// Things in it.
        n: usize,
        /// Things that may be in it.
        n_max: usize,
    },
    /// A thing that is in a list twice.
    #[error("`{key}` lists {given} twice; what is listed twice would be drawn twice as often")]
    Twice {
        /// The list.
        key: &'static str,
        /// The thing.
        given: String,
    },
    /// A number outside of what is allowed.
    #[error("`{key}` is {given}; it must lie within {min}..{max}")]
    OutOfRange {
        /// The key of the number.
        key: &'static str,
        /// The number, or the range.
        given: String,
        /// The least that is taken.
        min: usize,
        /// The most that is taken.
        max: usize,
    },
    /// No test window would have a sample for the longest lead.
    #[error(
        "`test` begins at {test} samples, in which no forecast of lead {lead} comes due; it must begin at {lead} or more"
    )]
    TestTooShort {
        /// The shortest test.
        test: usize,
        /// The longest lead.
        lead: usize,
    },
    /// More errors to a case than are kept.
    #[error(
        "{n_leads} leads over up to {test} samples give more than the {N_ERRORS_MAX} errors kept per case; list fewer leads, or test on less"
    )]
    TooManyErrors {
        /// Leads listed.
        n_leads: usize,
        /// The longest test.
        test: usize,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    models: Vec<String>,
    models_per_window: Option<usize>,
    fit: Lengths,
    test: Lengths,
    leads: Leads,
    #[serde(default)]
    transformation: TransformationLists,
}

/// `"1..30"`, `5`, or a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`leads` must be a number, a range such as \"1..30\", or a list such as [1, 5, 30]")]
enum Leads {
    List(Vec<usize>),
    Range(Lengths),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TransformationLists {
    aggregate: Vec<usize>,
    difference: Vec<usize>,
}

impl Default for TransformationLists {
    fn default() -> Self {
        Self { aggregate: vec![1], difference: vec![0] }
    }
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// See [`TemplateError`]: every number and every model text is checked here, so that nothing is left to fail in the
    /// middle of a campaign.
    pub fn read(text: &str) -> Result<Self, TemplateError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(TemplateError::TooLong { n_bytes: text.len() });
        }
        let file: File = toml::from_str(text)?;
        check_list("models", &file.models, N_MODELS_MAX)?;
        let models = file.models.iter().map(|text| family(text)).collect::<Result<Vec<_>, _>>()?;
        // Compared as they are understood: without regard to spaces.
        check_distinct("models", &models)?;
        let models_per_window = file.models_per_window.unwrap_or(models.len());
        check_range("models_per_window", models_per_window, 1, models.len())?;
        check_lengths("fit", file.fit)?;
        check_lengths("test", file.test)?;
        let leads = leads(&file.leads)?;
        let (n_leads, longest) = (leads.len(), leads[leads.len() - 1]);
        if file.test.low() < longest {
            return Err(TemplateError::TestTooShort { test: file.test.low(), lead: longest });
        }
        if n_leads.saturating_mul(file.test.high()) > N_ERRORS_MAX {
            return Err(TemplateError::TooManyErrors { n_leads, test: file.test.high() });
        }
        let transformations = file.transformation.combined()?;
        Ok(Self {
            text: text.to_owned(),
            models,
            models_per_window,
            fit: file.fit,
            test: file.test,
            leads,
            transformations,
        })
    }

    /// Returns the text as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The models, each a text in which numbers may be ranges, in the order of the template.
    #[must_use]
    pub fn models(&self) -> &[Family] {
        &self.models
    }

    /// Returns the number of models that are evaluated on each window.
    #[must_use]
    pub fn models_per_window(&self) -> usize {
        self.models_per_window
    }

    /// Returns the possible numbers of samples to which a model is fitted.
    #[must_use]
    pub fn fit(&self) -> Lengths {
        self.fit
    }

    /// Returns the possible numbers of samples after those, on which a model is tested.
    #[must_use]
    pub fn test(&self) -> Lengths {
        self.test
    }

    /// Steps ahead, rising.
    #[must_use]
    pub fn leads(&self) -> &[usize] {
        &self.leads
    }

    /// Returns the possible transformations of the samples, one of which is drawn for each window.
    #[must_use]
    pub fn transformations(&self) -> &[Transformation] {
        &self.transformations
    }
}

impl TransformationLists {
    fn combined(&self) -> Result<Vec<Transformation>, TemplateError> {
        check_list("aggregate", &self.aggregate, N_TRANSFORMATIONS_MAX)?;
        check_list("difference", &self.difference, N_TRANSFORMATIONS_MAX)?;
        self.aggregate.iter().try_for_each(|factor| check_range("aggregate", *factor, 1, AGGREGATE_MAX))?;
        self.difference.iter().try_for_each(|times| check_range("difference", *times, 0, DIFFERENCE_MAX))?;
        let with = |aggregate: usize| {
            self.difference.iter().map(move |n_differences| Transformation { aggregate, n_differences: *n_differences })
        };
        Ok(self.aggregate.iter().flat_map(|aggregate| with(*aggregate)).collect())
    }
}

fn family(text: &str) -> Result<Family, TemplateError> {
    let refused = |source| TemplateError::Model { text: text.to_owned(), source };
    let family: Family = text.parse().map_err(refused)?;
    // Each number has a range of its own, so that what holds at both ends of all holds between them.
    family.member(0).map_err(refused)?;
    let last = family.member(family.n_members() - 1).map_err(refused)?;
    last.map(|_| family).ok_or_else(|| TemplateError::NoMember { text: text.to_owned() })
}

fn leads(given: &Leads) -> Result<Vec<usize>, TemplateError> {
    let leads = match given {
        Leads::List(list) => list.clone(),
        Leads::Range(range) => {
            check_range("leads", range.high(), 1, LEAD_MAX)?;
            (range.low()..=range.high()).collect()
        }
    };
    check_list("leads", &leads, LEAD_MAX)?;
    leads.iter().try_for_each(|lead| check_range("leads", *lead, 1, LEAD_MAX))?;
    let rising: BTreeSet<usize> = leads.into_iter().collect();
    Ok(rising.into_iter().collect())
}

fn check_list<T: PartialEq + ToString>(key: &'static str, list: &[T], n_max: usize) -> Result<(), TemplateError> {
    if !(1..=n_max).contains(&list.len()) {
        return Err(TemplateError::ListLength { key, n: list.len(), n_max });
    }
    check_distinct(key, list)
}

fn check_distinct<T: PartialEq + ToString>(key: &'static str, list: &[T]) -> Result<(), TemplateError> {
    let twice = list.iter().enumerate().find(|(idx, thing)| list[..*idx].contains(thing));
    twice.map_or(Ok(()), |(_, thing)| Err(TemplateError::Twice { key, given: thing.to_string() }))
}

fn check_lengths(key: &'static str, lengths: Lengths) -> Result<(), TemplateError> {
    let is_inside = lengths.low() >= 1 && lengths.high() <= LENGTH_MAX;
    let refused = || TemplateError::OutOfRange { key, given: lengths.to_string(), min: 1, max: LENGTH_MAX };
    is_inside.then_some(()).ok_or_else(refused)
}

fn check_range(key: &'static str, given: usize, min: usize, max: usize) -> Result<(), TemplateError> {
    let refused = || TemplateError::OutOfRange { key, given: given.to_string(), min, max };
    (min..=max).contains(&given).then_some(()).ok_or_else(refused)
}
