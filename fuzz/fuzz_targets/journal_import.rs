//! Imports: every export has a verdict, and what is accepted is exported and read
//! back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustagents_core::digest::Rolling;
use rustagents_runtime::threads::transfer::{read, write};

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&sealed(bytes));
});

fn check(mut bytes: &[u8]) {
    match read(&mut bytes) {
        Err(error) => drop(error.to_string()),
        Ok(image) => {
            let mut first = Vec::new();
            write(&image, &mut first).expect("memory can be written to");
            let again = read(&mut &first[..]).expect("what was accepted stays accepted");
            assert_eq!(image, again);
            let mut second = Vec::new();
            write(&again, &mut second).expect("memory can be written to");
            assert_eq!(first, second);
        }
    }
}

/// The lines with an end that counts them and has their digest, which nothing that
/// is made at random has.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let (mut sealed, mut digest, mut counts) = (Vec::new(), Rolling::default(), [0; 3]);
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.is_empty() || line.starts_with(br#"{"end""#) {
            continue;
        }
        let kinds = [&br#"{"content""#[..], br#"{"message""#, br#"{"record""#];
        for (count, kind) in counts.iter_mut().zip(kinds) {
            *count += u64::from(line.starts_with(kind));
        }
        digest.push(line);
        sealed.extend_from_slice(line);
        sealed.push(b'\n');
    }
    let [contents, messages, records] = counts;
    let digest = digest.digest();
    let end = format!(
        "{{\"end\":{{\"contents\":{contents},\"messages\":{messages},\"records\":{records},\"digest\":\"{digest}\"}}}}\n"
    );
    sealed.extend_from_slice(end.as_bytes());
    sealed
}
