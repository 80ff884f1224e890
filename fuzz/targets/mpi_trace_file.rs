//! libFuzzer on `fuzz::mpi_trace_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::mpi_trace_file(bytes);
});
