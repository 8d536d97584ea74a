//! `attache __complete`: what the word being typed could become.
//!
//! Reads the table of arguments, the configuration file and the manifests of servers; starts
//! nothing and waits for nothing. Names that would do something to a terminal are left out (S13), as
//! are those that would pass for an option; all others are quoted for the shell (S25).

use std::collections::BTreeSet;
use std::path::PathBuf;

use attache::host::catalog::Listable;
use attache::host::config::{Config, ServerConfig};
use attache::host::manifest::remembered;
use attache::host::manifest_folder;
use attache::host::names::{Directory, ToolName};
use attache::protocol::Resource;
use clap::{Arg, Command, CommandFactory as _};

use super::{AnyVerb, Context, Verb};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::safe_text;
use crate::selection;

/// What the shell scripts ask: the words typed so far, the last one unfinished
#[derive(Debug, clap::Args)]
pub(crate) struct Complete {
    /// For a shell that quotes what it inserts
    #[arg(long)]
    plain: bool,
    #[arg(last = true)]
    words: Vec<String>,
}

impl Verb for Complete {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let Some((current, before)) = self.words.split_last() else {
            return Ok(());
        };
        // Inside quotes of the user's own, ours would mean something else.
        if quoted(current) != *current {
            return Ok(());
        }
        let typed = Typed::read(before, current);
        let configuration = Configuration::new(typed.config.as_ref().map(PathBuf::from))?;
        let known = Known::new(&configuration, &typed);
        let mut answer = String::new();
        for candidate in candidates(&typed, &known) {
            let is_harmless = safe_text::one_line(&candidate) == candidate.as_str()
                && (current.starts_with('-') || !candidate.starts_with('-'));
            if is_harmless && candidate.starts_with(current.as_str()) && !candidate.contains(' ') {
                answer.push_str(&match self.plain {
                    true => candidate,
                    false => quoted(&candidate),
                });
                answer.push('\n');
            }
        }
        context.output.ready_made(&answer)
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

/// A word as bash and zsh read it back, whatever their options: a backslash before every character
/// that could mean something to either. The text is a server's, and users do not look at it twice
/// before they press Enter (S25).
fn quoted(word: &str) -> String {
    let mut quoted = String::with_capacity(word.len());
    for (at, found) in word.char_indices() {
        let is_plain = found.is_alphanumeric()
            || matches!(found, '_' | '-' | '.' | '/' | ':' | ',' | '@' | '%' | '+')
            // Zsh takes `=name` for the path of a program.
            || (found == '=' && at > 0);
        if !is_plain {
            quoted.push('\\');
        }
        quoted.push(found);
    }
    quoted
}

/// The word being typed, and those before it.
pub(crate) struct Typed {
    pub(crate) current: String,
    command: Command,
    /// The verbs so far: one, or two for `config`.
    pub(crate) verbs: Vec<String>,
    pub(crate) positional: Vec<String>,
    /// The option whose value is being typed.
    option: Option<Arg>,
    config: Option<String>,
    server: Option<String>,
    /// The server's command is being typed, which is none of ours.
    is_in_command: bool,
}

impl Typed {
    fn read(words: &[String], current: &str) -> Self {
        let mut root = Invocation::command();
        root.build();
        let mut typed = Self {
            current: current.to_owned(),
            command: root,
            verbs: Vec::new(),
            positional: Vec::new(),
            option: None,
            config: None,
            server: None,
            is_in_command: false,
        };
        for word in words {
            typed.take(word);
        }
        typed
    }

    fn take(&mut self, word: &str) {
        if let Some(option) = self.option.take() {
            match option.get_id().as_str() {
                "config" => self.config = Some(word.to_owned()),
                "server_option" => self.server = Some(word.to_owned()),
                _ => {}
            }
        } else if word == "--" {
            self.is_in_command = true;
        } else if let Some(option) = self.find_option(word) {
            self.option = Some(option).filter(|option| option.get_action().takes_values());
        } else if word.starts_with('-') {
            // An option with its value, or one we do not know.
        } else if let Some(verb) = self.command.find_subcommand(word).cloned() {
            self.command = verb;
            self.verbs.push(word.to_owned());
        } else {
            self.positional.push(word.to_owned());
        }
    }

