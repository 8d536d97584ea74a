//! The one table of keys.
//!
//! Every action stands here once with its name, its keys, where they are in force and a line of
//! help. The help overlay, the hint line, the overrides of the configuration and the documentation
//! are made of this table, and a test fails if one key means two things in one context.

mod chord;
mod map;

pub use self::chord::Chord;
pub use self::map::{KeyMap, KeyProblem};

/// Where keys are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// A text is being typed: plain characters are text and mean nothing else.
    Text,
    /// Everywhere.
    Global,
    /// In everything that has lines to move over.
    Move,
    /// The list of servers.
    Servers,
    /// The tab of tools.
    Tools,
    /// The tab of resources.
    Resources,
    /// The tab of prompts.
    Prompts,
    /// The tab of calls, and the strip of running ones.
    Calls,
    /// The tab of messages.
    Activity,
    /// The tab of logs.
    Log,
    /// The tab of specs.
    Specs,
    /// A form, while no text of it is being typed.
    Form,
    /// A form or JSON text that is being filled in, whether or not a text is being typed.
    Editor,
    /// A list to choose from, with a filter that is typed.
    Picker,
    /// An answer.
    Answer,
    /// A question that waits for the person.
    Dialog,
    /// The line in which a filter or a search is typed.
    Filter,
}

impl Context {
    /// The name in help and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Global => "everywhere",
            Self::Move => "lists",
            Self::Servers => "servers",
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
            Self::Calls => "calls",
            Self::Activity => "activity",
            Self::Log => "log",
            Self::Specs => "specs",
            Self::Form => "form",
            Self::Editor => "editor",
            Self::Picker => "picker",
            Self::Answer => "answer",
            Self::Dialog => "question",
            Self::Filter => "filter",
        }
    }
}

/// One action, with its row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What it does.
    pub action: Action,
    /// Its name in the configuration.
    pub name: &'static str,
    /// Where it is in force.
    pub context: Context,
    /// Its keys, the one that hints name first.
    pub keys: &'static [&'static str],
    /// What it does, in a few words.
    pub help: &'static str,
}

macro_rules! actions {
    ($($context:ident { $($action:ident $name:literal [$($key:literal),*] $help:literal;)* })*) => {
        /// What a key can mean.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[doc = $help] $action,)*)*
        }

        /// Every action with its default keys.
        pub const TABLE: &[Binding] = &[
            $($(Binding {
                action: Action::$action,
                name: $name,
                context: Context::$context,
                keys: &[$($key),*],
                help: $help,
            },)*)*
        ];
    };
}

