//! What is open beside a list: a form, a request and its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use attache::protocol::{CompletionReference, Json, Payload, Tool};
use attache_view::form::Form;

use super::{App, Tab};
use crate::answer::AnswerView;
use crate::component::{Component, Outcome};
use crate::editor::{EditorOptions, FormEditor};
use crate::jobs::JobState;
use crate::message::{CompleteWith, Effect, JobId, Work};
use crate::panes::calls::CallKey;
use crate::panes::catalog::Row as _;
use crate::panes::rows::{ResourceKind, TextField, text_form, texts};
use crate::template;

/// Something that is open.
#[derive(Debug)]
pub(crate) enum Detail {
    Form(Box<FormSession>),
    /// A request of this session.
    Job(JobId),
    /// A call of the log.
    Past(u64),
    /// JSON to be looked at, with a title.
    View(String, Box<AnswerView>),
}

/// A form and what it is for.
#[derive(Debug)]
pub(crate) struct FormSession {
    pub(crate) editor: FormEditor,
    pub(crate) target: FormTarget,
}

/// What a form is for.
#[derive(Clone, Debug)]
pub(crate) enum FormTarget {
    Tool {
        server: String,
        tool: Arc<Tool>,
    },
    Template {
        server: String,
        uri_template: String,
    },
    Prompt {
        server: String,
        name: String,
        /// What its form consists of.
        fields: Vec<TextField>,
    },
}

/// A kind of target, its server and its name.
pub(crate) type FormKey = (&'static str, String, String);

impl FormTarget {
    pub(crate) fn server(&self) -> &str {
        match self {
            Self::Tool { server, .. }
            | Self::Template { server, .. }
            | Self::Prompt { server, .. } => server,
        }
    }

    /// What it is about, as the server names it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Tool { tool, .. } => &tool.name,
            Self::Template { uri_template, .. } => uri_template,
            Self::Prompt { name, .. } => name,
        }
    }

    /// What tells it from others: a tool and a prompt may have one name.
    pub(super) fn key(&self) -> FormKey {
        let kind = match self {
            Self::Tool { .. } => "tool",
            Self::Template { .. } => "template",
            Self::Prompt { .. } => "prompt",
        };
        (kind, self.server().to_owned(), self.name().to_owned())
    }

    /// Whether the form of another is the same. A template's is made of its address.
    pub(super) fn has_same_form(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tool { tool: one, .. }, Self::Tool { tool: other, .. }) => {
                one.input_schema == other.input_schema
            }
            (Self::Prompt { fields: one, .. }, Self::Prompt { fields: other, .. }) => one == other,
            (Self::Template { .. }, Self::Template { .. }) => true,
            _ => false,
        }
    }
}

/// The members of an object, each as it is written.
fn members(object: Option<&Json>) -> Vec<(String, Json)> {
    let members: Option<BTreeMap<String, Json>> = object.and_then(|object| object.decode().ok());
    members.unwrap_or_default().into_iter().collect()
}

impl App {
    pub(super) fn detail(&self) -> Option<&Detail> {
        self.details[self.tab as usize].last()
    }

    pub(super) fn detail_mut(&mut self) -> Option<&mut Detail> {
        self.details[self.tab as usize].last_mut()
    }

    pub(super) fn open_detail(&mut self, detail: Detail) {
        self.details[self.tab as usize].push(detail);
        self.focus = super::Focus::Detail;
    }

    /// Closes what is open on top; false if nothing is.
    pub(super) fn close_detail(&mut self) -> bool {
        let stack = &mut self.details[self.tab as usize];
        let closed = stack.pop();
        if stack.is_empty() {
            self.focus = super::Focus::List;
        }
        let was_open = closed.is_some();
        if let Some(closed) = closed {
            self.let_go(closed);
        }
        was_open
    }

    /// The request that the person looks at: in the tab of specs the command that runs.
    pub(super) fn shown_job(&self) -> Option<JobId> {
        if self.tab == Tab::Specs {
            let of_specs = self.jobs.running().filter(|job| job.tag.is_some());
            return of_specs.last().map(|job| job.id);
        }
        match self.detail() {
            Some(Detail::Job(id)) => Some(*id),
            _ => None,
        }
    }

    /// The component that is open.
    pub(super) fn component(&mut self) -> Option<&mut dyn Component> {
        if self.tab == Tab::Specs {
            return Some(&mut self.specs);
        }
        let waker = self.waker.clone();
        match self.details[self.tab as usize].last_mut()? {
            Detail::Form(session) => Some(&mut session.editor),
            Detail::View(_, view) => Some(view.as_mut()),
            Detail::Job(id) => {
                let view = self.jobs.get_mut(*id)?.view(&waker)?;
                Some(view)
            }
            Detail::Past(number) => {
                let view = self.calls.past_mut(*number)?.view(&waker)?;
                Some(view)
            }
        }
    }

