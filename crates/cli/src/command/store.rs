//! `rag store`: looks at what agents remember across threads, and puts it right.

use std::{process::ExitCode, sync::Arc, time::Duration};

use rustagents_core::{
    Code,
    canonical::Canonical,
    store::{
        Address as At, Expect, Item, NameError, NamespacePath, PutOptions, Reading, SearchQuery,
        Store as Items, StoreError,
    },
};
use serde_json::{Value, json};

use crate::{
    arguments::{ListItems, PutItem, Store, StoreAction},
    failure::Failure,
    output::{self, Output},
    store::Address,
};

/// The most items that are read together.
const PAGE: u64 = 1_000;

pub(crate) async fn store(arguments: &Store, output: &Output) -> Result<ExitCode, Failure> {
    let named = arguments.chosen().store.as_deref();
    let address = Address::parse(named.or(arguments.common.store.as_deref()))?;
    let Some(items) = address.items() else {
        let message = "a store in memory ends with its process, so it holds nothing";
        let hint = "name another one: `--store sqlite:PATH` or `--store file:DIR`";
        return Err(Failure::new(Code::StoreUrl, message).hint(hint));
    };
    match &arguments.action {
        None => list(&items, NamespacePath::root(), PAGE, output).await?,
        Some(StoreAction::List(ListItems {
            namespace, limit, ..
        })) => {
            let within = namespace.as_deref().map(path).transpose()?;
            list(&items, within.unwrap_or_default(), *limit, output).await?;
        }
        Some(StoreAction::Get(of)) => get(&items, &at(&of.namespace, &of.key)?, output).await?,
        Some(StoreAction::Put(given)) => put(&items, given, output).await?,
        Some(StoreAction::Delete(of)) => {
            let at = at(&of.namespace, &of.key)?;
            let expect = of.expect.map_or(Expect::Any, Expect::Version);
            if !items.delete(at.clone(), expect).await? {
                return Err(absent(&at));
            }
            told(&at, &json!({ "deleted": true }), "deleted", output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(
    items: &Arc<dyn Items>,
    within: NamespacePath,
    limit: u64,
    output: &Output,
) -> Result<(), Failure> {
    let (mut found, mut after, mut left) = (Vec::new(), None, limit);
    loop {
        let page = usize::try_from(left.min(PAGE)).unwrap_or(usize::MAX);
        let query = SearchQuery::under(within.clone()).after(after);
        let page = items.search(query.limit(page)).await?;
        left -= u64::try_from(page.items.len()).unwrap_or(left).min(left);
        found.extend(page.items);
        after = page.next;
        if after.is_none() || left == 0 {
            break;
        }
    }
    if output.is_json() {
        let more = after.is_some();
        let object = json!({ "schema": "rag.items/1", "items": found, "more": more });
        return output::object(&object);
    }
    if found.is_empty() {
        return output::text("no items");
    }
    let rows: Vec<_> = found.iter().map(row).collect();
    output::text(&rows.join("\n"))?;
    if after.is_some() {
        output.note("more may follow: raise `--limit`, or name a namespace");
    }
    Ok(())
}

fn row(item: &Item) -> String {
    format!("{}  v{}  {}", item.address, item.version, item.value)
}

async fn get(items: &Arc<dyn Items>, at: &At, output: &Output) -> Result<(), Failure> {
    let item = items.get(at, Reading::Plain).await?;
    let item = item.ok_or_else(|| absent(at))?;
    if output.is_json() {
        return output::object(&json!({ "schema": "rag.item/1", "item": item }));
    }
    output::text(&item.value.to_string())
}

async fn put(items: &Arc<dyn Items>, given: &PutItem, output: &Output) -> Result<(), Failure> {
    let at = at(&given.namespace, &given.key)?;
    let value = Canonical::parse(&given.value).map_err(|error| {
        Failure::new(Code::Usage, format!("the value is not JSON: {error}"))
            .hint("text is JSON in quotes: '\"yes\"'")
    })?;
    let options = PutOptions::default().expecting(match given.expect {
        None => Expect::Any,
        Some(0) => Expect::Absent,
        Some(version) => Expect::Version(version),
    });
    let ttl = given.ttl.map(Duration::from_secs);
    let options = ttl.map_or(options, |ttl| options.live_for(ttl));
    let version = items
        .put(at.clone(), value.value().clone(), options)
        .await?;
    let said = format!("is at version {version}");
    told(&at, &json!({ "version": version }), &said, output)
}

/// What became of an item.
fn told(at: &At, is: &Value, said: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output::object(&json!({ "schema": "rag.item/1", "address": at, "is": is }));
    }
    output.note(&format!("{at} {said}"));
    Ok(())
}

fn absent(at: &At) -> Failure {
    Failure::new(Code::NoItem, format!("there is no item `{at}`"))
        .hint("`rag store list` shows what there is")
}

fn at(namespace: &str, key: &str) -> Result<At, Failure> {
    let namespace = path(namespace)?;
    At::new(namespace.parts(), key).map_err(refused)
}

/// Parts between slashes, or a JSON list of them; nothing is the root.
fn path(given: &str) -> Result<NamespacePath, Failure> {
    let parts = if given.starts_with('[') {
        serde_json::from_str(given).map_err(|error| {
            Failure::new(
                Code::Usage,
                format!("`{given}` is no list of names: {error}"),
            )
        })?
    } else if given.is_empty() {
        Vec::new()
    } else {
        given.split('/').map(str::to_owned).collect::<Vec<String>>()
    };
    NamespacePath::new(parts).map_err(refused)
}

fn refused(error: NameError) -> Failure {
    StoreError::Name(error).into()
}