// An action belongs to one context. The same key may stand in several: the innermost wins.
actions! {
    Global {
        Back "back" ["esc"] "back; never quits";
        NextPane "next-pane" ["tab"] "next pane";
        PreviousPane "previous-pane" ["shift-tab"] "previous pane";
        TabTools "tab-tools" ["1"] "tools";
        TabResources "tab-resources" ["2"] "resources";
        TabPrompts "tab-prompts" ["3"] "prompts";
        TabCalls "tab-calls" ["4"] "calls";
        TabActivity "tab-activity" ["5"] "activity";
        TabLog "tab-log" ["6"] "log";
        TabSpecs "tab-specs" ["7"] "specs";
        Servers "servers" ["0"] "go to the servers";
        Palette "palette" [":", "ctrl-p"] "go to anything";
        Inbox "inbox" ["a"] "open questions";
        Help "help" ["?", "f1"] "help";
        Zoom "zoom" ["z"] "zoom the pane";
        Mouse "mouse" ["m"] "mouse on or off; off lets the terminal select";
        Redraw "redraw" ["ctrl-l"] "draw the screen again";
        Suspend "suspend" ["ctrl-z"] "suspend";
        Interrupt "interrupt" ["ctrl-c"] "cancel the focused call; twice within a second leaves";
        Quit "quit" ["q"] "quit; asks while calls run";
    }
    Move {
        Up "up" ["k", "up"] "up";
        Down "down" ["j", "down"] "down";
        Left "left" ["h", "left"] "left";
        Right "right" ["l", "right"] "right";
        Top "top" ["g", "home"] "to the beginning";
        Bottom "bottom" ["G", "end"] "to the end";
        PageUp "page-up" ["pageup", "ctrl-b"] "a page up";
        PageDown "page-down" ["pagedown", "ctrl-f"] "a page down";
        HalfUp "half-up" ["ctrl-u"] "half a page up";
        HalfDown "half-down" ["ctrl-d"] "half a page down";
        Open "open" ["enter"] "open";
        Filter "filter" ["/"] "filter";
        NextMatch "next-match" ["n"] "next match";
        PreviousMatch "previous-match" ["N"] "previous match";
        Copy "copy" ["y"] "copy";
    }
    Servers {
        StartStop "start-stop" ["S"] "start or stop";
        Restart "restart" ["R"] "restart";
        LogLevel "log-level" ["L"] "set the log level";
        Login "login" ["A"] "login state, and how to log in";
        Enable "enable" ["E"] "switch on or off";
        Details "details" ["d"] "details of the failure";
        Trust "trust" ["T"] "show the command and decide about trust";
    }
    Tools {
        Pin "pin" ["p"] "pin, and what changed since";
        Reload "reload" ["R"] "ask the servers again";
    }
    Resources {
        Watch "watch" ["w"] "watch for changes";
    }
    Prompts {
    }
    Calls {
        Cancel "cancel" ["x"] "cancel";
        Again "again" ["r"] "run again";
        Mark "mark" ["space"] "mark";
        Compare "compare" ["="] "compare the two marked";
    }
    Activity {
        PauseActivity "pause-activity" ["space"] "pause or go on";
        FollowActivity "follow-activity" ["f"] "follow the newest";
    }
    Log {
        PauseLog "pause-log" ["space"] "pause or go on";
        FollowLog "follow-log" ["f"] "follow the newest";
        LogLevelFilter "log-filter" ["+"] "show fewer or more levels";
        ServerOnly "server-only" ["o"] "this server or all";
    }
    Editor {
        Submit "submit" ["f2", "ctrl-enter", "ctrl-j"] "run";
        SendAsIs "send-as-is" ["ctrl-x"] "send although it does not fit";
        ExternalEditor "external-editor" ["ctrl-e"] "edit in $EDITOR";
        JsonView "json-view" ["ctrl-t"] "form or JSON";
        CallOptions "call-options" ["ctrl-o"] "time-out, metadata, as task";
        NextField "next-field" ["tab"] "next field";
        PreviousField "previous-field" ["shift-tab"] "previous field";
        Complete "complete" ["ctrl-n"] "complete; next example";
        Undo "undo" ["ctrl-y"] "undo";
    }
    Form {
        JsonBeside "json" ["e"] "raw JSON";
        Toggle "toggle" ["space"] "switch or unfold";
        AddItem "add-item" ["+"] "add an item or member";
        DeleteItem "delete-item" ["-", "delete"] "delete the item";
        MoveItemUp "move-item-up" ["K", "alt-up"] "move the item up";
        MoveItemDown "move-item-down" ["J", "alt-down"] "move the item down";
        DuplicateItem "duplicate-item" ["D"] "duplicate the item";
        Unset "unset" ["u", "backspace"] "leave out";
        SetNull "set-null" ["0"] "null";
        Example "example" ["x"] "default or next example";
        Reset "reset" ["R"] "begin again; a form that you leave is kept until you quit";
    }
    Picker {
        PickUp "pick-up" ["up", "ctrl-p"] "up";
        PickDown "pick-down" ["down", "ctrl-n"] "down";
        PickPageUp "pick-page-up" ["pageup"] "a page up";
        PickPageDown "pick-page-down" ["pagedown"] "a page down";
        Pick "pick" ["enter"] "choose";
    }
    Answer {
        ViewAs "view-as" ["v"] "view as text, Markdown, tree, table, hex";
        Save "save" ["s"] "save to a file";
        OpenOutside "open-outside" ["o"] "open in the pager or the system's program";
        Wrap "wrap" ["W"] "wrap long lines or not";
        Sort "sort" ["S"] "sort by the column";
        NextBlock "next-block" ["]"] "next block";
        PreviousBlock "previous-block" ["["] "previous block";
    }
    Dialog {
        NextChoice "next-choice" ["tab"] "next";
        PreviousChoice "previous-choice" ["shift-tab"] "previous";
        SendAnswer "send-answer" ["f2", "ctrl-enter", "ctrl-j"] "send the answer";
        Later "later" ["esc"] "leave it open for later";
    }
    Filter {
        FilterDone "filter-done" ["enter"] "keep the filter";
        FilterClear "filter-clear" ["esc"] "drop the filter";
        FilterUp "filter-up" ["up", "ctrl-p"] "up";
        FilterDown "filter-down" ["down", "ctrl-n"] "down";
    }
    Specs {
        SpecNew "spec-new" ["n"] "new spec";
        SpecRun "spec-run" ["r"] "run a command";
        SpecEdit "spec-edit" ["e"] "edit the document";
        SpecView "spec-view" ["v"] "view the document";
        SpecSave "spec-save" ["ctrl-s"] "save the document";
        SpecCancel "spec-cancel" ["x", "c"] "cancel what runs";
        SpecRetry "spec-retry" ["R"] "try again";
    }
}

