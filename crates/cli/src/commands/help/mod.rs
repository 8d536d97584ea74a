//! `attache help`: the help of a verb, or a topic on one screen.
//!
//! The topics are the same text as docs/guide.md, which is written from them.

use clap::{Command, CommandFactory as _};

use super::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::invocation::{self, Invocation};
use crate::names;
use crate::output::{Style, Text};

/// The topics and their texts.
const TOPICS: [(&str, &str); 7] = [
    ("servers", include_str!("servers.md")),
    ("arguments", include_str!("arguments.md")),
    ("states", include_str!("states.md")),
    ("eras", include_str!("eras.md")),
    ("trust", include_str!("trust.md")),
    ("json", include_str!("json.md")),
    ("scripts", include_str!("scripts.md")),
];

/// Explain a verb, or a topic on one screen
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Topics: servers, arguments, states, eras, trust, json, scripts

Example:
  attache help call
  attache help arguments")]
pub(crate) struct Help {
    /// A verb, like call or config add, or a topic
    #[arg(value_name = "VERB|TOPIC")]
    words: Vec<String>,
    /// Print all topics as Markdown
    #[arg(long, hide = true)]
    markdown: bool,
}

impl Verb for Help {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        if self.markdown {
            return output.ready_made(&guide());
        }
        let mut root = invocation::fitted(Invocation::command());
        root.build();
        if let [topic] = self.words.as_slice()
            && let Some((_, text)) = TOPICS.iter().find(|(name, _)| name == topic)
        {
            let mut shown = shown(text);
            if root.find_subcommand(topic).is_some() {
                shown.end_line();
                shown
                    .faint(&format!("The verb: attache {topic} --help"))
                    .end_line();
            }
            return output.text(&shown);
        }
        let help = verb_of(&mut root, &self.words)?.render_help();
        output.ready_made(&match output.is_coloured() {
            true => help.ansi().to_string(),
            false => help.to_string(),
        })
    }

    fn complete(typed: &Typed, _: &Known) -> Vec<String> {
        if !typed.positional.is_empty() {
            return Vec::new();
        }
        let root = Invocation::command();
        let verbs = root.get_subcommands().filter(|verb| !verb.is_hide_set());
        let verbs = verbs.map(|verb| verb.get_name().to_owned());
        let topics = TOPICS.iter().map(|(name, _)| (*name).to_owned());
        verbs.chain(topics).collect()
    }
}

/// The verb that these words name; the whole program if there are none.
fn verb_of<'c>(command: &'c mut Command, words: &[String]) -> Result<&'c mut Command, Failure> {
    let Some((word, inner)) = words.split_first() else {
        return Ok(command);
    };
    if command.find_subcommand(word).is_none() {
        return Err(unknown(word, command));
    }
    match command.find_subcommand_mut(word) {
        Some(verb) => verb_of(verb, inner),
        None => Err(Failure::usage(format!("there is no verb \"{word}\""))),
    }
}

fn unknown(word: &str, command: &Command) -> Failure {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs.map(Command::get_name);
    let topics = TOPICS.iter().map(|(name, _)| *name);
    let failure = Failure::usage(format!("there is no verb and no topic \"{word}\""));
    let hint = names::hint(word, topics.chain(verbs));
    match invocation::other_word(word).or(hint) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// All topics as one page.
fn guide() -> String {
    let mut page = String::from(
        "# Guide\n\nWhat `attache help TOPIC` prints, on one page. `attache help --markdown` writes \
         it.\n",
    );
    for (_, text) in TOPICS {
        page.push('\n');
        page.push('#');
        page.push_str(text);
    }
    page
}

/// A topic on a terminal: headings, paragraphs, lists and commands.
fn shown(markdown: &str) -> Text {
    let mut text = Text::new();
    for line in markdown.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            text.add(Style::Name, heading).end_line();
        } else if let Some(item) = line.strip_prefix("- ") {
            text.plain("  - ").hang().plain(item).end_line();
        } else if line.starts_with("    ") {
            text.verbatim(Style::Plain, line).end_line();
        } else {
            text.plain(line).end_line();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Colour;

    #[test]
    fn every_topic_fits_on_a_screen() {
        for (name, text) in TOPICS {
            let shown = shown(text).render_within(Colour::Off, 80);
            let height = shown.lines().count();
            assert!(height <= 24, "{name} has {height} lines:\n{shown}");
            assert!(
                shown.lines().all(|line| line.chars().count() <= 80),
                "{name}:\n{shown}"
            );
        }
    }

    #[test]
    fn the_page_in_docs_is_what_the_command_prints() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide.md");
        let page = std::fs::read_to_string(file).unwrap();
        assert_eq!(page, guide(), "attache help --markdown >docs/guide.md");
    }
}
