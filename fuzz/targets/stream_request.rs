//! libFuzzer on `fuzz::stream_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::stream_request(bytes);
});