impl Action {
    /// Its row of the table.
    pub fn binding(self) -> Option<&'static Binding> {
        TABLE.iter().find(|binding| binding.action == self)
    }
}

/// The whole table as Markdown, for the documentation.
pub fn markdown() -> String {
    let mut page = String::new();
    let mut context = None;
    for binding in TABLE {
        if context != Some(binding.context) {
            context = Some(binding.context);
            let name = binding.context.name();
            page.push_str(&format!(
                "\n### {name}\n\n| Key | Does | Name |\n|---|---|---|\n"
            ));
        }
        let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{key}`")).collect();
        let (help, name) = (binding.help, binding.name);
        page.push_str(&format!("| {} | {help} | `{name}` |\n", keys.join(" ")));
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::*;

    #[test]
    fn the_documentation_has_the_table() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ui.md");
        let page = std::fs::read_to_string(file).unwrap();
        assert!(
            page.ends_with(&markdown()),
            "the keys in docs/ui.md are out of date; to print them anew:\n\
             cargo run -p attache-tui --example keys"
        );
    }

    fn event(text: &str) -> KeyEvent {
        let chord = Chord::parse(text).unwrap();
        KeyEvent::new(chord.code, chord.modifiers)
    }

    #[test]
    fn no_key_means_two_things_in_one_context() {
        let mut seen = HashMap::new();
        for binding in TABLE {
            for key in binding.keys {
                let chord = Chord::parse(key).unwrap_or_else(|| panic!("{key} is no key"));
                if let Some(other) = seen.insert((binding.context, chord), binding.name) {
                    panic!(
                        "{key} means {other} and {} in {:?}",
                        binding.name, binding.context
                    );
                }
            }
        }
    }

    #[test]
    fn every_action_has_one_name_and_can_be_written_down() {
        let mut names = std::collections::HashSet::new();
        for binding in TABLE {
            assert!(names.insert(binding.name), "{} stands twice", binding.name);
            assert!(!binding.help.is_empty());
            for key in binding.keys {
                assert_eq!(Chord::parse(key).unwrap().to_string(), *key);
            }
        }
    }

    #[test]
    fn typed_characters_are_text_and_commands_still_work() {
        let keys = KeyMap::default();
        let typing = [Context::Text, Context::Editor, Context::Global];
        assert_eq!(keys.action(&typing, event("q")), None);
        assert_eq!(keys.action(&typing, event("f2")), Some(Action::Submit));
        assert_eq!(
            keys.action(&typing, event("ctrl-c")),
            Some(Action::Interrupt)
        );
        assert_eq!(
            keys.action(&[Context::Global], event("q")),
            Some(Action::Quit)
        );
        let shifted = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(
            keys.action(&[Context::Global], shifted),
            Some(Action::PreviousPane)
        );
    }

    #[test]
    fn overrides_replace_defaults_and_say_what_is_wrong() {
        let written = |name: &str, keys: &[&str]| {
            (
                name.to_owned(),
                keys.iter().map(|key| (*key).to_owned()).collect(),
            )
        };
        let (keys, problems) = KeyMap::new(&[
            written("quit", &["Q"]),
            written("help", &["q"]),
            written("fly", &["f"]),
            written("zoom", &["hyper-z"]),
            written("mouse", &["Q"]),
        ]);
        let global = [Context::Global];
        assert_eq!(keys.action(&global, event("Q")), Some(Action::Quit));
        assert_eq!(keys.action(&global, event("q")), Some(Action::Help));
        assert_eq!(keys.action(&global, event("z")), Some(Action::Zoom));
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("\"fly\""), "{said:?}");
    }
}
