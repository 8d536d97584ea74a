//! Results that are too long for a conversation, kept where the model can page through them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use crate::cut::boundary;

/// Results longer than this are kept and paged.
const RESULT_LIMIT: usize = 32 * 1024;
/// How much of a kept result is given at a time.
const PAGE: usize = 16 * 1024;
/// How much is kept without a folder.
const MOST_IN_MEMORY: usize = 16 * 1024 * 1024;
/// The largest result that is kept; what is beyond is dropped and said so.
const LARGEST: usize = 16 * 1024 * 1024;

/// The long results of one conversation.
#[derive(Debug, Default)]
pub struct KeptResults {
    /// Where they are written, for the user alone; in memory if there is none.
    folder: Option<PathBuf>,
    in_memory: BTreeMap<String, String>,
    bytes: usize,
    count: usize,
}

impl KeptResults {
    /// Kept in a folder, which is made when it is needed.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        let folder: PathBuf = folder.into();
        // A resumed conversation has some already.
        let count = fs::read_dir(&folder).map_or(0, Iterator::count);
        Self {
            folder: Some(folder),
            count,
            ..Self::default()
        }
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The text itself if it is short, else its beginning and how to read on.
    pub fn keep(&mut self, text: String) -> String {
        match text.len() <= RESULT_LIMIT {
            true => text,
            false => self.shorten(&text, PAGE),
        }
    }

    /// The first bytes of a text and how to read on.
    pub(crate) fn shorten(&mut self, text: &str, most: usize) -> String {
        let total = text.len();
        let end = boundary(text, most);
        let beginning = &text[..end];
        self.count += 1;
        let id = format!("r{}", self.count);
        match self.store(&id, &text[..boundary(text, LARGEST)]) {
            Ok(()) => format!(
                "{beginning}\n[{end} of {total} bytes are shown; call read_result with id {id:?} \
                 and offset {end} to read on]"
            ),
            Err(problem) => format!(
                "{beginning}\n[{end} of {total} bytes are shown; the rest could not be kept: \
                 {problem}]"
            ),
        }
    }

    /// A page of a kept result.
    pub fn read(&self, id: &str, offset: usize) -> Result<String, String> {
        let text = match self.in_memory.get(id) {
            Some(text) => text.clone(),
            None => self
                .load(id)
                .ok_or_else(|| format!("no result is kept as {id:?}"))?,
        };
        if offset >= text.len() {
            return Err(format!("the result {id:?} ends at byte {}", text.len()));
        }
        let begin = boundary(&text, offset);
        let end = boundary(&text, begin + PAGE);
        let rest = match end < text.len() {
            true => format!("read on with offset {end}"),
            false => "this is its end".to_owned(),
        };
        let total = text.len();
        Ok(format!(
            "{}\n[bytes {begin} to {end} of {total}; {rest}]",
            &text[begin..end]
        ))
    }

    fn store(&mut self, id: &str, text: &str) -> Result<(), String> {
        let Some(folder) = &self.folder else {
            if self.bytes + text.len() > MOST_IN_MEMORY {
                return Err("too much is kept already".to_owned());
            }
            self.bytes += text.len();
            self.in_memory.insert(id.to_owned(), text.to_owned());
            return Ok(());
        };
        let write = || {
            crate::private::folder(folder)?;
            let mut file = crate::private::create(&folder.join(format!("{id}.txt")))?;
            file.write_all(text.as_bytes())
        };
        write().map_err(|error: std::io::Error| error.to_string())
    }

    fn load(&self, id: &str) -> Option<String> {
        // The model names it, so it must not lead anywhere else.
        let number = id.strip_prefix('r')?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        fs::read_to_string(self.folder.as_ref()?.join(format!("{id}.txt"))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_paged_without_a_gap() {
        let mut kept = KeptResults::default();
        assert_eq!(kept.keep("short".to_owned()), "short");
        assert!(kept.is_empty());
        // Characters of two bytes, so that pages would cut them in half.
        let long = "é".repeat(RESULT_LIMIT);
        let shown = kept.keep(long.clone());
        assert!(
            shown.contains("read_result") && shown.contains("\"r1\""),
            "{}",
            shown.len()
        );
        let mut read = String::new();
        while let Ok(page) = kept.read("r1", read.len()) {
            let (text, _) = page.rsplit_once("\n[").unwrap();
            read.push_str(text);
        }
        assert_eq!(read, long);
    }

    #[test]
    fn a_model_cannot_read_other_files() {
        let scratch = attache_testkit::scratch::Scratch::new("kept").unwrap();
        scratch.write("secret.txt", "secret").unwrap();
        let kept = KeptResults::in_folder(scratch.path().join("results"));
        for id in ["../secret", "r/../../secret", "r", "", "/etc/passwd", "r1"] {
            assert!(kept.read(id, 0).is_err(), "{id}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut kept = KeptResults::default();
        let long = "x".repeat(MOST_IN_MEMORY / 2 + 1);
        assert!(kept.keep(long.clone()).contains("read_result"));
        assert!(kept.keep(long).contains("could not be kept"));
    }
}
