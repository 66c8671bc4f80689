//! Scripts of the scripted model: every text has a verdict.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustagents_providers::scripted::ScriptedModel;

fuzz_target!(|source: &str| {
    let _ = ScriptedModel::from_toml("scripted:fuzz", source);
});
