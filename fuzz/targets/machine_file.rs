//! libFuzzer on `fuzz::machine_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::machine_file(bytes);
});
