//! Plans: the tree is lossless, and every source has a verdict.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustagents_registry::Snapshot;

fuzz_target!(|source: &str| {
    if source.len() <= rustagents_syntax::MAX_SOURCE_BYTES {
        assert_eq!(rustagents_syntax::parse(source).syntax().text(), source);
    }
    let compiled = rustagents_lang::compile(source, &Snapshot::default());
    for diagnostic in &compiled.diagnostics {
        let _ = diagnostic.render("plan.rag", source);
    }
});
