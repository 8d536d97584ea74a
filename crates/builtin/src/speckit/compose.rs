//! Writing one document: by whom, and what becomes of what lies there.

use attache_server::Failure;
use attache_server::protocol::{Content, CreateMessageParams, LogLevel, SamplingMessage};
use attache_speckit::{Merged, SpecFolder, merge};

use super::agent::{self, AgentCommand, Said, Stream};
use super::prompts::{self, Assignment};
use super::steps::Steps;
use super::{SpeckitSettings, Writer};

/// How much a model may say.
const MOST_TOKENS: i64 = 16_000;
/// How many edited lines are named.
const MOST_NAMED: usize = 8;
/// How far a call is when its document is written.
pub(super) const WRITTEN: f64 = 90.0;

/// A document that was written, before it is stored.
pub(super) struct Composed {
    text: String,
    /// Who wrote it, and what went otherwise than wished.
    by: String,
}

/// What became of a document.
pub(super) struct Stored {
    /// The document as it lies there.
    pub(super) text: String,
    /// `created`, `updated` or `proposed`.
    pub(super) became: &'static str,
    /// Where it lies.
    pub(super) path: String,
    /// What else there is to say, in lines.
    pub(super) remarks: Vec<String>,
}

/// Has a document written by the agent, the client's model or the plain writer.
pub(super) async fn compose(
    settings: &SpeckitSettings,
    folder: &SpecFolder,
    steps: &Steps,
    file: &str,
    assignment: &Assignment<'_>,
) -> Result<Composed, Failure> {
    let lends = steps.context().client_capabilities().sampling.is_some();
    let plain = |by: String| Composed {
        text: assignment.draft.to_owned(),
        by,
    };
    match (settings.writer, &settings.agent) {
        (Writer::Agent | Writer::Auto, Some(agent)) => {
            by_agent(agent, folder, steps, file, assignment).await
        }
        (Writer::Agent, None) => Err(Failure::new(super::implement::NO_AGENT)),
        (Writer::Model, _) if !lends => Err(Failure::new(
            "the client lends no model (it does not declare sampling); choose another writer",
        )),
        (Writer::Model, _) => by_model(steps, assignment).await.map_err(Failure::new),
        (Writer::Auto, None) if lends => match by_model(steps, assignment).await {
            Ok(composed) => Ok(composed),
            Err(reason) => Ok(plain(format!("the plain writer, because {reason}"))),
        },
        (Writer::Auto, None) | (Writer::Plain, _) => Ok(plain("the plain writer".to_owned())),
    }
}

async fn by_agent(
    command: &AgentCommand,
    folder: &SpecFolder,
    steps: &Steps,
    file: &str,
    assignment: &Assignment<'_>,
) -> Result<Composed, Failure> {
    let before = folder.read(file)?;
    let root = folder.project().root().to_path_buf();
    let program = command.program();
    let told = |said: Said<'_>| tell(steps, program, &said);
    let output = agent::run(command, root, assignment.prompt(), told).await?;
    let by = format!("the agent {program}");
    if let Some(text) = document_in(&output.stdout) {
        return Ok(Composed { text, by });
    }
    // Some agents write the file instead of answering with it.
    match folder.read(file)? {
        Some(text) if Some(&text) != before.as_ref() => Ok(Composed { text, by }),
        _ => Err(Failure::new(format!(
            "the agent {program} answered without a document that begins with \"# \"; its last \
             words:\n{}",
            output.tail(20)
        ))),
    }
}

/// Passes on what an agent says: as progress, and as a log labelled by stream.
pub(super) fn tell(steps: &Steps, program: &str, said: &Said<'_>) {
    match said {
        Said::Line(stream, line) => {
            if !line.trim().is_empty() {
                steps.creep(line.trim());
            }
            let (logger, level) = match stream {
                Stream::Stdout => ("stdout", LogLevel::Info),
                Stream::Stderr => ("stderr", LogLevel::Notice),
            };
            steps.context().log_from(logger, level, line);
        }
        Said::Nothing(silent) => {
            let seconds = silent.as_secs();
            let message = format!("{program} works, silent for {seconds} s");
            steps.creep(&message);
        }
    }
}

