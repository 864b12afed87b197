#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tapline_fuzz::merge(bytes);
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tapline_fuzz::mutated(data, (size, max_size), seed, 0, tapline_lab::mutate::pcapng)
});
