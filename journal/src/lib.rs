//! The embedded durable journal: what waits for delivery, in one directory of the local disk.
//!
//! [`DiskJournal`] is a [`Journal`](pubsink_runtime::journal::Journal) that outlives its process. A hook
//! it has taken is on the disk; after a crash it is due again as it was. It does exactly what
//! [`Table`](pubsink_core::journal::Table) does in memory, and is tested against it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use pubsink_core::envelope::Envelope;
//! use pubsink_core::journal::{Claim, Destination, Enqueue, Record};
//! use pubsink_journal::{DiskJournal, DiskOptions};
//! use pubsink_runtime::journal::Journal as _;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = std::env::temp_dir().join(format!("pubsink-journal-doc-{}", std::process::id()));
//! # smol::block_on(async {
//! let journal = DiskJournal::open(&dir, DiskOptions::default())?;
//! # let envelope = Envelope {
//! #     id: "0197".into(),
//! #     source_id: "shop".into(),
//! #     tenant_id: None,
//! #     received_at: 0,
//! #     method: "POST".into(),
//! #     path: "/".into(),
//! #     headers: Vec::new(),
//! #     content_type: None,
//! #     body: "hello".into(),
//! #     dedupe_key: None,
//! # };
//! let hook = Enqueue {
//!     envelope: Arc::new(envelope),
//!     to: vec![Destination { sink: "topic".into(), key: None }],
//!     claim: None,
//!     check_in: false,
//!     once: None,
//! };
//! let now = 1_750_000_000_000;
//! journal.enqueue(now, vec![hook]).await?; // it is on the disk
//!
//! for (lane, due) in journal.lanes().await? {
//!     let claim = Claim { lane, due_by: due, max_rows: 100, max_bytes: 1 << 20, oversize: true };
//!     for row in journal.claim(claim).await?.rows {
//!         // deliver `row.envelope`, then
//!         let delivered = Record::Delivered { row: row.id, message_id: None, claim: None };
//!         journal.record(vec![delivered]).await?;
//!     }
//! }
//! assert!(journal.lanes().await?.is_empty());
//! journal.close();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is on the disk when
//!
//! Calls that change something are gathered and kept in one transaction; each is answered when
//! that is synced to the disk. Claims are kept in memory only, so giving out rows and giving them
//! back costs no sync, and after a crash every row that was not recorded is due as it was.
//!
//! # The directory
//!
//! | file | what it is |
//! |---|---|
//! | `journal.redb` | a redb database, format version [`FORMAT`] |
//! | `lock` | locked by the process that has the journal; empty |
//!
//! The tables of `journal.redb` are described in the module `tables` of the source.

mod backend;
mod calls;
mod claims;
mod disk;
mod error;
mod options;
mod reader;
mod record;
mod store;
mod tables;
mod writer;

pub use calls::Totals;
pub use disk::DiskJournal;
pub use error::OpenError;
pub use options::DiskOptions;
pub use tables::FORMAT;
