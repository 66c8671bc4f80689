//! The script of the support example, branch by branch.

use rustagents_core::model::FinishReason;

use super::{Conversation, calls, model};

const SCRIPT: &str = r#"
rule = [
  { system = "^Triage", user = '(?i)refund|money back', text = "refund" },
  { system = "^Triage", text = "other" },
  { system = "clerk", last = "user", user = '(?<order>[A-Z]-\d{4})', call = "lookup_order", arguments = '{"order":{{ order | tojson }}}' },
  { system = "clerk", tool = "lookup_order", when = "not rows", text = "I find no such order." },
  { system = "^Refund", tool = "lookup_order", when = "rows[0].status == 'paid'", call = "refund", arguments = '{"order":{{ rows[0].id | tojson }},"amount_cents":{{ rows[0].paid_cents }}}' },
  { system = "^Refund", tool = "refund", when = "error", text = "No refund: {{ error.message }}." },
  { system = "^Refund", tool = "refund", text = "{{ rows[0].paid_cents / 100 }} € are on their way." },
]
"#;

const PAID: &str = r#"{"rows":[{"id":"A-1042","paid_cents":12950,"status":"paid","claim":null}]}"#;

fn triage() -> Conversation {
    Conversation::with("Triage. Answer with one word: refund or other.")
}

fn refunds() -> Conversation {
    Conversation::with("Refund clerk. Look the order up; refund it in full if it is paid.")
        .user("I want my money back for A-1042.")
}

fn looked_up() -> Conversation {
    refunds().calls("", "lookup_order", r#"{"order":"A-1042"}"#)
}

fn paid_back() -> Conversation {
    looked_up()
        .ok("lookup_order", PAID)
        .calls("", "refund", r#"{"order":"A-1042"}"#)
}

#[test]
fn triage_knows_a_refund() {
    let model = model(SCRIPT);
    assert_eq!(
        triage().user("Refund A-1042, please.").text(&model),
        "refund"
    );
    assert_eq!(triage().user("I want my MONEY BACK").text(&model), "refund");
}

#[test]
fn triage_sends_the_rest_elsewhere() {
    let model = model(SCRIPT);
    assert_eq!(triage().user("Where is A-1042?").text(&model), "other");
    assert_eq!(triage().text(&model), "other");
}

#[test]
fn a_clerk_looks_the_order_up() {
    let response = refunds().ask(&model(SCRIPT)).unwrap();
    assert_eq!(
        calls(&response),
        [("lookup_order", r#"{"order":"A-1042"}"#)]
    );
    assert_eq!(response.finish, FinishReason::ToolCalls);
    assert_eq!(response.text, "");
}

#[test]
fn a_clerk_finds_no_such_order() {
    let text = looked_up()
        .ok("lookup_order", r#"{"rows":[]}"#)
        .text(&model(SCRIPT));
    assert_eq!(text, "I find no such order.");
}

#[test]
fn a_paid_order_is_refunded() {
    let response = looked_up()
        .ok("lookup_order", PAID)
        .ask(&model(SCRIPT))
        .unwrap();
    assert_eq!(
        calls(&response),
        [("refund", r#"{"order":"A-1042","amount_cents":12950}"#)]
    );
}

#[test]
fn a_failed_refund_is_explained() {
    let error = r#"{"error":{"kind":"refused","message":"it was refunded before"}}"#;
    let text = paid_back().error("refund", error).text(&model(SCRIPT));
    assert_eq!(text, "No refund: it was refunded before.");
}

#[test]
fn a_refund_is_announced() {
    let response = paid_back().ok("refund", PAID).ask(&model(SCRIPT)).unwrap();
    assert_eq!(response.text, "129.5 € are on their way.");
    assert_eq!(response.finish, FinishReason::Stop);
}
