//! The full-text index: on disk, or in memory where there is no place for it.
//!
//! Owns what is written, when it is damaged, and who may write: of several processes one, as long as
//! it holds the lock. It can always be made anew from the notes, so whatever is wrong with it is a
//! reason to do so. Knows nothing of watching or MCP.

mod pairs;
mod schema;
mod search;

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use sha2::{Digest as _, Sha256};
use tantivy::directory::MmapDirectory;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::Schema;
use tantivy::{
    IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, SegmentReader, TantivyError,
    Term,
};

use crate::analysis::Language;
use crate::folder::Stamp;
use crate::front_matter::Note;
use schema::{Fields, INODE, KEY, MODIFIED, SIZE, TITLE_HASH};
use search::Columns;

pub(crate) use search::Hit;

/// How much memory the writer fills before it writes a part to disk.
const WRITER_MEMORY: usize = 48 * 1024 * 1024;

/// Parts of the index with fewer notes than that count as small, and small ones are merged with each
/// other only: a note that is saved now and then has no large part written anew.
const SMALL_PART: u32 = 500;

/// Why the index cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexError {
    /// Its files make no sense.
    #[error("the index is damaged: {0}")]
    Damaged(String),
    /// The system refuses, as when the disk is full.
    #[error("the index cannot be written: {0}")]
    Io(String),
    /// Another process writes it.
    #[error("another process writes the index")]
    Locked,
}

impl From<TantivyError> for IndexError {
    fn from(error: TantivyError) -> Self {
        match error {
            TantivyError::IoError(_) | TantivyError::OpenDirectoryError(_) => {
                Self::Io(error.to_string())
            }
            TantivyError::LockFailure(..) => Self::Locked,
            _ => Self::Damaged(error.to_string()),
        }
    }
}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

/// Where the index of a folder is kept beneath `cache`. Programs that would read it differently
/// have another place.
pub(crate) fn place(cache: &Path, folder: &Path) -> PathBuf {
    let (schema, _) = schema::schema();
    let fields = serde_json::to_string(&schema).unwrap_or_default();
    let name = |bytes: &[u8], length: usize| -> String {
        let hash = Sha256::digest(bytes);
        hash.iter()
            .take(length)
            .map(|it| format!("{it:02x}"))
            .collect()
    };
    let folder = name(folder.as_os_str().as_encoded_bytes(), 8);
    let version = schema::VERSION;
    cache.join(format!(
        "{folder}-v{version}-{}",
        name(fields.as_bytes(), 4)
    ))
}

/// An index that can be searched.
pub(crate) struct SearchIndex {
    index: tantivy::Index,
    reader: IndexReader,
    fields: Fields,
    view: RwLock<Arc<View>>,
}

/// The index as it was when it was last loaded, with what every search needs of it.
struct View {
    searcher: Searcher,
    /// The columns of each segment.
    columns: Vec<Columns>,
    /// The languages of the notes in it.
    languages: Vec<Language>,
}

/// What the index knows of a note beside its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// The state the note was in.
    pub(crate) stamp: Stamp,
    /// Tells one title from another.
    pub(crate) title_hash: u64,
}

impl SearchIndex {
    /// The index in the folder `data`.
    pub(crate) fn open(data: &Path) -> Result<Self, IndexError> {
        contained(|| {
            let (schema, fields) = schema::schema();
            let index =
                tantivy::Index::open(MmapDirectory::open(data).map_err(TantivyError::from)?)?;
            if index.schema() != schema {
                return Err(IndexError::Damaged("it is of another program".to_owned()));
            }
            Self::of(index, fields)
        })
    }

    /// A new and empty one in the folder `data`, instead of whatever is there.
    pub(crate) fn create(data: &Path) -> Result<Self, IndexError> {
        match std::fs::remove_dir_all(data) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        std::fs::create_dir_all(data)?;
        let (schema, fields) = schema::schema();
        let directory = MmapDirectory::open(data).map_err(TantivyError::from)?;
        let index = tantivy::Index::create(directory, schema, settings())?;
        Self::of(index, fields)
    }

    /// A new and empty one in memory.
    pub(crate) fn in_memory() -> Result<Self, IndexError> {
        let (schema, fields): (Schema, Fields) = schema::schema();
        let builder = tantivy::Index::builder()
            .schema(schema)
            .settings(settings());
        Self::of(builder.create_in_ram()?, fields)
    }

