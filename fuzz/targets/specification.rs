//! libFuzzer on `fuzz::specification`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::specification(bytes);
});
