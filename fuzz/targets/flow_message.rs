//! libFuzzer on `fuzz::flow_message`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::flow_message(bytes);
});
