//! libFuzzer on `fuzz::dedup_group`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::dedup_group(bytes);
});
