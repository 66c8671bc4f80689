//! The application store in memory, and the table that other backends keep.
//!
//! Reading order: [`table`] (what a store holds, and what a call changes of it),
//! [`MemoryStore`].
//!
//! ```
//! # use std::sync::Arc;
//! # use rustagents_testkit::clock::ManualClock;
//! use rustagents_core::store::{Address, PutOptions, Reading, Store, StoreError};
//! use rustagents_store::MemoryStore;
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), StoreError> {
//! # let clock = Arc::new(ManualClock::new());
//! let store = MemoryStore::new(clock);
//! let drink = Address::new(["users", "42"], "drink")?;
//! let version = store.put(drink.clone(), json!("tea"), PutOptions::default()).await?;
//!
//! let replace = PutOptions::default().at_version(version);
//! store.put(drink.clone(), json!("coffee"), replace).await?;
//! let late = store.put(drink.clone(), json!("water"), replace).await;
//! assert!(matches!(late, Err(StoreError::Conflict { current: Some(2), .. })));
//!
//! let item = store.get(&drink, Reading::Plain).await?;
//! assert_eq!(item.map(|item| item.value), Some(json!("coffee")));
//! # Ok(())
//! # }
//! ```

mod memory;
pub mod table;

pub use memory::MemoryStore;