    /// The server that the name of a tool or prompt begins with.
    fn server_of_entry(&self) -> Option<&str> {
        let name = self.positional.first().unwrap_or(&self.current);
        Some(name.split_once('/')?.0)
    }

    /// Those of a tool's or prompt's keys that have no value yet, each ready to be given one.
    pub(crate) fn keys_without_value<'a>(
        &self,
        keys: impl Iterator<Item = &'a str>,
    ) -> Vec<String> {
        let given = self.positional.iter().skip(1);
        let given = given.map(|word| word.split(['=', ':']).next().unwrap_or(word));
        let given: BTreeSet<&str> = given.collect();
        keys.filter(|key| !given.contains(key))
            .map(|key| format!("{key}="))
            .collect()
    }

    fn find_option(&self, word: &str) -> Option<Arg> {
        let mut options = self.command.get_arguments();
        let is_it = |option: &&Arg| {
            let long = word.strip_prefix("--");
            let short = word.strip_prefix('-').filter(|it| it.chars().count() == 1);
            (long.is_some() && option.get_long() == long)
                || (short.is_some() && option.get_short() == short.and_then(|it| it.chars().next()))
        };
        options.find(is_it).cloned()
    }
}

fn candidates(typed: &Typed, known: &Known) -> Vec<String> {
    let names = |values: Vec<clap::builder::PossibleValue>| -> Vec<String> {
        values.iter().map(|it| it.get_name().to_owned()).collect()
    };
    if typed.is_in_command {
        return Vec::new();
    }
    if let Some(option) = &typed.option {
        return match option.get_id().as_str() {
            "server_option" => known.server_names(&typed.current),
            _ => names(option.get_possible_values()),
        };
    }
    if typed.current.starts_with('-') {
        let options = typed.command.get_arguments();
        let options = options.filter(|option| !option.is_hide_set());
        return options
            .filter_map(|option| Some(format!("--{}", option.get_long()?)))
            .collect();
    }
    if typed.command.has_subcommands() {
        let verbs = typed.command.get_subcommands();
        let verbs = verbs.filter(|verb| !verb.is_hide_set() && typed.positional.is_empty());
        let verbs = verbs.map(|verb| verb.get_name().to_owned());
        // A verb that has verbs of its own may take words as well.
        let words = match (typed.command.get_positionals().next(), typed.verbs.first()) {
            (Some(_), Some(verb)) => AnyVerb::complete(verb, typed, known),
            _ => Vec::new(),
        };
        return verbs.chain(words).collect();
    }
    let argument = typed.command.get_positionals().nth(typed.positional.len());
    let enumerated = names(argument.map(Arg::get_possible_values).unwrap_or_default());
    match (enumerated.is_empty(), typed.verbs.first()) {
        (true, Some(verb)) => AnyVerb::complete(verb, typed, known),
        _ => enumerated,
    }
}

/// The servers, and what is remembered of each.
pub(crate) struct Known {
    servers: Vec<ServerConfig>,
    /// Nothing is configured, so the servers inside this executable are all there are.
    is_unconfigured: bool,
    manifests: Option<PathBuf>,
}