    fn of(index: tantivy::Index, fields: Fields) -> Result<Self, IndexError> {
        schema::register(&index);
        // No thread of its own that looks for changes: the writer says so.
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        let view = View::of(reader.searcher(), fields)?;
        Ok(Self {
            index,
            reader,
            fields,
            view: RwLock::new(Arc::new(view)),
        })
    }

    /// Sees what was written since.
    pub(crate) fn reload(&self) -> Result<(), IndexError> {
        contained(|| {
            self.reader.reload()?;
            let view = View::of(self.reader.searcher(), self.fields)?;
            *self.view.write() = Arc::new(view);
            Ok(())
        })
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    /// Every note in it and the state it was in.
    pub(crate) fn contents(&self) -> Result<HashMap<String, Stamp>, IndexError> {
        contained(|| {
            let view = self.view();
            let mut contents = HashMap::new();
            for (segment, columns) in view.segments() {
                let paths = columns.paths()?;
                contents.reserve(paths.len());
                for document in segment.doc_ids_alive() {
                    let path = columns.path_number(document).and_then(|it| paths.get(it));
                    let stamp = columns.known(document).stamp;
                    contents.extend(path.map(|path| (path.clone(), stamp)));
                }
            }
            Ok(contents)
        })
    }

    /// One note as it is in the index.
    pub(crate) fn known(&self, path: &str) -> Result<Option<Known>, IndexError> {
        let term = Term::from_field_text(self.fields.key, path);
        contained(|| self.view().known(&term))
    }
}

impl View {
    fn of(searcher: Searcher, fields: Fields) -> Result<Self, IndexError> {
        let mut columns = Vec::new();
        let mut languages = Vec::new();
        for segment in searcher.segment_readers() {
            columns.push(Columns::of(segment)?);
            let inverted = segment.inverted_index(fields.language)?;
            let mut codes = inverted.terms().stream()?;
            while codes.advance() {
                let code = std::str::from_utf8(codes.key()).unwrap_or_default();
                if let Some(language) = Language::named(code).filter(|it| !languages.contains(it)) {
                    languages.push(language);
                }
            }
        }
        Ok(Self {
            searcher,
            columns,
            languages,
        })
    }

    fn segments(&self) -> impl Iterator<Item = (&SegmentReader, &Columns)> {
        self.searcher.segment_readers().iter().zip(&self.columns)
    }
}

fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// The library checks what it reads, but not against every damage; what it trips over is one.
fn contained<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(IndexError::Damaged(
            "its contents contradict each other".to_owned(),
        ))
    })
}

/// The right to write, which one process has.
pub(crate) struct WriteLock {
    _file: File,
}

impl WriteLock {
    pub(crate) fn take(place: &Path) -> Result<Self, IndexError> {
        std::fs::create_dir_all(place)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(place.join("writer.lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(IndexError::Locked),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

/// Changes the index.
pub(crate) struct Writer {
    writer: IndexWriter,
    fields: Fields,
}

impl Writer {
    pub(crate) fn new(index: &SearchIndex) -> Result<Self, IndexError> {
        contained(|| {
            let options = IndexWriterOptions::builder()
                .memory_budget_per_thread(WRITER_MEMORY)
                .num_worker_threads(1)
                .num_merge_threads(1)
                .build();
            let writer: IndexWriter = index.index.writer_with_options(options)?;
            let mut merging = LogMergePolicy::default();
            merging.set_min_layer_size(SMALL_PART);
            writer.set_merge_policy(Box::new(merging));
            Ok(Self {
                writer,
                fields: index.fields,
            })
        })
    }

    /// Takes a note in, instead of what was known of it.
    pub(crate) fn put(
        &self,
        path: &str,
        note: &Note<'_>,
        stamp: Stamp,
        language: Language,
    ) -> Result<(), IndexError> {
        self.remove(path);
        let document = schema::document(self.fields, path, note, stamp, language);
        contained(|| Ok(self.writer.add_document(document).map(drop)?))
    }

    /// Forgets a note.
    pub(crate) fn remove(&self, path: &str) {
        let key = Term::from_field_text(self.fields.key, path);
        self.writer.delete_term(key);
    }

    /// Waits until nothing works on the index any more.
    pub(crate) fn close(self) {
        // What was not committed or merged is done again next time.
        let _ = contained(|| Ok(self.writer.wait_merging_threads()?));
    }

    /// Makes all of that visible, and durable.
    pub(crate) fn commit(&mut self) -> Result<(), IndexError> {
        contained(|| Ok(self.writer.commit().map(drop)?))
    }
}
