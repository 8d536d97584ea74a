//! What was begun and not finished: forms that were left and questions that were put off.
//!
//! A form that is left with something typed into it is kept as it is, and opening the same tool
//! shows it again. A question's dialog is kept until the question is closed: put off, it comes back
//! by the inbox; sent and refused, it comes back with what was typed.

use std::sync::Arc;

use attache::host::questions::Question;

use super::detail::{Detail, FormSession, FormTarget};
use super::{App, Overlay, Tab};
use crate::component::Notice;
use crate::dialog::QuestionDialog;
use crate::keys::Action;

/// Forms that are kept; the one that was left the longest time ago goes first.
const MOST_FORMS: usize = 50;

/// What is kept of what was begun.
#[derive(Debug, Default)]
#[expect(
    clippy::vec_box,
    reason = "they come boxed from what is open and go back there"
)]
pub(super) struct Drafts {
    /// The last one that was left stands last.
    forms: Vec<Box<FormSession>>,
    /// Dialogs that were put off, or whose answers are on their way.
    dialogs: Vec<Box<QuestionDialog>>,
}

impl Drafts {
    fn keep_form(&mut self, session: Box<FormSession>) {
        let key = session.target.key();
        self.forms.retain(|other| other.target.key() != key);
        self.forms.push(session);
        if self.forms.len() > MOST_FORMS {
            self.forms.remove(0);
        }
    }

    fn take_form(&mut self, target: &FormTarget) -> Option<Box<FormSession>> {
        let key = target.key();
        let place = self.forms.iter().position(|it| it.target.key() == key)?;
        Some(self.forms.remove(place))
    }

    /// Puts a dialog aside until its question is closed or it is wanted again.
    pub(super) fn keep_dialog(&mut self, dialog: Box<QuestionDialog>) {
        self.forget_dialog(dialog.question().id);
        self.dialogs.push(dialog);
    }

    fn take_dialog(&mut self, question: u64) -> Option<Box<QuestionDialog>> {
        let mut dialogs = self.dialogs.iter();
        let place = dialogs.position(|it| it.question().id == question)?;
        Some(self.dialogs.remove(place))
    }

    pub(super) fn has_dialog(&self, question: u64) -> bool {
        self.dialogs.iter().any(|it| it.question().id == question)
    }

    pub(super) fn forget_dialog(&mut self, question: u64) {
        self.dialogs.retain(|it| it.question().id != question);
    }

    /// Forgets the dialogs of questions that are closed.
    pub(super) fn keep_dialogs(&mut self, is_open: impl Fn(u64) -> bool) {
        self.dialogs.retain(|it| is_open(it.question().id));
    }
}

impl App {
    /// Lets go of something that was open. A form with something typed into it is kept.
    pub(super) fn let_go(&mut self, detail: Detail) {
        if let Detail::Form(session) = detail
            && session.editor.is_changed()
        {
            self.drafts.keep_form(session);
            self.tell(Notice::done(
                "kept as you left it, until you come back or quit",
            ));
        }
    }

    /// Closes all that is open in a tab.
    pub(super) fn close_all(&mut self, tab: Tab) {
        for detail in std::mem::take(&mut self.details[tab as usize]) {
            self.let_go(detail);
        }
    }

    /// Opens the form of this target as it was left; false if none was. A tool that is described
    /// otherwise by now has another form, into which `anew` puts the value.
    pub(super) fn reopen(
        &mut self,
        target: &FormTarget,
        anew: impl FnOnce(Option<attache_view::Value>) -> crate::editor::FormEditor,
    ) -> bool {
        let Some(mut session) = self.drafts.take_form(target) else {
            return false;
        };
        if !session.target.has_same_form(target) {
            session.editor = anew(session.editor.typed());
        }
        session.target = target.clone();
        let key = self.key_name(Action::Reset);
        session
            .editor
            .say(&format!("This is as you left it; {key} begins again."));
        self.open_detail(Detail::Form(session));
        true
    }

    /// The dialog of a question: as it was put aside, or a new one.
    pub(super) fn dialog_of(&mut self, question: Arc<Question>) -> Box<QuestionDialog> {
        let kept = self.drafts.take_dialog(question.id);
        kept.unwrap_or_else(|| Box::new(QuestionDialog::new(question, self.waker.clone())))
    }