impl Known {
    /// A file that cannot be read knows no servers; this is no place to complain.
    fn new(configuration: &Configuration, typed: &Typed) -> Self {
        let loaded = configuration.load();
        let is_unconfigured = matches!(loaded, Ok(None));
        let config = match loaded {
            Ok(Some(loaded)) => loaded.config().clone(),
            Ok(None) => selection::stand_ins().unwrap_or_default(),
            Err(_) => Config::default(),
        };
        let mut servers: Vec<ServerConfig> = config.servers.into_values().collect();
        let named = typed.server.as_deref();
        let named = named.or_else(|| typed.server_of_entry());
        let is_known = |name: &str| servers.iter().any(|server| server.name.as_str() == name);
        let built_in = named
            .filter(|name| !is_known(name))
            .and_then(selection::built_in);
        if let Some(built_in) = built_in {
            servers = built_in.server().into_iter().collect();
        } else if let Some(only) = &typed.server {
            servers.retain(|server| server.name.as_str() == only);
        }
        Self {
            servers,
            is_unconfigured,
            manifests: configuration.state_folder().map(|it| manifest_folder(&it)),
        }
    }

    /// The servers, where the first word of a verb is one.
    pub(crate) fn servers_at_first(&self, typed: &Typed) -> Vec<String> {
        match typed.positional.is_empty() {
            true => self.server_names(&typed.current),
            false => Vec::new(),
        }
    }

    /// Servers inside this executable are offered beside configured ones only to who has begun to
    /// type their names.
    fn server_names(&self, current: &str) -> Vec<String> {
        let names = self.servers.iter().map(|server| server.name.to_string());
        let mut names: Vec<String> = names.collect();
        if self.is_unconfigured || !current.is_empty() {
            names.extend(selection::built_in_names().map(str::to_owned));
        }
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        let resources = self.entries::<Resource>();
        resources.map(|(_, resource)| resource.uri).collect()
    }

    fn entries<T: Listable>(&self) -> impl Iterator<Item = (ToolName, T)> {
        let folder = self.manifests.as_deref();
        self.servers.iter().flat_map(move |server| {
            let list = folder.and_then(|folder| remembered::<T>(folder, server));
            let entries = list.map(|list| list.entries.items).unwrap_or_default();
            entries.into_iter().map(|entry| {
                let name = ToolName::new(server.name.clone(), entry.own_name());
                (name, entry)
            })
        })
    }

    /// The names of entries: plain ones where they suffice, and all qualified ones. A server of
    /// which nothing is remembered is offered as the beginning of a name.
    pub(crate) fn names<T: Listable>(&self, current: &str) -> Vec<String> {
        let names: Vec<ToolName> = self.entries::<T>().map(|(name, _)| name).collect();
        let directory = Directory::new(names.iter().cloned());
        let plain = names
            .iter()
            .filter(|name| directory.is_unambiguous(&name.tool));
        let plain = plain.map(|name| name.tool.clone());
        let qualified = names.iter().map(ToString::to_string);
        let mut servers = self.server_names(current);
        servers.retain(|server| names.iter().all(|name| name.server.as_str() != server));
        let unknown = servers.into_iter().map(|server| format!("{server}/"));
        plain.chain(qualified).chain(unknown).collect()
    }

    pub(crate) fn find<T: Listable>(&self, given: &str) -> Option<T> {
        let names = self.entries::<T>().map(|(name, _)| name);
        let found = Directory::new(names).resolve(given).ok()?;
        let mut entries = self.entries::<T>();
        entries.find_map(|(name, entry)| (name == found).then_some(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s25_words_are_quoted_for_bash_and_zsh() {
        for (word, expected) in [
            ("notes/echo", "notes/echo"),
            ("demo://a.b/c_d-e?x=1&y", "demo://a.b/c_d-e\\?x=1\\&y"),
            ("colour=$(id)", "colour=\\$\\(id\\)"),
            ("`id`;id|id>x<y", "\\`id\\`\\;id\\|id\\>x\\<y"),
            ("it's \"so\"\\", "it\\'s\\ \\\"so\\\"\\\\"),
            ("~root", "\\~root"),
            ("a=~root", "a=\\~root"),
            ("=ls", "\\=ls"),
            ("#no{a,b}*[c]^!!", "\\#no\\{a,b\\}\\*\\[c\\]\\^\\!\\!"),
            ("größe=日本", "größe=日本"),
            ("", ""),
        ] {
            assert_eq!(quoted(word), expected, "{word}");
        }
    }
}
