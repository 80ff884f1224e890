//! libFuzzer on `fuzz::exporter_page`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::exporter_page(bytes);
});
