//! Editing a document: beginning, saving, leaving, and what others wrote meanwhile.

use super::files::{Expected, NotSaved, Place, Stamp};
use super::{Focus, SpecsPane, notice};
use crate::component::{Input, Notice, Outcome, Request};
use crate::keys::Action;

impl SpecsPane {
    pub(super) fn on_saved(
        &mut self,
        place: &Place,
        saved: Result<Option<Stamp>, NotSaved>,
    ) -> Outcome {
        let Some(opened) = self.opened.as_mut().filter(|it| it.place == *place) else {
            return Outcome::Used;
        };
        let file = &place.file;
        let notice = match saved {
            Ok(stamp) => {
                opened.saved(stamp);
                self.files.list();
                Notice::done(format!("saved {file}"))
            }
            Err(NotSaved::Changed) => {
                if let Some(editor) = &mut opened.editor {
                    editor.is_saving = false;
                    editor.is_outdated = true;
                    editor.is_warned = true;
                }
                Notice::warning(format!(
                    "{file} was changed elsewhere and is not saved; ctrl-s again overwrites it, esc \
                     twice drops your text"
                ))
            }
            Err(NotSaved::Failed(problem)) => {
                if let Some(editor) = &mut opened.editor {
                    editor.is_saving = false;
                }
                Notice::failed(problem)
            }
        };
        Outcome::Request(Request::Notice(notice))
    }

    pub(super) fn save(&mut self) -> Outcome {
        let Some(opened) = &mut self.opened else {
            return Outcome::Ignored;
        };
        let expected = match &opened.editor {
            None => return Outcome::Ignored,
            Some(editor) if editor.is_saving => return Outcome::Used,
            Some(editor) if editor.is_outdated && editor.is_warned => Expected::Any,
            Some(_) => Expected::As(opened.stamp),
        };
        let place = opened.place.clone();
        if let Some(editor) = &mut opened.editor {
            editor.is_saving = true;
            self.files.save(place, editor.text(), expected);
        }
        Outcome::Used
    }

    pub(super) fn edit(&mut self) -> Outcome {
        let Some(opened) = &mut self.opened else {
            return notice(Notice::warning("there is no such document to edit yet"));
        };
        match opened.edit() {
            Ok(()) => {
                self.focus = Focus::Document;
                Outcome::Used
            }
            Err(problem) => notice(Notice::warning(problem)),
        }
    }

    /// Leaves the editor; what is not saved is told first.
    pub(super) fn leave_editor(&mut self) -> Outcome {
        let Some(opened) = &mut self.opened else {
            return Outcome::Ignored;
        };
        let is_modified = opened.is_modified();
        match &mut opened.editor {
            Some(editor) if is_modified && !editor.is_warned => {
                editor.is_warned = true;
                notice(Notice::warning(
                    "not saved; ctrl-s saves, esc again drops what you changed",
                ))
            }
            Some(_) => {
                opened.editor = None;
                self.read_document();
                Outcome::Used
            }
            None => Outcome::Ignored,
        }
    }

    pub(super) fn is_editing(&self) -> bool {
        self.opened.as_ref().is_some_and(|it| it.editor.is_some())
    }

    pub(super) fn editor_input(&mut self, input: Input<'_>) -> Outcome {
        match input {
            Input::Key {
                action: Some(Action::SpecSave),
                ..
            } => return self.save(),
            Input::Key {
                action: Some(Action::Back),
                ..
            } => return self.leave_editor(),
            _ => {}
        }
        let Some(editor) = self.opened.as_mut().and_then(|it| it.editor.as_mut()) else {
            return Outcome::Ignored;
        };
        match input {
            Input::Key { event, .. } => editor.key(event),
            Input::Paste(text) => editor.paste(text),
            Input::Mouse(_) | Input::Edited(_) => return Outcome::Ignored,
        }
        Outcome::Used
    }
}
