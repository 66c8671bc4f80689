//! Configurations: every text has a verdict.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use rustagents_config::Config;

fuzz_target!(|source: &str| {
    if let Err(error) = Config::parse(Path::new("/rustagents.toml"), source) {
        let _ = error.to_string();
    }
});
