//! libFuzzer on `fuzz::monitor_results`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::monitor_results(bytes);
});