    pub(super) fn is_detail_moving(&self) -> bool {
        match self.detail() {
            Some(Detail::Form(session)) => session.editor.is_moving(),
            Some(Detail::View(_, view)) => view.is_moving(),
            Some(Detail::Job(id)) => {
                let view = self.jobs.get(*id).and_then(|job| job.view.as_ref());
                view.is_some_and(Component::is_moving)
            }
            Some(Detail::Past(_)) | None => false,
        }
    }

    /// A component's thread has finished something: all that could be meant are asked.
    pub(super) fn poll_components(&mut self) {
        let mut outcomes = vec![self.specs.poll()];
        for detail in self.details.iter_mut().flatten() {
            match detail {
                Detail::Form(session) => outcomes.push(session.editor.poll()),
                Detail::View(_, view) => outcomes.push(view.poll()),
                Detail::Job(_) | Detail::Past(_) => {}
            }
        }
        let views = self.jobs.all_mut().filter_map(|job| job.view.as_mut());
        outcomes.extend(views.map(Component::poll));
        for overlay in &mut self.overlays {
            if let super::Overlay::Question(dialog) = overlay {
                outcomes.push(dialog.poll());
            }
        }
        for outcome in outcomes {
            if let Outcome::Request(request) = outcome {
                self.on_request(request);
            }
        }
    }

    /// Opens the form of the selected entry, or what it stands for.
    pub(super) fn open_selected(&mut self) {
        match self.tab {
            Tab::Tools => {
                let Some(row) = self.tools.selected() else {
                    return;
                };
                let (server, tool) = (row.server().to_owned(), row.tool.clone());
                self.open_tool(server, tool);
            }
            Tab::Resources => self.open_resource(),
            Tab::Prompts => {
                let Some(row) = self.prompts.selected() else {
                    return;
                };
                let (server, prompt) = (row.server().to_owned(), row.prompt.clone());
                let arguments = prompt.arguments.as_deref().unwrap_or_default();
                let fields: Vec<TextField> = arguments
                    .iter()
                    .map(|argument| TextField {
                        name: argument.name.clone(),
                        title: argument.title.clone(),
                        description: argument.description.clone(),
                        is_required: argument.required,
                    })
                    .collect();
                let name = prompt.name.clone();
                if fields.is_empty() {
                    let arguments = Vec::new();
                    let work = Work::Prompt {
                        server,
                        name,
                        arguments,
                    };
                    let id = self.begin(work, true);
                    return self.open_detail(Detail::Job(id));
                }
                let target = FormTarget::Prompt {
                    server,
                    name,
                    fields: fields.clone(),
                };
                self.open_texts(target, &fields, "get");
            }
            Tab::Calls => match self.calls.selected() {
                Some(CallKey::Job(id)) => self.open_detail(Detail::Job(id)),
                Some(CallKey::Past(number)) => self.open_detail(Detail::Past(number)),
                None => {}
            },
            Tab::Activity => {
                let Some(operation) = self.activity.selected() else {
                    return;
                };
                let messages: Vec<Json> = operation
                    .messages
                    .iter()
                    .filter_map(|message| Json::parse(&message.text()).ok())
                    .collect();
                let title = operation.title();
                self.open_json(title, &messages);
            }
            Tab::Log | Tab::Specs => {}
        }
    }

