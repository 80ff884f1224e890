//! libFuzzer on `fuzz::playback_rate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::playback_rate(bytes);
});
