//! Tool arguments: what is accepted has a canonical form that is a fixed point.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustagents_core::canonical::Canonical;

fuzz_target!(|text: &str| {
    if let Ok(first) = Canonical::parse(text) {
        let again = Canonical::parse(first.text()).expect("canonical text is accepted");
        assert_eq!(first.text(), again.text());
    }
});
