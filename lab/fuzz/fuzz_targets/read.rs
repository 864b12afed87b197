#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = tapline_fuzz::read(store::read::Reader::from_bytes(bytes.to_vec()));
});
