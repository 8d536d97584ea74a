//! `attache man`: the manual page, made of the same table as the help.
//!
//! Owns the little of roff that a manual page needs.

use clap::{Arg, Command, CommandFactory as _};

use super::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// Print the manual page, or that of the configuration file
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache man | man -l -\n  attache man attache.toml | man -l -")]
pub(crate) struct Man {
    /// The page: attache or attache.toml
    #[arg(
        value_enum,
        value_name = "PAGE",
        hide_possible_values = true,
        default_value = "attache",
        hide_default_value = true
    )]
    page: ManualPage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ManualPage {
    Attache,
    #[value(name = "attache.toml")]
    AttacheToml,
}

impl Verb for Man {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        context.output.ready_made(&match self.page {
            ManualPage::Attache => page(),
            ManualPage::AttacheToml => super::config::manual_page(),
        })
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        vec!["attache".to_owned(), "attache.toml".to_owned()]
    }
}

fn page() -> String {
    let mut root = Invocation::command();
    root.build();
    let mut page = String::new();
    let version = root.get_version().unwrap_or_default();
    page.push_str(&format!(
        ".TH ATTACHE 1 \"\" \"attache {version}\" \"Attaché\"\n"
    ));
    section(&mut page, "NAME");
    let about = root
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    page.push_str(&format!("attache \\- {}\n", escaped(&about)));
    section(&mut page, "SYNOPSIS");
    page.push_str("\\fBattache\\fR [OPTIONS] [VERB] [\\-\\- COMMAND...]\n");
    section(&mut page, "OPTIONS");
    options(&mut page, &root);
    section(&mut page, "VERBS");
    verbs(&mut page, &root, "");
    section(&mut page, "SERVERS, EXIT CODES, EXAMPLES");
    literal(&mut page, &after_help(&root));
    page
}

fn verbs(page: &mut String, parent: &Command, before: &str) {
    for verb in parent.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("{before}{}", verb.get_name());
        let arguments: Vec<String> = verb
            .get_positionals()
            .map(|argument| escaped(&argument.to_string()))
            .collect();
        let title = format!("attache {name} {}", arguments.join(" "));
        page.push_str(&format!(".SS {}\n", title.trim_end()));
        let about = verb
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        paragraph(page, &format!("{about}."));
        options(page, verb);
        literal(page, &after_help(verb));
        verbs(page, verb, &format!("{name} "));
    }
}

/// The options of a command, without those it shares with all others.
fn options(page: &mut String, command: &Command) {
    let is_root = command.get_name() == "attache";
    let is_own = |option: &&Arg| {
        !option.is_hide_set()
            && !option.is_positional()
            && (is_root || !option.is_global_set())
            && (is_root || option.get_id() != "help")
    };
    for option in command.get_arguments().filter(is_own) {
        let mut names: Vec<String> = Vec::new();
        names.extend(
            option
                .get_short()
                .map(|short| format!("\\fB\\-{short}\\fR")),
        );
        let long = option.get_long();
        names.extend(long.map(|long| format!("\\fB\\-\\-{}\\fR", escaped(long))));
        let value = match option.get_action().takes_values() {
            true => option.get_value_names().and_then(<[_]>::first),
            false => None,
        };
        let value = value.map(|value| format!(" {}", escaped(value)));
        page.push_str(&format!(
            ".TP\n{}{}\n",
            names.join(", "),
            value.unwrap_or_default()
        ));
        let help = option.get_help().map(ToString::to_string);
        paragraph(page, &help.unwrap_or_default());
    }
}

fn after_help(command: &Command) -> String {
    let text = command.get_after_help().map(ToString::to_string);
    text.unwrap_or_default()
}

fn section(page: &mut String, title: &str) {
    page.push_str(&format!(".SH {title}\n"));
}

fn paragraph(page: &mut String, text: &str) {
    page.push_str(&escaped(text));
    page.push('\n');
}

/// Text whose lines stay as they are.
fn literal(page: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    page.push_str(".PP\n.nf\n");
    for line in text.lines() {
        page.push_str(&escaped(line));
        page.push('\n');
    }
    page.push_str(".fi\n");
}

/// Text that roff prints as it is: backslashes and hyphens are commands, and so is a line that
/// begins with a dot or an apostrophe.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roff_commands_in_text_are_harmless() {
        for (text, expected) in [
            (".so /etc/passwd", "\\&.so /etc/passwd"),
            ("'quoted", "\\&'quoted"),
            ("--json", "\\-\\-json"),
            ("a\\b", "a\\eb"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn every_verb_and_option_is_on_the_page() {
        let page = page();
        for verb in ["call", "ls", "doctor", "config import", "completions"] {
            assert!(page.contains(&format!(".SS attache {verb}")), "{page}");
        }
        assert!(
            page.contains("\\fB\\-\\-start\\-timeout\\fR TIME"),
            "{page}"
        );
        assert!(!page.contains("__"), "hidden commands stay hidden");
    }
}