    /// Forgets all about questions that were closed while events were lost.
    pub(super) fn forget_closed_questions(&mut self) {
        let questions = &self.snapshot.questions;
        let is_open = |id: u64| questions.iter().any(|it| it.id == id);
        self.drafts.keep_dialogs(is_open);
        self.overlays.retain(|overlay| match overlay {
            Overlay::Question(dialog) => is_open(dialog.question().id),
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use attache::host::catalog::Outcome;
    use attache::host::questions::{Answerer, QuestionKind};
    use attache::protocol::Json;
    use ratatui::crossterm::event::KeyCode;

    use super::*;
    use crate::app::act::Act;
    use crate::app::tests::{answer, app, key, list_tools, ready, screen, some_tools, type_in};
    use crate::message::{Effect, Message};

    /// The form of `search_notes` with a text in its first field.
    fn typed(app: &mut App, words: &str) {
        app.perform(Act::Do(Action::TabTools));
        type_in(app, "\n\n");
        type_in(app, words);
    }

    #[test]
    fn a_form_that_is_left_comes_back_as_it_was() {
        let mut app = app();
        ready(&mut app);
        typed(&mut app, "half a thou");
        type_in(&mut app, "\u{1b}\u{1b}");
        assert!(app.detail().is_none(), "{:?}", app.detail());
        assert!(screen(&mut app, 120, 30).contains("kept as you left it"));
        // Another tool is another form.
        type_in(&mut app, "j\n");
        assert!(!screen(&mut app, 120, 30).contains("half a thou"));
        type_in(&mut app, "\u{1b}k\n");
        let shown = screen(&mut app, 120, 30);
        assert!(
            shown.contains("half a thou") && shown.contains("R begins again"),
            "{shown}"
        );
        type_in(&mut app, "R");
        assert!(!screen(&mut app, 120, 30).contains("half a thou"));
        // What is empty again is nothing to keep.
        type_in(&mut app, "\u{1b}");
        assert!(app.drafts.forms.is_empty());
    }

    #[test]
    fn what_was_sent_is_no_draft_and_what_was_typed_after_it_is() {
        let mut app = app();
        ready(&mut app);
        typed(&mut app, "sent");
        app.on(key(KeyCode::F(2)));
        type_in(&mut app, "\u{1b}\u{1b}");
        assert!(app.detail().is_none() && app.drafts.forms.is_empty());
        typed(&mut app, " and more");
        type_in(&mut app, "\u{1b}\u{1b}");
        assert_eq!(app.drafts.forms.len(), 1);
    }

    #[test]
    fn a_tool_that_has_changed_gets_what_was_typed_into_its_new_form() {
        let mut app = app();
        ready(&mut app);
        typed(&mut app, "kept");
        type_in(&mut app, "\u{1b}\u{1b}");
        let mut tools = some_tools("notes");
        let schema = r#"{"type":"object","properties":{"query":{"type":"string"},"added":{"type":"string"}}}"#;
        tools[0].entry.input_schema = Some(Json::parse(schema).unwrap());
        list_tools(&mut app, tools, vec![answer("notes", Outcome::Ok)]);
        type_in(&mut app, "\n");
        let shown = screen(&mut app, 120, 30);
        assert!(shown.contains("kept") && shown.contains("added"), "{shown}");
    }

    #[test]
    fn only_so_many_forms_are_kept() {
        let mut app = app();
        ready(&mut app);
        for number in 0..=MOST_FORMS {
            let target = FormTarget::Template {
                server: "notes".to_owned(),
                uri_template: format!("note://{number}/{{x}}"),
            };
            let form = std::sync::Arc::new(attache_view::form::Form::empty());
            let editor = crate::editor::FormEditor::new(form, None, Default::default());
            app.drafts
                .keep_form(Box::new(FormSession { editor, target }));
        }
        assert_eq!(app.drafts.forms.len(), MOST_FORMS);
        assert_eq!(app.drafts.forms[0].target.name(), "note://1/{x}");
    }

    const ASKS: &str = r#"{"elicit_form":{"message":"Who are you?","requestedSchema":{"type":"object",
        "properties":{"name":{"type":"string"}},"required":["name"]}}}"#;

    fn asked(app: &mut App, id: u64) {
        let kind: QuestionKind = serde_json::from_str(ASKS).unwrap();
        app.snapshot.questions.push_back(Arc::new(Question {
            id,
            since_ms: 0,
            request: None,
            server: "notes".parse().unwrap(),
            who: Answerer::Person,
            kind,
        }));
    }

    #[test]
    fn an_answer_that_is_refused_comes_back_with_what_was_typed() {
        let mut app = app();
        ready(&mut app);
        asked(&mut app, 7);
        app.perform(Act::OpenQuestion(7));
        type_in(&mut app, "\nAda");
        app.on(key(KeyCode::F(2)));
        let effects = app.take_effects();
        let is_sent = effects.iter().any(|it| matches!(it, Effect::Answer(7, _)));
        assert!(is_sent && app.overlays.is_empty(), "{effects:?}");
        // Something else about the call does not ask again meanwhile.
        app.questions_changed();
        assert!(app.overlays.is_empty());
        app.on(Message::NotAnswered {
            question: 7,
            problem: "not today".to_owned(),
        });
        let shown = screen(&mut app, 120, 30);
        assert!(
            shown.contains("Ada") && shown.contains("not today"),
            "{shown}"
        );
        // Put off, it comes back by the inbox.
        type_in(&mut app, "\u{1b}");
        assert!(app.overlays.is_empty() && app.drafts.has_dialog(7));
        app.perform(Act::OpenQuestion(7));
        assert!(screen(&mut app, 120, 30).contains("Ada"));
        type_in(&mut app, "\u{1b}");
        app.close_question(7);
        assert!(!app.drafts.has_dialog(7));
    }

    #[test]
    fn questions_that_were_closed_unseen_are_forgotten() {
        let mut app = app();
        ready(&mut app);
        asked(&mut app, 7);
        app.perform(Act::OpenQuestion(7));
        asked(&mut app, 8);
        app.perform(Act::OpenQuestion(8));
        type_in(&mut app, "\u{1b}");
        let mut snapshot = app.snapshot.clone();
        snapshot.questions.clear();
        app.on(Message::Resynced(Box::new(snapshot)));
        assert!(app.overlays.is_empty() && !app.drafts.has_dialog(8));
    }

    #[test]
    fn questions_end_with_the_host_that_asked_them() {
        let mut app = app();
        ready(&mut app);
        asked(&mut app, 7);
        app.perform(Act::OpenQuestion(7));
        app.on(Message::HostEnded);
        let shown = screen(&mut app, 120, 30);
        assert!(app.overlays.is_empty(), "{shown}");
        assert!(!shown.contains("1 question"), "{shown}");
    }
}
