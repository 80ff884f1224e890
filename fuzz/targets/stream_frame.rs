//! libFuzzer on `fuzz::stream_frame`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::stream_frame(bytes);
});
