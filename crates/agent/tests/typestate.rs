#[test]
fn illegal_moves_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile/fail_*.rs");
    cases.pass("tests/compile/pass_*.rs");
}
