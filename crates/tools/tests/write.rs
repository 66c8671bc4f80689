//! Writing: one transaction, rolled back unless everything is as declared.

use rustagents_core::tool::{EffectClass, ToolErrorKind};
use rustagents_tools::sql::Declaration;
use serde_json::json;

use crate::shop::{SEED, Shop, call, not_executed, spec};

const REFUND: &str = "UPDATE orders SET status = 'refunded' \
    WHERE id = :order AND status = 'paid' AND paid_cents = :cents RETURNING id, status, paid_cents";

#[tokio::test]
async fn a_write_returns_its_rows_and_lasts() {
    let shop = Shop::new();
    for effect in [EffectClass::Once, EffectClass::Idempotent] {
        shop.outside()
            .execute("UPDATE orders SET status = 'paid' WHERE id = 'A-1042'", [])
            .unwrap();
        let refund = Declaration {
            rows: Some(1),
            ..spec(shop.writes(REFUND), |spec| spec.effect = effect)
        };
        let done = call(refund, json!({"order": "A-1042", "cents": 1299}))
            .await
            .unwrap();
        let row = json!({"id": "A-1042", "status": "refunded", "paid_cents": 1299});
        assert_eq!(done, json!({ "rows": [row] }));
        assert_eq!(shop.status(), "refunded");
    }
}

#[tokio::test]
async fn a_write_without_rows_counts_its_changes() {
    let shop = Shop::new();
    let done = call(shop.writes("UPDATE orders SET claim = 'open'"), json!({}))
        .await
        .unwrap();
    assert_eq!(done, json!({"rows": [], "changes": 3}));
    let done = call(shop.writes("DELETE FROM orders WHERE id = 'x'"), json!({}))
        .await
        .unwrap();
    assert_eq!(done, json!({"rows": [], "changes": 0}));
    let done = call(shop.writes("SELECT count(*) AS n FROM orders"), json!({}))
        .await
        .unwrap();
    assert_eq!(done, json!({"rows": [{"n": 3}]}));
}

#[tokio::test]
async fn another_number_of_rows_rolls_back() {
    let shop = Shop::new();
    let none = Declaration {
        rows: Some(1),
        ..shop.writes(REFUND)
    };
    let result = call(none, json!({"order": "A-1042", "cents": 1})).await;
    assert_eq!(
        not_executed(result, ToolErrorKind::Refused),
        "expected 1 row, found 0"
    );

    let many = Declaration {
        rows: Some(1),
        ..shop.writes("UPDATE orders SET status = 'refunded' RETURNING id")
    };
    let result = call(many, json!({})).await;
    assert_eq!(
        not_executed(result, ToolErrorKind::Refused),
        "expected 1 row, found 3"
    );

    let changes = Declaration {
        rows: Some(2),
        ..shop.writes("UPDATE orders SET status = 'refunded'")
    };
    let result = call(changes, json!({})).await;
    assert_eq!(
        not_executed(result, ToolErrorKind::Refused),
        "expected 2 rows, found 3"
    );
    assert_eq!(shop.status(), "paid");
}

#[tokio::test]
async fn a_result_over_its_limit_rolls_back() {
    let shop = Shop::new();
    for (sql, limit) in [
        ("UPDATE orders SET status = 'refunded' RETURNING *", 100),
        ("UPDATE orders SET status = 'refunded'", 10),
    ] {
        let declaration = spec(shop.writes(sql), |spec| spec.max_output_bytes = limit);
        let message = not_executed(
            call(declaration, json!({})).await,
            ToolErrorKind::OutputTooLarge,
        );
        assert_eq!(message, format!("the result is over {limit} bytes"));
        assert_eq!(shop.status(), "paid");
    }
}

#[tokio::test]
async fn a_broken_constraint_rolls_the_whole_statement_back() {
    let shop = Shop::new();
    for conflict in ["", "OR FAIL", "OR ROLLBACK", "OR ABORT"] {
        let sql = format!("INSERT {conflict} INTO parts(item) VALUES ('a'), ('b'), ('a')");
        let result = call(shop.writes(&sql), json!({})).await;
        let message = not_executed(result, ToolErrorKind::Refused);
        assert_eq!(
            message,
            "the statement failed: UNIQUE constraint failed: parts.item"
        );
        assert_eq!(
            shop.text("SELECT count(*) FROM parts"),
            "Integer(0)",
            "{conflict}"
        );
    }
}

#[tokio::test]
async fn a_constraint_that_fails_at_the_commit_rolls_back() {
    let shop = Shop::seeded(format!(
        "{SEED} CREATE TABLE claims (
           id TEXT REFERENCES orders(id) DEFERRABLE INITIALLY DEFERRED
         );"
    ));
    let claim = || shop.writes("INSERT INTO claims VALUES (:order)");
    let result = call(claim(), json!({"order": "nobody's"})).await;
    let message = not_executed(result, ToolErrorKind::Refused);
    assert_eq!(
        message,
        "the statement failed: FOREIGN KEY constraint failed"
    );
    assert_eq!(shop.text("SELECT count(*) FROM claims"), "Integer(0)");
    call(claim(), json!({"order": "A-1042"})).await.unwrap();
}

#[tokio::test]
async fn triggers_of_the_seed_run_in_the_same_transaction() {
    let shop = Shop::seeded(format!(
        "{SEED} CREATE TRIGGER part AFTER UPDATE ON orders
         BEGIN INSERT INTO parts(item) VALUES (new.item); END;"
    ));
    let update = || shop.writes("UPDATE orders SET claim = 'open' WHERE id = 'A-1042'");
    let done = call(update(), json!({})).await.unwrap();
    assert_eq!(
        done,
        json!({"rows": [], "changes": 1}),
        "what a trigger changed does not count"
    );
    not_executed(call(update(), json!({})).await, ToolErrorKind::Refused);
    assert_eq!(shop.text("SELECT count(*) FROM parts"), "Integer(1)");
}

#[tokio::test]
async fn calls_at_once_take_turns() {
    let shop = Shop::new();
    let add = || {
        call(
            shop.writes("INSERT INTO parts(item) VALUES (:a)"),
            json!({"a": "x"}),
        )
    };
    let take = |n: i64| {
        call(
            shop.writes("UPDATE orders SET paid_cents = paid_cents + :a WHERE id = 'A-1042'"),
            json!({ "a": n }),
        )
    };
    let results = tokio::join!(take(1), take(2), take(3), take(4), add(), add());
    for result in [results.0, results.1, results.2, results.3] {
        result.unwrap();
    }
    assert_eq!(
        results.4.is_ok(),
        results.5.is_err(),
        "one of two equal parts is refused"
    );
    let cents = shop.text("SELECT paid_cents FROM orders WHERE id = 'A-1042'");
    assert_eq!(cents, "Integer(1309)");
}
