//! libFuzzer on `fuzz::arrival_trace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::arrival_trace(bytes);
});
