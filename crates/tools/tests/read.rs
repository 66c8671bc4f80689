//! Reading: values in, rows out, and no way to change anything.

use rustagents_core::tool::{EffectClass, ToolErrorKind};
use rustagents_tools::sql::Declaration;
use serde_json::json;

use crate::shop::{Shop, call, not_executed, spec};

#[tokio::test]
async fn arguments_are_bound_by_name_with_their_type() {
    let shop = Shop::new();
    for (argument, kind, value) in [
        (json!("x"), "text", json!("x")),
        (json!(""), "text", json!("")),
        (json!("a\u{0}b"), "text", json!("a\u{0}b")),
        (json!(7), "integer", json!(7)),
        (json!(i64::MAX), "integer", json!(i64::MAX)),
        (json!(i64::MIN), "integer", json!(i64::MIN)),
        (json!(1.5), "real", json!(1.5)),
        (json!(true), "integer", json!(1)),
        (json!(false), "integer", json!(0)),
        (json!(null), "null", json!(null)),
        (json!([1, "b"]), "text", json!(r#"[1,"b"]"#)),
        (json!({"b": 1, "a": []}), "text", json!(r#"{"a":[],"b":1}"#)),
    ] {
        let sql = "SELECT typeof(:a) AS kind, :a AS value, :b AS missing";
        let found = call(shop.reads(sql), json!({ "a": argument.clone() }))
            .await
            .unwrap();
        let expected = json!({"rows": [{"kind": kind, "value": value, "missing": null}]});
        assert_eq!(found, expected, "{argument}");
    }
}

#[tokio::test]
async fn an_integer_that_sql_cannot_hold_is_refused() {
    let shop = Shop::new();
    let result = call(shop.reads("SELECT :a"), json!({"a": u64::MAX})).await;
    let message = not_executed(result, ToolErrorKind::Refused);
    assert_eq!(message, "`a` is over the largest integer of SQL");
}

#[tokio::test]
async fn an_argument_is_a_value_and_never_sql() {
    let shop = Shop::new();
    let lookup = "SELECT id FROM orders WHERE id = :order";
    for order in [
        "x' OR '1'='1",
        "A-1042'; DROP TABLE orders; --",
        ":order",
        "\" OR 1=1",
    ] {
        let found = call(shop.reads(lookup), json!({ "order": order }))
            .await
            .unwrap();
        assert_eq!(found, json!({"rows": []}), "{order}");
    }
    assert_eq!(shop.text("SELECT count(*) FROM orders"), "Integer(3)");
}

#[tokio::test]
async fn values_become_json() {
    let shop = Shop::new();
    let sql = "SELECT 9007199254740993 AS i, 0.5 AS r, 9e999 AS inf, NULL AS n, 'é' AS t, \
               x'00ffA0' AS b, CAST(x'ff' AS TEXT) AS bad, x'' AS e";
    let found = call(shop.reads(sql), json!({})).await.unwrap();
    let expected = json!({"rows": [{
        "i": 9_007_199_254_740_993_i64, "r": 0.5, "inf": null, "n": null, "t": "é",
        "b": {"hex": "00ffa0"}, "bad": {"hex": "ff"}, "e": {"hex": ""},
    }]});
    assert_eq!(found, expected);
}

#[tokio::test]
async fn two_columns_with_one_name_are_refused() {
    let shop = Shop::new();
    let result = call(shop.reads("SELECT 1 AS a, 2 AS a"), json!({})).await;
    let message = not_executed(result, ToolErrorKind::Refused);
    assert_eq!(message, "two columns of the result are named `a`");
}

#[tokio::test]
async fn a_tool_that_reads_cannot_write() {
    let shop = Shop::new();
    for sql in [
        "UPDATE orders SET status = 'x'",
        "DELETE FROM orders RETURNING id",
        "WITH x AS (SELECT 1) INSERT INTO parts(item) SELECT 'y' FROM x",
    ] {
        let message = not_executed(
            call(shop.reads(sql), json!({})).await,
            ToolErrorKind::Refused,
        );
        assert!(message.contains("declared to read only"), "{message}");
    }
    assert_eq!(shop.status(), "paid");
    assert_eq!(shop.text("SELECT count(*) FROM parts"), "Integer(0)");
}

#[tokio::test]
async fn nothing_but_data_can_be_reached() {
    let shop = Shop::new();
    let target = shop.folder.path().join("out.db");
    for sql in [
        "SELECT load_extension('x')",
        "SELECT * FROM pragma_journal_mode('delete')",
        "SELECT * FROM pragma_table_info('orders')",
        "SELECT * FROM pragma_user_version",
        "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'CREATE TABLE x (y)')",
        "DELETE FROM sqlite_schema",
    ] {
        for effect in [EffectClass::Repeatable, EffectClass::Once] {
            let declaration = spec(shop.reads(sql), |spec| spec.effect = effect);
            let error = call(declaration, json!({})).await.unwrap_err();
            assert_eq!(
                error.executed,
                rustagents_core::tool::Executed::No,
                "{sql}: {error:?}"
            );
        }
    }
    assert!(!target.exists());
    assert_eq!(shop.text("SELECT count(*) FROM orders"), "Integer(3)");
}

#[tokio::test]
async fn json_functions_and_full_text_search_work() {
    let shop = Shop::seeded(
        "CREATE VIRTUAL TABLE notes USING fts5(body);
         CREATE TABLE inbox (text TEXT);
         CREATE TRIGGER noted AFTER INSERT ON inbox
         BEGIN INSERT INTO notes VALUES (new.text); END;
         INSERT INTO notes VALUES ('a lamp that hums'), ('a quiet chair');",
    );
    let found = call(
        shop.reads("SELECT body FROM notes WHERE notes MATCH :order"),
        json!({"order": "lamp"}),
    );
    assert_eq!(
        found.await.unwrap(),
        json!({"rows": [{"body": "a lamp that hums"}]})
    );
    let added = call(
        shop.writes("INSERT INTO notes SELECT value FROM json_each(:a)"),
        json!({"a": ["one", "two"]}),
    );
    assert_eq!(added.await.unwrap(), json!({"rows": [], "changes": 2}));
    let received = call(
        shop.writes("INSERT INTO inbox VALUES (:a)"),
        json!({"a": "three"}),
    );
    assert_eq!(received.await.unwrap(), json!({"rows": [], "changes": 1}));
    assert_eq!(shop.text("SELECT count(*) FROM notes"), "Integer(5)");
}

#[tokio::test]
async fn a_result_may_have_its_limit_and_not_a_byte_more() {
    let shop = Shop::new();
    let sql = "SELECT id, item FROM orders ORDER BY id";
    let found = call(shop.reads(sql), json!({})).await.unwrap();
    let exact = found.to_string().len();

    let limited = |limit| spec(shop.reads(sql), |spec| spec.max_output_bytes = limit);
    assert_eq!(call(limited(exact), json!({})).await.unwrap(), found);
    let result = call(limited(exact - 1), json!({})).await;
    let message = not_executed(result, ToolErrorKind::OutputTooLarge);
    assert_eq!(message, format!("the result is over {} bytes", exact - 1));
}

#[tokio::test]
async fn collecting_stops_at_the_limit() {
    let shop = Shop::new();
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c";
    let result = call(shop.reads(endless), json!({})).await;
    not_executed(result, ToolErrorKind::OutputTooLarge);

    let result = call(shop.reads("SELECT zeroblob(40000) AS b"), json!({})).await;
    not_executed(result, ToolErrorKind::OutputTooLarge);
    let result = call(shop.reads("SELECT zeroblob(900000000) AS b"), json!({})).await;
    not_executed(result, ToolErrorKind::OutputTooLarge);
}

#[tokio::test]
async fn a_reader_can_expect_a_number_of_rows() {
    let shop = Shop::new();
    let expects = |rows| Declaration {
        rows: Some(rows),
        ..shop.reads("SELECT id FROM orders WHERE status = 'paid'")
    };
    call(expects(1), json!({})).await.unwrap();
    let message = not_executed(call(expects(2), json!({})).await, ToolErrorKind::Refused);
    assert_eq!(message, "expected 2 rows, found 1");
}

#[tokio::test]
async fn what_sqlite_refuses_is_told_in_one_line() {
    let shop = Shop::new();
    for (sql, message) in [
        (
            "SELECT\n* FROM nowhere",
            "the statement failed: no such table: nowhere",
        ),
        (
            "SELECT nobody FROM orders",
            "the statement failed: no such column: nobody",
        ),
        (
            "SELECT FROM",
            "the statement failed: near \"FROM\": syntax error",
        ),
    ] {
        let result = call(shop.reads(sql), json!({})).await;
        assert_eq!(not_executed(result, ToolErrorKind::Failed), message);
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_unavailable() {
    let shop = Shop::new();
    std::fs::create_dir_all(shop.database.file().parent().unwrap()).unwrap();
    std::fs::write(
        shop.database.file(),
        "this is no database at all".repeat(100),
    )
    .unwrap();
    let result = call(shop.reads("SELECT 1 FROM orders"), json!({})).await;
    not_executed(result, ToolErrorKind::Unavailable);
}
