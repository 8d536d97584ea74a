//! A document of a spec: looked at, or edited as plain text.

use std::sync::Arc;

use attache::protocol::Json;
use attache_view::document::{Block, Body, Document, LooksLike, Markdown};
use attache_view::safe_text;
use ratatui::crossterm::event::KeyEvent;
use ratatui_textarea::TextArea;

use super::files::{Place, Read, Stamp};
use crate::answer::AnswerView;
use crate::component::Waker;

/// A document that is open.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) place: Place,
    pub(super) text: String,
    pub(super) stamp: Option<Stamp>,
    pub(super) view: AnswerView,
    pub(super) editor: Option<Editor>,
    waker: Waker,
}

/// A text that is being edited.
#[derive(Debug)]
pub(super) struct Editor {
    pub(super) area: TextArea<'static>,
    pub(super) is_saving: bool,
    /// Another program has written the file since it was read.
    pub(super) is_outdated: bool,
    /// The person was told that something is not saved, and may go or overwrite now.
    pub(super) is_warned: bool,
    /// The file ends with a line break.
    ends_with_break: bool,
}

impl Opened {
    pub(super) fn new(place: Place, read: Read, waker: Waker) -> Self {
        let view = view(&read.text, waker.clone());
        Self {
            place,
            view,
            text: read.text,
            stamp: read.stamp,
            editor: None,
            waker,
        }
    }

    /// Takes what lies on the disk now. An edited text stays, and is marked if it is outdated.
    pub(super) fn refresh(&mut self, read: Read) {
        if read.stamp == self.stamp && read.text == self.text {
            return;
        }
        let is_modified = self.is_modified();
        match &mut self.editor {
            Some(editor) if is_modified => editor.is_outdated = true,
            Some(editor) => {
                *editor = Editor::new(&read.text);
                self.take(read);
            }
            None => self.take(read),
        }
    }

    fn take(&mut self, read: Read) {
        self.view = view(&read.text, self.waker.clone());
        self.text = read.text;
        self.stamp = read.stamp;
    }

    /// Begins to edit.
    ///
    /// # Errors
    /// In words, if the text cannot be shown in a terminal as it is: what is not seen is not edited.
    pub(super) fn edit(&mut self) -> Result<(), String> {
        if self.editor.is_some() {
            return Ok(());
        }
        if safe_text::block(&self.text) != self.text.as_str() {
            return Err(format!(
                "{} has characters that a terminal must not show; edit it with another program",
                self.place.file
            ));
        }
        self.editor = Some(Editor::new(&self.text));
        Ok(())
    }

    pub(super) fn is_modified(&self) -> bool {
        self.editor
            .as_ref()
            .is_some_and(|it| it.text() != self.text)
    }

    /// What was written is on the disk.
    pub(super) fn saved(&mut self, stamp: Option<Stamp>) {
        if let Some(editor) = &mut self.editor {
            editor.is_saving = false;
            editor.is_outdated = false;
            editor.is_warned = false;
            let text = editor.text();
            self.view = view(&text, self.waker.clone());
            self.text = text;
        }
        self.stamp = stamp;
    }
}

impl Editor {
    fn new(text: &str) -> Self {
        let lines = text.lines().map(str::to_owned).collect();
        Self {
            area: TextArea::new(lines),
            is_saving: false,
            is_outdated: false,
            is_warned: false,
            ends_with_break: text.is_empty() || text.ends_with('\n'),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.area.lines().join("\n");
        if self.ends_with_break && !text.is_empty() {
            text.push('\n');
        }
        text
    }

    pub(super) fn key(&mut self, event: KeyEvent) {
        self.is_warned = false;
        self.area.input(event);
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.is_warned = false;
        self.area.insert_str(safe_text::block(text));
    }
}

fn view(text: &str, waker: Waker) -> AnswerView {
    let body = match Markdown::parse(text) {
        Some(markdown) => Body::Markdown(markdown),
        None => Body::Text {
            text: safe_text::block(text).into_owned(),
            looks_like: LooksLike::Plain,
            repeats_structured: false,
        },
    };
    let document = Document {
        blocks: vec![Block {
            body,
            bytes: text.len(),
            role: None,
            audience: Vec::new(),
        }],
        bytes: text.len(),
        ..Document::default()
    };
    let raw = Json::from(serde_json::Value::from(text));
    AnswerView::new(Arc::new(document), raw.into(), waker)
}
