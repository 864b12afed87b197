#![no_main]

use tapline::steering::Setting;

// Words of device settings, from a command line or from a record on disk: what can be read says the same when it is written
// and read again.
libfuzzer_sys::fuzz_target!(|text: &str| {
    for setting in Setting::parse(text).unwrap_or_default() {
        let again = Setting::parse(&setting.to_string());
        assert_eq!(again.expect("a setting"), [setting]);
    }
});
