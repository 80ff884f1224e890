//! Rules for warnings: which there are, how the page makes them, and what one would have done.

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Answer of `GET /api/v1/rules`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Rules {
    /// Those that are in force, or will be at the next look: the file's first.
    pub rules: Vec<Rule>,
    /// Those of the page as the text of a file of rules; empty if there are none.
    pub toml: String,
    /// Whether those of the page outlive a restart, which takes a data folder.
    pub is_kept: bool,
}

/// When somebody wants to be warned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Rule {
    /// What the warning is called.
    pub name: String,
    /// The statement that is not to come true.
    pub when: String,
    /// How far ahead to look, such as `30m`.
    pub within: String,
    /// For how long it has to last.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
    /// The probability from which on the warning stands.
    pub raise: f64,
    /// The probability below which it is taken back.
    pub clear: f64,
    /// Where it is from.
    pub from: RuleOrigin,
}

/// Where a rule is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOrigin {
    /// The file that the node was started with.
    File,
    /// This interface.
    Page,
}

/// Body of `PUT /api/v1/rules/{name}`: a rule without its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// The statement that is not to come true, such as `memory.available < 500MB`.
    pub when: String,
    /// How far ahead to look, such as `30min`.
    pub within: String,
    /// For how long it has to last; one value is enough if it is left out.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
    /// The probability from which on the warning stands, in (0, 1]; 0.8 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<f64>,
    /// The probability below which it is taken back, at most `raise`; 0.5 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear: Option<f64>,
}

/// Body of `POST /api/v1/rules/try`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleTrial {
    /// What is tried; no rule needs to be like it.
    pub rule: RuleText,
    /// Over how much of the past, up to now; `7d` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<String>,
    /// `false` to see no season, neither days and weeks nor others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<bool>,
}

/// Answer of `POST /api/v1/rules/try`: what became of a rule's warnings, each decided by what was known then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct TriedRule {
    /// Over how much of the past: less than was asked for where less is known.
    pub past_seconds: f64,
    /// Warnings whose time is over.
    pub n_warned: usize,
    /// Those after which it came within the time.
    pub n_right: usize,
    /// Those that came too late: it was there already, or had been within that time.
    pub n_late: usize,
    /// How often it came, after having been away for as long as the rule looks ahead.
    pub n_events: usize,
    /// How often it came while a warning stood.
    pub n_foreseen: usize,
    /// From the warning until it came, or as long as the rule looks ahead where that is less; `null` where none was foreseen.
    pub ahead_median_seconds: Option<f64>,
}
