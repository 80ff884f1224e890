//! Cost of reading all sensors once, on this host, on a recorded one, and on one with much hardware. It must stay well under 1 ms.

use std::{hint::black_box, path::Path, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use sensor::Host;
use signal::Readings;

/// Longer than any two reads of a counter that the kernel keeps in milliseconds or finer.
const STEP: Duration = Duration::from_secs(1);

fn read(criterion: &mut Criterion) {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sensor");
    for (name, root) in [("this_host", "/"), ("two_core_vm", "two_core_vm/2"), ("laptop", "laptop/1")] {
        let mut host = Host::open(&recorded.join(root)).expect("the host can be opened");
        let mut readings = Readings::default();
        let mut at = Duration::ZERO;
        criterion.bench_function(&format!("read/{name}"), |bencher| {
            bencher.iter(|| {
                at += STEP;
                host.read(at, &mut readings);
                black_box(readings.len())
            });
        });
    }
}

criterion_group!(benches, read);
criterion_main!(benches);
