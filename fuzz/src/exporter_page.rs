//! Any bytes are a page of an exporter: what is wrong in it is counted, and the rest becomes signals that can be shown.

use std::{collections::BTreeSet, time::Duration};

use feed::{Exporter, ExporterSettings};
use signal::{Readings, Source};

const N_SIGNALS_MAX: usize = 8;

/// The first byte says how the pages are written and what the exporter is called; each of the others, a page after the
/// other, parted by bytes of zero.
///
/// Returns whether a signal was made.
///
/// # Panics
/// When an id cannot be shown or comes twice at one scrape, a value is no number, or there are more signals than
/// allowed.
pub fn exporter_page(bytes: &[u8]) -> bool {
    let Some((choice, rest)) = bytes.split_first() else {
        return false;
    };
    let mut settings = ExporterSettings::new("http://127.0.0.1:9100/metrics");
    settings.quantiles = vec![0.0, 0.5, 1.0];
    settings.n_signals_max = N_SIGNALS_MAX;
    settings.name = (choice & 2 == 2).then(|| "name".to_owned());
    let mut exporter = Exporter::open(&settings).expect("the settings can be met");
    let mut readings = Readings::default();
    let mut all = BTreeSet::new();
    for (at_s, page) in (0..).zip(rest.split(|byte| *byte == 0)) {
        exporter.read_page(Duration::from_secs(at_s), page, choice & 1 == 1, &mut readings);
        let mut ids = BTreeSet::new();
        for (signal, value) in &readings {
            assert!(value.is_finite(), "{} is {value}", signal.id());
            assert!(signal.id().len() <= 200 && !signal.id().contains(char::is_control), "`{}`", signal.id());
            assert!(ids.insert(signal.id().to_string()), "`{}` comes twice", signal.id());
        }
        all.append(&mut ids);
        assert_eq!(exporter.n_errors() == 0, exporter.last_error().is_none(), "errors without a reason");
    }
    assert!(all.len() <= N_SIGNALS_MAX, "{} signals", all.len());
    !all.is_empty()
}
