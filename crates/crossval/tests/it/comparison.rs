//! Two campaigns are compared where they have cases in common.

use crossval::{Comparison, ComparisonError, Metric, Results, Trace};
use tempfile::TempDir;

use crate::drawing::trace;
use crate::report::results;

const TEMPLATE: &str = "models = [\"LAST\", \"AR(2)\"]\nfit = 60\ntest = 40\nleads = [1, 5]";

fn read(template: &str, traces: Vec<Trace>) -> Results {
    let folder = TempDir::new().unwrap();
    Results::read(&results(folder.path(), template, traces, 200), Metric::MeanSquared).unwrap()
}

#[test]
fn a_campaign_does_not_differ_from_itself() {
    let once = read(TEMPLATE, vec![trace("a", 2000)]);
    let again = read(TEMPLATE, vec![trace("a", 2000)]);
    let comparison = Comparison::new(&once, &again).unwrap();
    assert_eq!((comparison.n_common, comparison.n_identical, comparison.rows.len()), (200, 200, 4));
    let residuals: Vec<_> =
        comparison.residuals.iter().map(|row| (row.family.as_str(), row.first == row.second)).collect();
    assert_eq!(residuals, [("LAST", true), ("AR(2)", true)]);
    assert!(comparison.rows.iter().all(|row| row.ratio == 1.0 && row.p_value == 1.0 && row.n == 100));
}

#[test]
fn models_that_both_have_are_compared_at_leads_that_both_have() {
    let once = read(TEMPLATE, vec![trace("a", 2000)]);
    let other = read(&TEMPLATE.replace("LAST", "MEAN").replace("[1, 5]", "[2, 5]"), vec![trace("a", 2000)]);
    let comparison = Comparison::new(&once, &other).unwrap();
    let rows: Vec<_> = comparison.rows.iter().map(|row| (row.family.as_str(), row.lead)).collect();
    assert_eq!((comparison.n_common, rows), (100, vec![("AR(2)", 5)]));
}

#[test]
fn campaigns_on_other_samples_have_nothing_in_common() {
    let (once, other) = (read(TEMPLATE, vec![trace("a", 2000)]), read(TEMPLATE, vec![trace("b", 2000)]));
    assert_eq!(Comparison::new(&once, &other), Err(ComparisonError::NothingInCommon));
}
