//! Choice of series: a regular expression for the name, and conditions on labels.

use regex::Regex;

use super::{
    settings::ExporterSettingsError,
    text::{Label, unquote},
};

/// The chosen series of a page: every series that one of the patterns matches, or all if there is no pattern.
#[derive(Debug)]
pub(super) struct Choice {
    patterns: Vec<Pattern>,
}

/// The patterns that take a name, as bits. Not all have conditions on labels besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named(u64);

#[derive(Debug)]
struct Pattern {
    name: Regex,
    labels: Vec<Condition>,
}

#[derive(Debug)]
struct Condition {
    label: String,
    value: Value,
    is_wanted: bool,
}

#[derive(Debug)]
enum Value {
    Text(String),
    Like(Regex),
}

/// The greatest number of patterns: as many as there are bits in [`Named`].
pub(super) const N_PATTERNS_MAX: usize = 64;

impl Choice {
    pub(super) fn parse(patterns: &[String]) -> Result<Choice, ExporterSettingsError> {
        if patterns.len() > N_PATTERNS_MAX {
            return Err(ExporterSettingsError::TooManyPatterns { given: patterns.len(), max: N_PATTERNS_MAX });
        }
        let patterns = patterns.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>()?;
        Ok(Choice { patterns })
    }

    /// Returns the patterns that match the name of a series or of its family, if any does.
    pub(super) fn by_name(&self, name: &str, family: &str) -> Option<Named> {
        if self.patterns.is_empty() {
            return Some(Named(0));
        }
        let takes = |pattern: &Pattern| pattern.name.is_match(name) || family != name && pattern.name.is_match(family);
        let bits = self.patterns.iter().enumerate().map(|(idx, pattern)| u64::from(takes(pattern)) << idx);
        Some(Named(bits.sum())).filter(|&Named(bits)| bits != 0)
    }

