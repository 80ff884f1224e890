//! Rules for warnings: which there are, how the page makes them, and what one would have done.

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Answer of `GET /api/v1/rules`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Rules {
    /// Rules that are in force, or will be at the next look: the file's first.
    pub rules: Vec<Rule>,
    /// Rules of the page as the text of a file of rules; empty if there are none.
    pub toml: String,
    /// Whether the rules of the page outlive a restart, which takes a data folder.
    pub is_kept: bool,
}

/// A rule for warnings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Rule {
    /// Name of the warning.
    pub name: String,
    /// The statement that is not to come true.
    pub when: String,
    /// Time to look ahead, such as `30m`.
    pub within: String,
    /// Time for which the statement has to hold.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
    /// The probability from which on the warning stands.
    pub raise: f64,
    /// The probability below which it is taken back.
    pub clear: f64,
    /// Hours of the week in which nobody is notified, such as `Mon-Fri 22:00-06:00`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quiet: Vec<String>,
    /// Origin of the rule.
    pub from: RuleOrigin,
}

/// Origin of a rule.
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
    /// Time to look ahead, such as `30min`.
    pub within: String,
    /// Time for which the statement has to hold; one value is enough if it is left out.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
    /// The probability from which on the warning stands, in (0, 1]; 0.8 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<f64>,
    /// The probability below which it is taken back, at most `raise`; 0.5 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear: Option<f64>,
    /// Hours of the week in which nobody is notified, such as `Mon-Fri 22:00-06:00` or `Sat Sun`, in the node's time
    /// zone; none by default. A trial ignores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quiet: Vec<String>,
}

/// Body of `POST /api/v1/rules/try`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleTrial {
    /// The rule to try; no rule of the node needs to be like it.
    pub rule: RuleText,
    /// Length of the past to try the rule on, up to now; `7d` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<String>,
    /// `false` to see no season, neither days and weeks nor others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<bool>,
}

/// Answer of `POST /api/v1/rules/try`: outcomes of a rule's warnings, each decided by what was known then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct TriedRule {
    /// Length of the past that was tried: less than was asked for if less is known.
    pub past_seconds: f64,
    /// Warnings whose time is over.
    pub n_warned: usize,
    /// Warnings after which the event came within the time.
    pub n_right: usize,
    /// Warnings that came too late: the event was there already, or had been within that time.
    pub n_late: usize,
    /// Number of events: times that the statement came true after having been false for as long as the rule looks
    /// ahead.
    pub n_events: usize,
    /// Number of events that came while a warning stood.
    pub n_foreseen: usize,
    /// Median time from the warning to the event, or as long as the rule looks ahead if that is less; `null` if none
    /// was foreseen.
    pub ahead_median_seconds: Option<f64>,
}
