#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = tapline_fuzz::read(store::read::Reader::from_bytes(bytes.to_vec()));
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tapline_fuzz::mutated(data, (size, max_size), seed, 0, tapline_lab::mutate::pcapng)
});
