//! The part of `attache serve` that is about notes.
//!
//! Owns its options and where its index is kept.

use std::path::PathBuf;

use attache_notes::{
    Language, NotesDialect, NotesServer, NotesSettings, Upstream, Vault, VaultSettings, Writing,
    sample_folder,
};
use clap::ValueEnum;

use crate::configuration::Configuration;
use crate::failure::Failure;

/// The folder of indexes in the cache folder.
const INDEXES: &str = "notes";

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Notes")]
pub(super) struct NotesArguments {
    /// The folder of notes; without it a few samples
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// What the server calls itself
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The scheme of the notes' URIs
    #[arg(long, value_name = "SCHEME", value_parser = scheme)]
    scheme: Option<String>,
    /// What a note is described as
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The git remote to sync from; origin by default
    #[arg(long, value_name = "REMOTE")]
    remote: Option<String>,
    /// The branch to sync; the one that is checked out by default
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// The language of notes that name none, like de; English by default
    #[arg(long, value_name = "LANGUAGE", value_parser = language)]
    lang: Option<Language>,
    /// Answer in another way than the standard
    #[arg(long, value_enum, value_name = "DIALECT")]
    dialect: Option<Dialect>,
    /// Offer tools that save notes and commit them
    #[arg(long)]
    write: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Dialect {
    /// As the server that seed 000 describes
    #[value(name = "seed000")]
    Seed000,
}

fn language(name: &str) -> Result<Language, String> {
    Language::named(name).ok_or_else(|| "no language whose words have known stems".to_owned())
}

/// A scheme as RFC 3986 has it.
fn scheme(text: &str) -> Result<String, String> {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || "+.-".contains(it);
    let is_scheme =
        text.starts_with(|it: char| it.is_ascii_alphabetic()) && text.chars().all(is_allowed);
    match is_scheme {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("a scheme is a letter, then letters, digits, +, . and -".to_owned()),
    }
}

impl NotesArguments {
    /// Refuses options that only notes have, for the other servers.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let given = [
            ("--dir", self.dir.is_some()),
            ("--name", self.name.is_some()),
            ("--scheme", self.scheme.is_some()),
            ("--description", self.description.is_some()),
            ("--remote", self.remote.is_some()),
            ("--branch", self.branch.is_some()),
            ("--lang", self.lang.is_some()),
            ("--dialect", self.dialect.is_some()),
            ("--write", self.write),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::usage(format!("{option} is for notes"))
                .hint("`attache serve notes --help` shows what it takes")),
            None => Ok(()),
        }
    }

    /// Opens the folder, and makes a server of it. Nothing is walked over before it is served.
    pub(super) fn server(self) -> Result<NotesServer, Failure> {
        let cache = Configuration::new(None)?.environment.cache_folder();
        let folder = match (self.dir, &cache) {
            (Some(folder), _) => folder,
            (None, Some(cache)) => sample_folder(cache).map_err(|error| {
                let place = cache.display();
                Failure::unexpected(format!("cannot write the sample notes in {place}: {error}"))
                    .hint("name a folder of your own with --dir")
            })?,
            (None, None) => {
                return Err(Failure::usage("there is no place for the sample notes")
                    .hint("name a folder of your own with --dir"));
            }
        };
        let usual = NotesSettings::default();
        let upstream = Upstream {
            remote: self.remote.unwrap_or(usual.upstream.remote),
            branch: self.branch,
        };
        if !upstream.is_plain() {
            return Err(
                Failure::usage("--remote and --branch are plain names of git")
                    .hint("add a remote with `git remote add NAME URL`, and name it"),
            );
        }
        let settings = VaultSettings {
            cache: cache.map(|it| it.join(INDEXES)),
            language: self.lang.unwrap_or(Language::ENGLISH),
            ..VaultSettings::default()
        };
        let vault = Vault::open(&folder, settings).map_err(|error| {
            Failure::usage(format!("cannot open {}: {error}", folder.display()))
                .hint("--dir names a folder with notes in it")
        })?;
        let settings = NotesSettings {
            name: self.name.unwrap_or_else(|| match self.dialect {
                Some(Dialect::Seed000) => "meditation-mcp".to_owned(),
                None => usual.name,
            }),
            scheme: self.scheme.unwrap_or(usual.scheme),
            description: self.description.unwrap_or(usual.description),
            upstream,
            dialect: match self.dialect {
                Some(Dialect::Seed000) => NotesDialect::Seed000,
                None => NotesDialect::Standard,
            },
            writing: match self.write {
                true => Writing::Offered,
                false => Writing::Never,
            },
        };
        Ok(NotesServer::new(vault, settings))
    }
}
