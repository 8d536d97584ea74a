//! Commands of the workflow: chosen, started, cancelled, tried again.

use attache::protocol::Json;
use attache_speckit::{Command, next_number, short_name};

use super::menu::{Chosen, Field, Menu, Popup};
use super::run::{Run, Source, State};
use super::{SpecsPane, notice};
use crate::component::{Notice, Outcome, Request, ToolCall};

impl SpecsPane {
    pub(super) fn open_menu(&mut self) {
        let offer = self.offers.get(self.chosen);
        let server = offer.map(|it| (it.server.clone(), self.offers.len()));
        let hindrance = match (&self.run, offer) {
            (Some(run), _) if run.is_running() => Some("a command runs; x cancels it"),
            (_, None) => Some("no server offers speckit.* tools"),
            _ => None,
        };
        let offers = offer.map_or(&[][..], |it| &it.commands);
        self.popup = Some(Popup::Run(Menu::new(
            self.spec(),
            server,
            offers,
            hindrance,
        )));
    }

    pub(super) fn new_spec(&mut self) -> Outcome {
        let can = self
            .offers
            .get(self.chosen)
            .is_some_and(|it| it.commands.contains(&Command::Specify));
        let is_busy = self.run.as_ref().is_some_and(Run::is_running);
        match (can, is_busy) {
            (false, _) => notice(Notice::warning(
                "no server offers speckit.specify; `attache config add speckit -- attache serve \
                 speckit` adds one",
            )),
            (true, true) => notice(Notice::warning("a command runs; x cancels it")),
            (true, false) => {
                self.popup = Some(Popup::New {
                    description: Field::default(),
                    name: None,
                });
                Outcome::Used
            }
        }
    }

    pub(super) fn on_chosen(&mut self, chosen: Chosen) -> Outcome {
        match chosen {
            Chosen::Nothing => {}
            Chosen::Left => self.popup = None,
            Chosen::NextServer => {
                self.chosen = (self.chosen + 1) % self.offers.len().max(1);
                self.open_menu();
            }
            Chosen::Command(Command::Specify) => {
                self.popup = Some(Popup::Describe(Field::default()));
            }
            Chosen::Some => self.popup = Some(Popup::Filter(Field::default())),
            Chosen::Command(command) => {
                self.popup = None;
                return self.start_selected(command, Vec::new());
            }
            Chosen::Filled => return self.filled(),
        }
        Outcome::Used
    }

    /// A field of a popup is filled in.
    pub(super) fn filled(&mut self) -> Outcome {
        match self.popup.take() {
            Some(Popup::New {
                description,
                name: None,
            }) => {
                let is_empty = description.text().trim().is_empty();
                let name = (!is_empty).then(|| {
                    let number = next_number(&self.specs);
                    Field::with(format!("{number:03}-{}", short_name(description.text())))
                });
                self.popup = Some(Popup::New { description, name });
                Outcome::Used
            }
            Some(Popup::New {
                description,
                name: Some(name),
            }) => {
                let folder = self.files.specs_directory();
                let spec = format!("{folder}/{}", name.text().trim());
                let more = vec![("feature_description", description.text().to_owned())];
                self.wanted = Some(spec.clone());
                self.start(Command::Specify, spec, more)
            }
            Some(Popup::Describe(field)) if field.text().trim().is_empty() => {
                self.popup = Some(Popup::Describe(field));
                Outcome::Used
            }
            Some(Popup::Describe(field)) => {
                let more = vec![("feature_description", field.text().to_owned())];
                self.start_selected(Command::Specify, more)
            }
            Some(Popup::Filter(field)) => {
                let more = vec![("task_filter", field.text().to_owned())];
                self.start_selected(Command::Implement, more)
            }
            Some(Popup::Run(_)) | None => Outcome::Used,
        }
    }

    pub(super) fn start_selected(
        &mut self,
        command: Command,
        more: Vec<(&str, String)>,
    ) -> Outcome {
        match self.spec().map(|it| it.shown.clone()) {
            Some(spec) => self.start(command, spec, more),
            None => Outcome::Used,
        }
    }

    pub(super) fn start(
        &mut self,
        command: Command,
        spec: String,
        more: Vec<(&str, String)>,
    ) -> Outcome {
        let (Some(offer), Some(root)) = (self.offers.get(self.chosen), &self.root) else {
            return Outcome::Used;
        };
        let folder = root.join(&spec).display().to_string();
        let mut arguments = serde_json::Map::new();
        for (name, text) in more.into_iter().chain([("spec_directory", folder)]) {
            arguments.insert(name.to_owned(), text.into());
        }
        let call = ToolCall {
            tag: self.last_tag,
            server: offer.server.clone(),
            tool: command.tool().to_owned(),
            arguments: Json::from(serde_json::Value::Object(arguments)),
        };
        self.begin(command, spec, call)
    }

    pub(super) fn begin(&mut self, command: Command, spec: String, mut call: ToolCall) -> Outcome {
        self.last_tag += 1;
        call.tag = self.last_tag;
        let line = format!("{} {spec} on {}", command.word(), call.server);
        self.output.add(Source::Pane, &line);
        self.output.behind = 0;
        self.run = Some(Run::new(command, spec, call.clone()));
        Outcome::Request(Request::Call(call))
    }

    pub(super) fn cancel(&mut self) -> Outcome {
        match &mut self.run {
            Some(run) if run.is_running() => {
                run.state = State::Cancelling;
                Outcome::Request(Request::Cancel { tag: run.call.tag })
            }
            _ => Outcome::Ignored,
        }
    }

    pub(super) fn retry(&mut self) -> Outcome {
        let again = self.run.as_ref().filter(|run| {
            matches!(
                run.state,
                State::Failed { can_retry: true } | State::Cancelled
            )
        });
        match again.map(|run| (run.command, run.spec.clone(), run.call.clone())) {
            Some((command, spec, call)) => self.begin(command, spec, call),
            None => notice(Notice::warning("there is nothing to try again")),
        }
    }
}
