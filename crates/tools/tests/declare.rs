//! What is found wrong before anything runs.

use rustagents_core::{
    Code, Coded,
    tool::{Approval, EffectClass, Tool},
};
use rustagents_tools::{
    DeclarationError,
    sql::{Declaration, SqlTool},
};
use serde_json::json;

use crate::shop::{Shop, spec};

#[test]
fn a_tool_carries_its_declaration_and_writes_nothing() {
    let shop = Shop::new();
    let declaration = spec(shop.writes("DELETE FROM orders"), |spec| {
        spec.approval = Some(Approval::Deny);
    });
    let tool = SqlTool::new(declaration.clone()).unwrap();
    let spec = tool.spec();
    assert_eq!(spec.name, "tool");
    assert_eq!(spec.description, declaration.spec.description);
    assert_eq!(spec.input_schema, declaration.spec.input_schema);
    assert_eq!(
        (spec.effect, spec.approval),
        (EffectClass::Once, Some(Approval::Deny))
    );
    assert_eq!(spec.timeout, declaration.spec.timeout);
    assert_eq!(spec.max_output_bytes, declaration.spec.max_output_bytes);
    assert!(!shop.folder.path().join(".rustagents").exists());
}

#[test]
fn a_question_is_rendered_from_the_arguments() {
    let shop = Shop::new();
    let asks = |ask: Option<&str>| {
        let ask = ask.map(str::to_owned);
        SqlTool::new(Declaration {
            ask,
            ..shop.writes("DELETE FROM orders")
        })
    };
    let arguments = json!({"order": "A-1042", "cents": 1299});
    let tool = asks(Some("Refund {{ cents }} cents for {{ order }}")).unwrap();
    assert_eq!(
        tool.question(&arguments).as_deref(),
        Some("Refund 1299 cents for A-1042")
    );
    assert_eq!(tool.question(&json!({"order": "A-1042"})), None);
    assert_eq!(asks(None).unwrap().question(&arguments), None);
    let error = asks(Some("{% if %}")).unwrap_err();
    assert!(
        matches!(error, DeclarationError::Question { .. }),
        "{error:?}"
    );
    assert_eq!(error.code(), Code::ToolDeclaration);
}

#[test]
fn declarations_that_make_no_tool_say_why() {
    let shop = Shop::new();
    let arguments = "the arguments are `a`, `b`, `cents`, `order`";
    let keywords = "start with `SELECT`, `WITH`, `VALUES`, `INSERT`, `UPDATE`, `DELETE`, `REPLACE`";
    let named = "name it after an argument, such as `:order`";
    for (sql, message, hint) in [
        (
            "SELECT :ordre",
            "the parameter `:ordre` is not an argument",
            Some(arguments),
        ),
        (
            "SELECT :Order",
            "the parameter `:Order` is not an argument",
            Some(arguments),
        ),
        (
            "SELECT ?",
            "the parameter `?` is not a name after `:`",
            Some(named),
        ),
        (
            "SELECT ?1",
            "the parameter `?1` is not a name after `:`",
            Some(named),
        ),
        (
            "SELECT $order",
            "the parameter `$order` is not a name after `:`",
            Some(named),
        ),
        (
            "SELECT 1; SELECT 2",
            "there is more than one statement",
            Some("make a tool of each"),
        ),
        ("  -- later", "there is no statement", None),
        ("SELECT 'x", "a `'` has no end", None),
        (
            "ATTACH 'x' AS y",
            "a statement cannot start with `ATTACH`",
            Some(keywords),
        ),
        (
            "PRAGMA user_version = 1",
            "a statement cannot start with `PRAGMA`",
            Some(keywords),
        ),
        (
            "DROP TABLE orders",
            "a statement cannot start with `DROP`",
            Some(keywords),
        ),
    ] {
        let error = SqlTool::new(shop.writes(sql)).unwrap_err();
        assert_eq!(error.to_string(), message, "{sql}");
        assert_eq!(error.hint().as_deref(), hint, "{sql}");
        assert_eq!(error.code(), Code::ToolDeclaration);
    }
}

#[test]
fn names_and_schemas_follow_the_tool_contract() {
    let shop = Shop::new();
    let error = SqlTool::new(spec(shop.reads("SELECT 1"), |spec| {
        spec.name = "a b".into();
    }));
    assert_eq!(
        error.unwrap_err(),
        DeclarationError::Name { name: "a b".into() }
    );

    for schema in [json!({}), json!({"type": "array"}), json!(true)] {
        let declaration = spec(shop.reads("SELECT 1"), |spec| spec.input_schema = schema);
        assert_eq!(
            SqlTool::new(declaration).unwrap_err(),
            DeclarationError::SchemaRoot
        );
    }

    let bare = json!({"type": "object"});
    let declaration = spec(shop.reads("SELECT :order"), |spec| spec.input_schema = bare);
    let error = SqlTool::new(declaration).unwrap_err();
    assert_eq!(
        error.hint().as_deref(),
        Some("the schema has no `properties`")
    );
}
