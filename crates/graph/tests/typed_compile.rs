#[test]
fn mistakes_in_a_typed_state_do_not_compile() {
    // Only failing cases: those are checked, never built and linked.
    trybuild::TestCases::new().compile_fail("tests/compile/fail_*.rs");
}
