//! `attache diff`: what changed between two recordings of one server.

use std::path::PathBuf;

use attache_record::{
    Change, Diff as Changes, Difference, DifferenceKind, Normaliser, Thresholds, Timing, diff,
};
use serde::Serialize;

use super::show::time;
use super::{Context, Known, Typed, Verb};
use crate::failure::{Exit, Failure};
use crate::output::{Format, Style, Text, human, json};
use crate::recording;

/// How many changes of one thing are shown to people.
const MOST_SHOWN: usize = 12;

/// Compare two recordings: what is offered, how calls are answered, how long they take
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Calls are the same if name and arguments are. Times, UUIDs and absolute paths in results do not
count, nor does what --ignore names.

Example:
  attache diff before.mcprec after.mcprec --exit-code")]
pub(crate) struct Diff {
    /// The recording to compare with
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// The newer recording
    #[arg(value_name = "SECOND")]
    second: PathBuf,
    /// Do not compare this place of results: a JSON pointer, where * is any part; may be repeated
    #[arg(long, value_name = "POINTER")]
    ignore: Vec<String>,
    /// A call is slower if it takes so many times as long
    #[arg(long, value_name = "RATIO", default_value_t = 1.5)]
    slower: f64,
    /// and so many milliseconds longer
    #[arg(long, value_name = "MS", default_value_t = 20)]
    slower_ms: u64,
    /// End with code 5 if anything changed
    #[arg(long)]
    exit_code: bool,
}

impl Verb for Diff {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let first = recording::conversation(&self.first)?;
        let second = recording::conversation(&self.second)?;
        let thresholds = Thresholds {
            ratio: self.slower,
            least_us: self.slower_ms.saturating_mul(1000),
        };
        let changes = diff(
            &first,
            &second,
            &Normaliser::ignoring(&self.ignore),
            thresholds,
        );
        match output.format {
            Format::Json => output.document(&json::write(&document(&changes)))?,
            Format::Human => output.text(&show(&changes))?,
        }
        match self.exit_code && !changes.is_empty() {
            true => Err(Failure {
                exit: Exit::Failed,
                ..Failure::failed("the recordings differ")
            }),
            false => Ok(()),
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Serialize)]
struct Document {
    same: bool,
    compared: usize,
    server: Vec<DifferenceDocument>,
    offers: Vec<OfferDocument>,
    calls: Vec<CallDocument>,
    slower: Vec<SlowerDocument>,
    only_first: Vec<String>,
    only_second: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct DifferenceDocument {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<attache::protocol::Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<attache::protocol::Json>,
}

#[derive(Serialize)]
struct OfferDocument {
    kind: &'static str,
    name: String,
    change: &'static str,
    differences: Vec<DifferenceDocument>,
}

#[derive(Serialize)]
struct CallDocument {
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<[&'static str; 2]>,
    differences: Vec<DifferenceDocument>,
}

#[derive(Serialize)]
struct SlowerDocument {
    what: String,
    before_us: u64,
    after_us: u64,
}

fn document(changes: &Changes) -> Document {
    Document {
        same: changes.is_empty(),
        compared: changes.compared,
        server: difference_documents(&changes.server),
        offers: changes
            .offers
            .iter()
            .map(|it| OfferDocument {
                kind: it.kind,
                name: it.name.clone(),
                change: timing(it.timing),
                differences: difference_documents(&it.differences),
            })
            .collect(),
        calls: changes
            .calls
            .iter()
            .map(|it| CallDocument {
                what: it.what.clone(),
                ending: it.ending.map(|(one, other)| [one, other]),
                differences: difference_documents(&it.differences),
            })
            .collect(),
        slower: changes
            .slower
            .iter()
            .map(|it| SlowerDocument {
                what: it.what.clone(),
                before_us: it.took.first_us,
                after_us: it.took.second_us,
            })
            .collect(),
        only_first: changes.only_first.clone(),
        only_second: changes.only_second.clone(),
    }
}

pub(super) fn difference_documents(differences: &[Difference]) -> Vec<DifferenceDocument> {
    let documents = differences.iter().map(|it| {
        let (before, after) = match &it.kind {
            DifferenceKind::Added(value) => (None, Some(value.to_json())),
            DifferenceKind::Removed(value) => (Some(value.to_json()), None),
            DifferenceKind::Changed(one, other) => (Some(one.to_json()), Some(other.to_json())),
        };
        DifferenceDocument {
            path: it.path.clone(),
            before,
            after,
        }
    });
    documents.collect()
}

fn timing(timing: Timing) -> &'static str {
    match timing {
        Timing::Added => "added",
        Timing::Removed => "removed",
        Timing::Changed => "changed",
    }
}

fn show(changes: &Changes) -> Text {
    let mut text = Text::new();
    if changes.is_empty() {
        text.plain(&format!(
            "nothing changed; {} compared",
            human::counted(changes.compared, "request")
        ))
        .end_line();
        return text;
    }
    if !changes.server.is_empty() {
        text.add(Style::Name, "the server").end_line();
        show_differences(&mut text, &changes.server);
    }
    for change in &changes.offers {
        show_offer(&mut text, change);
    }
    for call in &changes.calls {
        text.add(Style::Warning, "answered otherwise: ")
            .plain(&call.what);
        if let Some((before, after)) = call.ending {
            text.plain(&format!(": {before}, now {after}"));
        }
        text.end_line();
        show_differences(&mut text, &call.differences);
    }
    for slower in &changes.slower {
        let took = slower.took;
        text.add(Style::Warning, "slower: ")
            .plain(&format!(
                "{}: {}, now {}",
                slower.what,
                time(took.first_us),
                time(took.second_us)
            ))
            .end_line();
    }
    for (word, asked) in [
        ("only in the first: ", &changes.only_first),
        ("only in the second: ", &changes.only_second),
    ] {
        for what in asked {
            text.faint(word).plain(what).end_line();
        }
    }
    text
}

fn show_offer(text: &mut Text, change: &Change) {
    let style = match change.timing {
        Timing::Added => Style::Good,
        Timing::Removed => Style::Bad,
        Timing::Changed => Style::Warning,
    };
    text.add(style, timing(change.timing))
        .plain(&format!(": {} ", change.kind))
        .add(Style::Name, &change.name)
        .end_line();
    show_differences(text, &change.differences);
}

pub(super) fn show_differences(text: &mut Text, differences: &[Difference]) {
    const LONGEST: usize = 80;
    let short = |value: &attache_view::Value| {
        let mut text = value.to_string();
        if let Some((end, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(end);
            text.push('…');
        }
        text
    };
    for difference in differences.iter().take(MOST_SHOWN) {
        let path = match difference.path.as_str() {
            "" => "all",
            path => path,
        };
        text.plain("  ").faint(path).plain(" ");
        match &difference.kind {
            DifferenceKind::Added(value) => text.add(Style::Good, &format!("+ {}", short(value))),
            DifferenceKind::Removed(value) => text.add(Style::Bad, &format!("- {}", short(value))),
            DifferenceKind::Changed(one, other) => text
                .add(Style::Bad, &format!("- {}", short(one)))
                .add(Style::Good, &format!(" + {}", short(other))),
        };
        text.end_line();
    }
    if differences.len() > MOST_SHOWN {
        let more = differences.len() - MOST_SHOWN;
        text.faint(&format!("  and {more} more; --json has them"))
            .end_line();
    }
}