    /// Opens JSON as a tree.
    pub(super) fn open_json(&mut self, title: String, messages: &[Json]) {
        let structured = match messages {
            [one] => Some(one.clone()),
            several => Json::from_serialize(several).ok(),
        };
        let raw = structured.clone().map_or(Payload::EMPTY, Into::into);
        let result: Option<attache::protocol::CallToolResult> =
            serde_json::from_str(r#"{"content":[]}"#).ok();
        let Some(mut result) = result else { return };
        result.structured_content = structured;
        let document = attache_view::document::Document::of_call(&result, None);
        let view = AnswerView::new(Arc::new(document), raw, self.waker.clone());
        self.open_detail(Detail::View(title, Box::new(view)));
    }

    pub(super) fn open_tool(&mut self, server: String, tool: Arc<Tool>) {
        let form = Arc::new(Form::of_tool(&tool));
        let target = FormTarget::Tool { server, tool };
        let options = EditorOptions {
            has_call_options: true,
            can_complete: false,
            verb: "run",
        };
        self.open_form(target, |initial| {
            FormEditor::new(form.clone(), initial, options.clone())
        });
    }

    fn open_texts(&mut self, target: FormTarget, fields: &[TextField], verb: &'static str) {
        let form = Arc::new(Form::new(&text_form(fields)));
        let options = EditorOptions {
            has_call_options: false,
            can_complete: true,
            verb,
        };
        self.open_form(target, |initial| {
            FormEditor::new(form.clone(), initial, options.clone())
        });
    }

    /// Opens a form as it was left, or with what was sent last, or empty.
    fn open_form(
        &mut self,
        target: FormTarget,
        editor: impl Fn(Option<attache_view::Value>) -> FormEditor,
    ) {
        if !self.reopen(&target, &editor) {
            let editor = editor(self.jobs.entered.get(&target.key()).cloned());
            self.open_detail(Detail::Form(Box::new(FormSession { editor, target })));
        }
    }

    fn open_resource(&mut self) {
        let Some(row) = self.resources.selected() else {
            return;
        };
        let server = row.server().to_owned();
        match row.kind.clone() {
            ResourceKind::Resource { uri } => {
                let id = self.begin(Work::Read { server, uri }, true);
                self.open_detail(Detail::Job(id));
            }
            ResourceKind::Template { uri_template } => {
                let fields = template::variables(&uri_template).into_iter();
                let fields = fields.map(|name| TextField {
                    name,
                    is_required: true,
                    ..TextField::default()
                });
                let fields: Vec<TextField> = fields.collect();
                let target = FormTarget::Template {
                    server,
                    uri_template,
                };
                self.open_texts(target, &fields, "read");
            }
        }
    }

    /// The form that is open is sent.
    pub(super) fn submit_form(&mut self) {
        let Some(Detail::Form(session)) = self.detail_mut() else {
            return;
        };
        let submission = session.editor.submission();
        let target = session.target.clone();
        let keepable = session.editor.keepable();
        session.editor.was_sent();
        if let Some(value) = keepable {
            self.jobs.entered.insert(target.key(), value);
        }
        let (work, is_harmless) = match target {
            FormTarget::Tool { server, tool } => {
                let annotations = tool.annotations.as_ref();
                let is_harmless = annotations.and_then(|it| it.read_only).unwrap_or(false);
                let empty = || Json::parse("{}").unwrap_or_default();
                let work = Work::Call {
                    server,
                    tool: tool.name.clone(),
                    arguments: submission.value.unwrap_or_else(empty),
                    timeout: submission.timeout,
                    meta: members(submission.meta.as_ref()),
                    as_task: submission.as_task,
                    output_schema: tool.output_schema.clone(),
                };
                (work, is_harmless)
            }
            FormTarget::Template {
                server,
                uri_template,
            } => {
                let values: BTreeMap<String, String> =
                    texts(submission.value.as_ref()).into_iter().collect();
                let uri = template::expand(&uri_template, &values);
                (Work::Read { server, uri }, true)
            }
            FormTarget::Prompt { server, name, .. } => {
                let arguments = texts(submission.value.as_ref());
                let work = Work::Prompt {
                    server,
                    name,
                    arguments,
                };
                (work, true)
            }
        };
        let id = self.begin(work, is_harmless);
        self.open_detail(Detail::Job(id));
    }

    /// Asks for completions of what is typed into the open form.
    pub(super) fn complete(&mut self, question: crate::component::Completion) {
        let Some(Detail::Form(session)) = self.detail() else {
            return;
        };
        let reference = match &session.target {
            FormTarget::Prompt { name, .. } => CompletionReference::Prompt {
                name: name.clone(),
                title: None,
            },
            FormTarget::Template { uri_template, .. } => CompletionReference::Resource {
                uri: uri_template.clone(),
            },
            FormTarget::Tool { .. } => return,
        };
        let server = session.target.server().to_owned();
        self.effects.push(Effect::Complete(Box::new(CompleteWith {
            server,
            reference,
            question,
        })));
    }

    pub(super) fn on_completions(&mut self, serial: u64, values: &[String]) {
        for detail in self.details.iter_mut().flatten() {
            if let Detail::Form(session) = detail {
                session.editor.completions(serial, values.to_vec());
            }
        }
    }

    /// The server that what is open belongs to.
    pub(super) fn detail_server(&self) -> Option<String> {
        match self.detail()? {
            Detail::Form(session) => Some(session.target.server().to_owned()),
            Detail::Job(id) => Some(self.jobs.get(*id)?.work.server().to_owned()),
            Detail::Past(number) => {
                let began = self.calls.past(*number)?.record.began.as_ref()?;
                began.server.clone()
            }
            Detail::View(..) => None,
        }
    }

    /// The request that keys such as cancel mean: what is open, what is selected, or the last one
    /// that runs.
    pub(super) fn focused_job(&self) -> Option<JobId> {
        let is_running = |id: &JobId| {
            let job = self.jobs.get(*id);
            job.is_some_and(|job| matches!(job.state, JobState::Running(_)))
        };
        let selected = match (self.tab, self.calls.selected()) {
            (Tab::Calls, Some(CallKey::Job(id))) => Some(id),
            _ => None,
        };
        let last = || self.jobs.running().last().map(|job| job.id);
        self.shown_job()
            .filter(is_running)
            .or(selected.filter(is_running))
            .or_else(last)
    }
}
