//! `attache show`: what a recording holds.

pub(super) mod live;

use std::path::PathBuf;

use attache_record::{Body, Completeness, Conversation, Direction, Entry, Exchange, Recording};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::{Format, Style, Text, human, json};
use crate::recording;

/// Show what a recording holds: the requests, or every message, or one of them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --follow each message is printed as it is recorded, until the recorder ends; the tap's own
option --show does the same on its stderr.

Example:
  attache show s.mcprec
  attache show s.mcprec 12
  attache show s.mcprec --follow")]
pub(crate) struct Show {
    /// The recording; without one, those that `attache tap` keeps are listed
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Show the message of this number in full
    #[arg(value_name = "NUMBER")]
    number: Option<u64>,
    /// Show every line: messages, stderr, heads of HTTP, states
    #[arg(long, conflicts_with = "number")]
    all: bool,
    /// Show every line, and go on with what is being recorded
    #[arg(short, long, conflicts_with = "number", requires = "file")]
    follow: bool,
}

impl Verb for Show {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let Some(file) = &self.file else {
            return list(context);
        };
        if self.follow {
            return match output.format {
                Format::Human => live::follow(file, output).await,
                Format::Json => Err(Failure::usage("--follow is for people")
                    .hint("a recording is lines of JSON already: `tail -f` prints them")),
            };
        }
        let recording = recording::read(file)?;
        if let Some(number) = self.number {
            return one(&recording, number, context);
        }
        let conversation = Conversation::of(&recording);
        match output.format {
            Format::Json => output.document(&json::write(&document(&recording, &conversation))),
            Format::Human => {
                let mut text = heading(&recording, &conversation);
                match self.all {
                    true => recording
                        .entries
                        .iter()
                        .for_each(|entry| show_entry(&mut text, entry)),
                    false => conversation
                        .exchanges
                        .iter()
                        .for_each(|it| show_exchange(&mut text, it)),
                }
                output.text(&text)
            }
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

/// Lists the recordings that were made without naming a file.
fn list(context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    let files: Vec<String> = recording::kept()?
        .iter()
        .map(|it| it.display().to_string())
        .collect();
    if output.format == Format::Json {
        #[derive(Serialize)]
        struct Kept {
            recordings: Vec<String>,
        }
        return output.document(&json::write(&Kept { recordings: files }));
    }
    let mut text = Text::new();
    for file in &files {
        text.plain(file).end_line();
    }
    if files.is_empty() {
        text.plain("there are no recordings; `attache tap -- COMMAND` makes one")
            .end_line();
    }
    output.text(&text)
}

/// One line in full.
fn one(recording: &Recording, number: u64, context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    let Some(entry) = recording.entries.iter().find(|entry| entry.seq == number) else {
        let last = recording.entries.last().map_or(0, |entry| entry.seq);
        let message = format!("the recording has no number {number}");
        return Err(Failure::usage(message).hint(format!("the last one is {last}")));
    };
    let message = entry.message();
    if output.format == Format::Json {
        // A message is JSON as it is; anything else becomes a string.
        let is_json = message.filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
        return match is_json {
            Some(message) => output.document(message),
            None => output.document(&json::write(&in_words(entry))),
        };
    }
    let mut text = Text::new();
    show_entry(&mut text, entry);
    for place in &entry.redacted {
        text.add(Style::Warning, &format!("redacted: {place}"))
            .end_line();
    }
    match message.and_then(|it| attache::protocol::Json::parse(it).ok()) {
        Some(json) => text.append(human::json(&json)),
        None => text.block(Style::Plain, &in_words(entry)),
    };
    output.text(&text)
}

#[derive(Serialize)]
struct Document<'a> {
    header: &'a attache_record::Header,
    whole: bool,
    lines: usize,
    lost: attache_record::Lost,
    redacted: bool,
    unpaired: usize,
    exchanges: Vec<ExchangeDocument<'a>>,
}

#[derive(Serialize)]
struct ExchangeDocument<'a> {
    seq: u64,
    conn: u32,
    t_us: u64,
    era: String,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
    ending: &'static str,
    duration_us: Option<u64>,
    notifications: usize,
}