async fn by_model(steps: &Steps, assignment: &Assignment<'_>) -> Result<Composed, String> {
    steps.reach(20.0, "asking the client's model");
    let message = SamplingMessage::new("user", Content::text(assignment.prompt()));
    let params = CreateMessageParams {
        messages: vec![message].into(),
        system_prompt: Some(prompts::SYSTEM.to_owned()),
        max_tokens: MOST_TOKENS,
        ..CreateMessageParams::default()
    };
    let answered = steps.context().sample(params).await;
    let answer = answered.map_err(|error| format!("the client's model did not answer: {error}"))?;
    let texts: Vec<&str> = answer.content.iter().filter_map(Content::as_text).collect();
    match document_in(&texts.join("\n")) {
        Some(text) => Ok(Composed {
            text,
            by: format!("the client's model {}", answer.model),
        }),
        None => Err("the client's model answered without a document".to_owned()),
    }
}

/// The document in an answer: from its first title on, without a fence around it.
fn document_in(answer: &str) -> Option<String> {
    let lines: Vec<&str> = answer.lines().collect();
    let begin = lines.iter().position(|line| line.starts_with("# "))?;
    let mut lines = &lines[begin..];
    let is_fenced = answer.lines().take(begin).any(|it| it.starts_with("```"));
    if is_fenced && let Some(end) = lines.iter().rposition(|it| it.trim() == "```") {
        lines = &lines[..end];
    }
    let text = lines.join("\n");
    let is_long_enough = text.lines().filter(|it| !it.trim().is_empty()).count() > 2;
    is_long_enough.then(|| format!("{}\n", text.trim_end()))
}

/// Puts a document in place, beside a person's edits. One that came from elsewhere is left as it
/// is: which lines of it may be replaced cannot be told.
pub(super) fn store(
    folder: &SpecFolder,
    file: &str,
    composed: Composed,
) -> Result<Stored, Failure> {
    let path = |file: &str| folder.path().join(file).display().to_string();
    let mut remarks = vec![format!("Written by {}.", composed.by)];
    let there = folder.read(file)?;
    let written = folder.as_written(file)?;
    let (became, text) = match (there, written) {
        (None, _) => ("created", composed.text.clone()),
        (Some(there), Some(written)) => {
            let Merged { text, kept } = merge(&written, &there, &composed.text);
            remarks.extend(kept_remark(&kept));
            ("updated", text)
        }
        (Some(there), None) if there != composed.text => {
            let name = file.replace(".md", ".proposed.md");
            folder.write_edit(&name, &composed.text)?;
            remarks.push(format!(
                "{file} was not written here and is left as it is. Take over what you want from \
                 {name}; or remove {file} and run this again."
            ));
            return Ok(Stored {
                text: there,
                became: "proposed",
                path: path(&name),
                remarks,
            });
        }
        (Some(there), None) => ("updated", there),
    };
    folder.write(file, &text, &composed.text)?;
    Ok(Stored {
        text,
        became,
        path: path(file),
        remarks,
    })
}

fn kept_remark(kept: &[String]) -> Option<String> {
    if kept.is_empty() {
        return None;
    }
    let mut remark = format!("Kept {} edited places:", kept.len());
    for line in kept.iter().take(MOST_NAMED) {
        remark.push_str("\n  ");
        remark.push_str(line);
    }
    if kept.len() > MOST_NAMED {
        remark.push_str("\n  \u{2026}");
    }
    Some(remark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_found_in_an_answer() {
        for (answer, document) in [
            ("# A\n\ntext\n\nmore\n", Some("# A\n\ntext\n\nmore\n")),
            (
                "Here it is:\n```markdown\n# A\n\ntext\nmore\n```\nDone.",
                Some("# A\n\ntext\nmore\n"),
            ),
            (
                "# A\n\n```text\ncode\n```\nmore",
                Some("# A\n\n```text\ncode\n```\nmore\n"),
            ),
            ("I have written the file.", None),
            ("# A", None),
            ("", None),
        ] {
            assert_eq!(document_in(answer).as_deref(), document, "{answer}");
        }
    }
}
