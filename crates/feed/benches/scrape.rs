//! Cost of reading a page of an exporter, one of 500 kB: for the few series that are asked for mostly, and for all.

use std::{fmt::Write, fs, hint::black_box, path::Path, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use feed::{Exporter, ExporterSettings};
use signal::Readings;

/// Time between two reads of the page.
const STEP: Duration = Duration::from_secs(1);

/// The recorded page of a node exporter, and after it 8,000 series of 1,000 cores.
fn large_page() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sensor/exporter/node-exporter.txt");
    let mut page = fs::read_to_string(file).expect("the page is there");
    page.push_str("# TYPE node_core_seconds_total counter\n");
    for core in 0..1000 {
        for mode in ["idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user"] {
            let _ = writeln!(page, "node_core_seconds_total{{cpu=\"{core}\",mode=\"{mode}\"}} 12345.67");
        }
    }
    page
}

fn scrape(criterion: &mut Criterion) {
    let page = large_page();
    let cases = [
        ("one_name", "node_load1", 200),
        ("of_many_labels", "node_core_seconds_total{mode=\"idle\"}", 2_000),
        ("all_beyond_the_cap", ".*", 200),
        ("all", ".*", 20_000),
    ];
    for (name, pattern, n_signals_max) in cases {
        let mut settings = ExporterSettings::new("http://127.0.0.1:9100/metrics");
        settings.patterns = vec![pattern.to_owned()];
        settings.n_signals_max = n_signals_max;
        let mut exporter = Exporter::open(&settings).expect("the settings can be met");
        let mut readings = Readings::default();
        let mut at = Duration::ZERO;
        criterion.bench_function(&format!("scrape/{}_kB/{name}", page.len() / 1000), |bencher| {
            bencher.iter(|| {
                at += STEP;
                exporter.read_page(at, page.as_bytes(), false, &mut readings);
                black_box(readings.len())
            });
        });
    }
}

criterion_group!(benches, scrape);
criterion_main!(benches);