    /// Whether the labels are as one of the patterns wants them that take the name.
    pub(super) fn takes(&self, Named(bits): Named, labels: &[Label<'_>]) -> bool {
        let wants = |(idx, pattern): (usize, &Pattern)| {
            bits >> idx & 1 == 1 && pattern.labels.iter().all(|condition| condition.holds(labels))
        };
        self.patterns.is_empty() || self.patterns.iter().enumerate().any(wants)
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, ExporterSettingsError> {
        let (name, labels) = split_conditions(text);
        let labels = match labels {
            Some(labels) => conditions(labels, text)?,
            None => Vec::new(),
        };
        Ok(Pattern { name: anchored(name, text)?, labels })
    }
}

impl Condition {
    /// A label that is not there counts as empty, as in Prometheus.
    fn holds(&self, labels: &[Label<'_>]) -> bool {
        let given = labels.iter().find(|(name, _)| *name == self.label).map_or("", |(_, value)| value);
        let is_so = match &self.value {
            Value::Text(text) => text == given,
            Value::Like(pattern) => pattern.is_match(given),
        };
        is_so == self.is_wanted
    }
}

/// The pattern of the name, and what stands in the braces behind it.
///
/// The braces of a regular expression, `a{2}` and `\p{L}`, have no `=` after their first word.
fn split_conditions(text: &str) -> (&str, Option<&str>) {
    let Some(inside) = text.trim_ascii_end().strip_suffix('}') else { return (text, None) };
    for (place, _) in inside.match_indices('{') {
        let after = inside[place + 1..].trim_ascii_start();
        let word = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        if word > 0 && after[word..].trim_ascii_start().starts_with(['=', '!']) {
            return (&inside[..place], Some(&inside[place + 1..]));
        }
    }
    (text, None)
}

fn conditions(mut rest: &str, pattern: &str) -> Result<Vec<Condition>, ExporterSettingsError> {
    let bad = || ExporterSettingsError::Conditions { pattern: pattern.to_owned() };
    let mut conditions = Vec::new();
    loop {
        rest = rest.trim_ascii();
        if rest.is_empty() {
            return Ok(conditions);
        }
        let (label, after) = rest.split_at(rest.find(['=', '!']).ok_or_else(bad)?);
        let operators = [("=~", true, true), ("!~", true, false), ("!=", false, false), ("=", false, true)];
        let (is_like, is_wanted, after) = operators
            .into_iter()
            .find_map(|(operator, is_like, is_wanted)| Some((is_like, is_wanted, after.strip_prefix(operator)?)))
            .ok_or_else(bad)?;
        let quoted = after.trim_ascii_start().strip_prefix('"').ok_or_else(bad)?;
        let (value, after) = unquote(quoted).map_err(|_| bad())?;
        let value = match is_like {
            true => Value::Like(anchored(&value, pattern)?),
            false => Value::Text(value.into_owned()),
        };
        conditions.push(Condition { label: label.trim_ascii().to_owned(), value, is_wanted });
        rest = after.trim_ascii_start();
        rest = match rest.strip_prefix(',') {
            None if !rest.is_empty() => return Err(bad()),
            after => after.unwrap_or(rest),
        };
    }
}

fn anchored(expression: &str, pattern: &str) -> Result<Regex, ExporterSettingsError> {
    // By itself first: `a)(b` would be made whole by the parentheses.
    let whole = Regex::new(expression).and_then(|_| Regex::new(&format!("^(?:{expression})$")));
    whole.map_err(|source| ExporterSettingsError::Pattern { pattern: pattern.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[track_caller]
    fn check(patterns: &[&str], name: &str, family: &str, labels: &[(&str, &str)], is_taken: bool) {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let choice = Choice::parse(&patterns).unwrap();
        let labels: Vec<_> = labels.iter().map(|&(name, value)| (name, Cow::Borrowed(value))).collect();
        let named = choice.by_name(name, family);
        assert_eq!(
            named.is_some_and(|named| choice.takes(named, &labels)),
            is_taken,
            "{patterns:?} on {name}{labels:?}"
        );
    }

    #[test]
    fn a_pattern_is_for_the_whole_name() {
        check(&["node_load1"], "node_load1", "node_load1", &[], true);
        check(&["node_load1"], "node_load15", "node_load15", &[], false);
        check(&["node_load1|DCGM_.*"], "DCGM_FI_DEV_GPU_UTIL", "", &[], true);
        check(&["a|b"], "ab", "ab", &[], false);
        check(&["a{2}"], "aa", "aa", &[], true);
        check(&[r"\p{L}{2}"], "aa", "aa", &[], true);
    }

    #[test]
    fn the_family_s_name_takes_all_its_series() {
        check(&["a"], "a_bucket", "a", &[], true);
        check(&["a_count"], "a_bucket", "a", &[], false);
    }

    #[test]
    fn no_pattern_takes_everything() {
        check(&[], "a", "a", &[("b", "c")], true);
    }

    #[test]
    fn labels_are_wanted_or_not() {
        let labels = [("cpu", "0"), ("mode", "idle")];
        check(&[r#"a.*{mode="idle"}"#], "ab", "ab", &labels, true);
        check(&[r#"a.*{mode="user"}"#], "ab", "ab", &labels, false);
        check(&[r#"a.*{ mode != "user", cpu=~"0|1", }"#], "ab", "ab", &labels, true);
        check(&[r#"a.*{mode!~"id.*"}"#], "ab", "ab", &labels, false);
        check(&[r#"a.*{mode=~"id"}"#], "ab", "ab", &labels, false);
        check(&[r#"a{other=""}"#], "a", "a", &labels, true);
        check(&[r#"a{mode="user"}"#, "a"], "a", "a", &labels, true);
        check(&[r#"a{mode="user"}"#, "b"], "a", "a", &labels, false);
    }

    #[track_caller]
    fn check_refused(pattern: &str, message: &str) {
        let error = Choice::parse(&[pattern.to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn a_bad_pattern_is_refused() {
        check_refused("a)(b", "cannot read the pattern `a)(b`");
        check_refused(r#"a{b=~"("}"#, r#"cannot read the pattern `a{b=~"("}`"#);
        for pattern in [r#"a{b="c}"#, r#"a{b=c}"#, r#"a{b!"c"}"#, r#"a{b="c"d="e"}"#] {
            check_refused(
                pattern,
                &format!(
                    "the labels of the pattern `{pattern}` cannot be read: needs conditions such as `name{{label=\"value\",other!~\"a.*\"}}`"
                ),
            );
        }
    }
}
