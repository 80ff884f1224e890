//! Any text is a template whose cases fit into a trace that is long enough for one, or is refused with a reason.

use std::sync::LazyLock;

use crossval::{Campaign, CampaignError, Template, Trace};

const N_SAMPLES: usize = 4096;
const N_WINDOWS: u64 = 20;

static TRACE: LazyLock<Trace> = LazyLock::new(|| {
    let samples = (0..N_SAMPLES).map(|idx| idx as f64).collect();
    Trace::new("ramp", samples).expect("numbers are a trace")
});

/// Returns whether it is a template with a case for the trace.
///
/// # Panics
/// When a window is drawn that reaches out of its trace or is not of the template, or a campaign does not travel as
/// bytes.
pub fn crossval_template(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else {
        return false;
    };
    let template = match Template::read(text) {
        Ok(template) => template,
        Err(reason) => {
            assert!(!reason.to_string().is_empty(), "`{text}` is refused without a reason");
            return false;
        }
    };
    let seed = bytes.len() as u64;
    let campaign = match Campaign::new(template, vec![TRACE.clone()], seed) {
        Ok(campaign) => campaign,
        Err(CampaignError::NoRoom { need, .. }) => {
            assert!(need > N_SAMPLES, "no room for {need} samples among {N_SAMPLES}");
            return false;
        }
        Err(reason) => panic!("`{text}` is a template, and no campaign: {reason}"),
    };
    let again = Campaign::from_bytes(&campaign.to_bytes()).expect("what was written reads back");
    (0..N_WINDOWS).for_each(|number| check_window(&campaign, &again, number));
    true
}

fn check_window(campaign: &Campaign, again: &Campaign, number: u64) {
    let (window, template) = (campaign.window(number), campaign.template());
    assert!(window.start + window.n_raw() <= N_SAMPLES, "{window:?} reaches out of the trace");
    let samples = window.cut(TRACE.samples());
    assert_eq!(samples.len(), window.n_fit + window.n_test, "{window:?}");
    assert!((template.fit().low()..=template.fit().high()).contains(&window.n_fit), "{window:?}");
    assert!((template.test().low()..=template.test().high()).contains(&window.n_test), "{window:?}");
    let cases = campaign.cases_of(&window);
    assert_eq!(cases.len(), template.models_per_window());
    assert_eq!(cases, again.cases_of(&again.window(number)), "another worker would evaluate other cases");
}
