//! libFuzzer on `fuzz::predictor_state`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::predictor_state(bytes);
});
