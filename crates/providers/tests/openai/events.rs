//! The event-stream grammar.

use super::{answer, reason, text};

const DONE: &str = "data: [DONE]\n\n";

fn chunk(text: &str) -> String {
    format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#)
}

#[tokio::test]
async fn comments_fields_and_unknown_events_are_heartbeats() {
    let stream = [
        ": keep-alive\n\n:\n\n",
        "retry: 10\nid: 1\n\n",
        "event: ping\ndata: pong\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "data\n\n",
        "data:\n\n",
        "nonsense\n: and: more\n",
        &format!("id\nevent: message\ndata:{}\nx:y\n\n", chunk("a")),
        &format!("event: delta\ndata: {}\n\n\n\n", chunk("b")),
        DONE,
    ];
    assert_eq!(answer(stream.concat()).await.unwrap().text, "ab");
}

#[tokio::test]
async fn data_over_several_lines_is_one_event() {
    let stream = format!(
        "data: {{\"choices\":\ndata:[{{\"delta\":\ndata: {{\"content\":\"a\"}}}}]}}\n\n{DONE}"
    );
    assert_eq!(answer(stream).await.unwrap().text, "a");
}

#[tokio::test]
async fn the_last_event_needs_no_blank_line() {
    let stream = text("a");
    for ending in ["\n\n", "\n", ""] {
        let stream = format!("{}{ending}", stream.trim_end());
        assert_eq!(answer(stream).await.unwrap().text, "a", "{ending:?}");
    }
    let finished = r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    assert_eq!(answer(finished).await.unwrap().text, "a");
}

#[tokio::test]
async fn only_the_first_byte_order_mark_is_one() {
    let stream = format!(
        "\u{feff}data: {}\n\n\u{feff}data: {}\n\n{DONE}",
        chunk("a"),
        chunk("b")
    );
    assert_eq!(answer(stream).await.unwrap().text, "a");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    let mut stream = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xff\"}}]}\n\n".to_vec();
    stream.extend_from_slice(DONE.as_bytes());
    assert_eq!(answer(stream).await.unwrap().text, "a\u{fffd}");
}

#[tokio::test]
async fn nothing_after_the_end_is_read() {
    let stream = format!("{}data: {{\n\n{}", text("a"), chunk("b"));
    assert_eq!(answer(stream).await.unwrap().text, "a");
}

#[tokio::test]
async fn what_cannot_be_read_is_a_failure_with_an_excerpt() {
    let stream = format!("data: {}\n\ndata: <html>\n\n{DONE}", chunk("a"));
    let reason = reason(stream).await;
    assert!(
        reason.ends_with("(expected value at line 1 column 1): <html>"),
        "{reason}"
    );
}
