#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tapline_fuzz::read_both_ways(bytes);
});
