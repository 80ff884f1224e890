//! libFuzzer on `fuzz::stretched_sound`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::stretched_sound(bytes);
});