fn document<'a>(recording: &'a Recording, conversation: &'a Conversation) -> Document<'a> {
    let of_exchange = |it: &'a Exchange| ExchangeDocument {
        seq: it.seq,
        conn: it.conn,
        t_us: it.at_us,
        era: it.era.to_string(),
        method: &it.method,
        about: it.about(),
        ending: it.ending(),
        duration_us: it.duration_us(),
        notifications: it.steps.len(),
    };
    Document {
        header: &recording.header,
        whole: recording.completeness() == Completeness::Whole,
        lines: recording.entries.len(),
        lost: lost(recording),
        redacted: recording.is_redacted(),
        unpaired: conversation.unpaired,
        exchanges: conversation.exchanges.iter().map(of_exchange).collect(),
    }
}

/// What is missing: a recording that was cut has no footer that counts it.
fn lost(recording: &Recording) -> attache_record::Lost {
    if let Some(footer) = &recording.footer {
        return footer.lost;
    }
    let mut all = attache_record::Lost::default();
    for entry in &recording.entries {
        if let Body::Lost(lost) = entry.body {
            all.add(lost);
        }
    }
    all
}

fn heading(recording: &Recording, conversation: &Conversation) -> Text {
    let header = &recording.header;
    let mut text = Text::new();
    text.add(Style::Name, header.server.as_deref().unwrap_or("recording"))
        .faint(&format!("  {}", header.target))
        .end_line();
    let last = recording.entries.last().map_or(0, |entry| entry.t_us);
    text.faint(&format!(
        "recorded {} ago, {} in {}, {}",
        human::age(header.started_ms),
        human::counted(recording.entries.len(), "line"),
        time(last),
        human::counted(conversation.exchanges.len(), "request"),
    ))
    .end_line();
    if recording.completeness() == Completeness::Cut {
        let cut = "it has no end: the recorder was killed, or still records";
        text.add(Style::Warning, cut).end_line();
    }
    let lost = lost(recording);
    if lost.frames > 0 {
        let missing = format!("{} pieces, {} bytes are missing", lost.frames, lost.bytes);
        text.add(Style::Warning, &missing).end_line();
    }
    if recording::is_redacted(recording) {
        text.add(Style::Warning, "secrets were replaced").end_line();
    }
    text
}

fn show_exchange(text: &mut Text, exchange: &Exchange) {
    let ending = exchange.ending();
    let style = match ending {
        "result" | "input required" => Style::Plain,
        "cancelled" | "unanswered" => Style::Warning,
        _ => Style::Bad,
    };
    let duration = exchange.duration_us().map_or_else(|| "-".to_owned(), time);
    text.faint(&format!(
        "{:>6} {:>9}  ",
        exchange.seq,
        time(exchange.at_us)
    ))
    .plain(&exchange.what())
    .add(style, &format!("  {ending}"))
    .faint(&format!("  {duration}"))
    .end_line();
}

fn show_entry(text: &mut Text, entry: &Entry) {
    const LONGEST: usize = 160;
    let mut said = in_words(entry);
    if let Some((end, _)) = said.char_indices().nth(LONGEST) {
        said.truncate(end);
        said.push('…');
    }
    let arrow = match entry.dir {
        Direction::C2s => "->",
        Direction::S2c => "<-",
        other => other.as_str(),
    };
    text.faint(&format!(
        "{:>6} {:>9} {:>3} ",
        entry.seq,
        time(entry.t_us),
        entry.conn
    ))
    .add(Style::Name, &format!("{arrow:<6} "))
    .plain(&said)
    .end_line();
}

fn in_words(entry: &Entry) -> String {
    match &entry.body {
        Body::Raw(json) => json.as_str().to_owned(),
        Body::Text(text) => text.clone(),
        Body::Binary(bytes) => format!("{} bytes that are not UTF-8", bytes.len()),
        Body::Http(head) => match (&head.method, &head.path, head.status) {
            (Some(method), Some(path), _) => format!("{method} {path}"),
            (_, _, Some(status)) => format!("status {status}"),
            _ => "a head of HTTP".to_owned(),
        },
        Body::State(word, Some(more)) => format!("{word}: {more}"),
        Body::State(word, None) => word.clone(),
        Body::Lost(lost) => format!(
            "{} pieces, {} bytes are missing here",
            lost.frames, lost.bytes
        ),
    }
}

/// Microseconds as people say them.
pub(super) fn time(us: u64) -> String {
    match us {
        ..1000 => format!("{us} µs"),
        1000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}
