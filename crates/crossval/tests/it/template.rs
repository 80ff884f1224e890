//! Templates: what they say, and what is refused.

use crossval::{Lengths, Template};
use proptest::prelude::*;

const GOOD: &str = r#"
models = ["LAST", "AR(1..32)", "REFIT(ARMA(0..4, 0..4), every=100..500, window=600)"]
models_per_window = 2
fit = "300..600"
test = 400
leads = [5, 1, 30]

[transformation]
aggregate = [1, 5]
difference = [0, 1]
"#;

#[test]
fn a_template_says_what_there_may_be() {
    let template = Template::read(GOOD).unwrap();
    let models: Vec<String> = template.models().iter().map(ToString::to_string).collect();
    assert_eq!(models, ["LAST", "AR(1..32)", "REFIT(ARMA(0..4,0..4),every=100..500,window=600)"]);
    assert_eq!((template.models_per_window(), template.leads()), (2, &[1, 5, 30][..]));
    assert_eq!((template.fit(), template.test()), (Lengths::new(300, 600).unwrap(), Lengths::new(400, 400).unwrap()));
    let transformations: Vec<_> =
        template.transformations().iter().map(|how| (how.aggregate, how.n_differences)).collect();
    assert_eq!(transformations, [(1, 0), (1, 1), (5, 0), (5, 1)]);
}

#[test]
fn what_is_left_out_of_a_template_is_plain() {
    let template = Template::read("models = [\"LAST\", \"MEAN\"]\nfit = 10\ntest = 10\nleads = \"1..3\"").unwrap();
    assert_eq!((template.models_per_window(), template.leads()), (2, &[1, 2, 3][..]));
    assert_eq!(template.transformations().len(), 1);
}

/// The whole chain of reasons, with `line` in the place of the line of [`GOOD`] that has its key.
#[track_caller]
fn check_refused(line: &str, reason: &str) {
    let key = line.split('=').next().unwrap();
    let replaced = |given: &str| if given.starts_with(key) { line.to_owned() } else { given.to_owned() };
    let text: Vec<String> = GOOD.lines().map(replaced).collect();
    let mut error: &dyn std::error::Error = &Template::read(&text.join("\n")).unwrap_err();
    let mut chain = error.to_string();
    while let Some(source) = error.source() {
        chain = format!("{chain}: {source}");
        error = source;
    }
    assert!(chain.contains(reason), "{chain}");
}

#[test]
fn what_makes_no_case_is_refused_with_what_would() {
    check_refused("models = []", "`models` lists 0 things; it must list from 1 to 256");
    check_refused("models = [\"AR(16)\", \"AR( 16 )\"]", "`models` lists AR(16) twice");
    check_refused("models = [\"AX(3)\"]", "`AX(3)` among the models: unknown model `AX`");
    check_refused("models = [\"AR(0..2000)\"]", "it must be a whole number from 1 to 1024");
    check_refused("models = [\"REFIT(MA(0..0),every=1..2,window=50)\"]", "stands for no model");
    check_refused("models_per_window = 4", "`models_per_window` is 4; it must lie within 1..3");
    check_refused("fit = \"9..3\"", "expected a whole number such as 600, or a range such as \"300..1200\"");
    check_refused("fit = 0", "`fit` is 0; it must lie within 1..1000000");
    check_refused("fit = 1.5", "expected a whole number such as 600");
    check_refused("test = 29", "`test` begins at 29 samples, in which no forecast of lead 30 comes due");
    check_refused("test = \"400..900000\"", "3 leads over up to 900000 samples give more than");
    check_refused("leads = [0, 1]", "`leads` is 0; it must lie within 1..10000");
    check_refused("leads = [1, 1]", "`leads` lists 1 twice");
    check_refused("leads = \"many\"", "`leads` must be a number, a range");
    check_refused("aggregate = [0]", "`aggregate` is 0; it must lie within 1..100000");
    check_refused("difference = []", "`difference` lists 0 things");
    check_refused("difference = [9]", "`difference` is 9; it must lie within 0..8");
}

#[test]
fn a_key_that_is_none_is_named() {
    let error = Template::read(&format!("{GOOD}\nrefit = 3\n")).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("unknown field `refit`"), "{source}");
}

proptest! {
    #[test]
    fn any_text_is_a_template_or_refused(text in "(?s).{0,400}") {
        let _ = Template::read(&text);
    }

    #[test]
    fn any_values_are_a_template_or_refused(
        models in prop::collection::vec("(AR|ARMA|REFIT|TAR|BM)\\([0-9.,a-z=()]{0,24}\\)", 0..4),
        fit in "-?[0-9]{1,20}(\\.\\.[0-9]{1,20})?",
        leads in prop::collection::vec(any::<i64>(), 0..4),
    ) {
        let text = format!("models = {models:?}\nfit = {fit:?}\ntest = 40\nleads = {leads:?}");
        let _ = Template::read(&text);
    }
}
