//! libFuzzer on `fuzz::tunnel_frame`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::tunnel_frame(bytes);
});
