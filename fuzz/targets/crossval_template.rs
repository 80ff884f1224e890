//! libFuzzer on `fuzz::crossval_template`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::crossval_template(bytes);
});
