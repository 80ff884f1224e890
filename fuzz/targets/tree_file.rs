//! libFuzzer on `fuzz::tree_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::tree_file(bytes);
});
