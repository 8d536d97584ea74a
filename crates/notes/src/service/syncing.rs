//! The tool `sync_repository`.

use std::sync::Arc;
use std::time::Duration;

use attache_server::protocol::{Json, ToolAnnotations};
use attache_server::{Context, Failure, Tool};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use super::Notes;
use crate::sync::{Stage, Synced};

/// How often progress is told, whatever happens: clients that wait a second at most go on waiting.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

pub(super) fn tool(notes: &Arc<Notes>) -> Tool {
    let is_seed = notes.is_seed();
    let about = match is_seed {
        true => "Sync repository and update index",
        false => {
            "Fetch new notes from the git remote and update the index. Never merges or rebases."
        }
    };
    let schema = Json::from(json!({"type": "object"}));
    let syncing = Arc::clone(notes);
    let tool = Tool::raw(
        "sync_repository",
        about,
        schema,
        move |context: Context, _| {
            let notes = Arc::clone(&syncing);
            async move {
                let synced = wait(&notes, &context).await?;
                let text = text(&synced);
                Ok(notes.answer(text, Vec::new(), Json::from(data(&synced))))
            }
        },
    );
    if is_seed {
        return tool;
    }
    tool.annotations(ToolAnnotations {
        read_only: Some(false),
        destructive: Some(false),
        idempotent: Some(true),
        ..ToolAnnotations::default()
    })
    .output_schema(Json::from(structure()))
}

/// Waits for the sync that runs, or a new one. It is given up with the last request that waits.
async fn wait(notes: &Notes, context: &Context) -> Result<Synced, Failure> {
    let running = notes.syncing.join();
    let mut stage = running.stage();
    let mut ticks = interval(PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut step = 0.0;
    loop {
        let is_over = tokio::select! {
            changed = stage.changed() => changed.is_err(),
            _ = ticks.tick() => false,
        };
        let now = stage.borrow().clone();
        match now {
            Stage::Done(outcome) => return Ok(outcome?),
            Stage::Working(_) if is_over => {
                return Err(Failure::new("The sync was given up; sync again."));
            }
            Stage::Working(what) => {
                step += 1.0;
                context.progress_with(step, None, what);
            }
        }
    }
}

fn text(synced: &Synced) -> String {
    let Synced {
        notes,
        added,
        pending,
        ..
    } = synced;
    let index = match pending {
        0 => "Index updated.".to_owned(),
        _ => format!("The index is being updated: {pending} notes are not searchable yet."),
    };
    format!("Repository sync completed. Found {notes} notes ({added} new). {index}")
}

fn data(synced: &Synced) -> Value {
    json!({
        "notes": synced.notes,
        "added": synced.added,
        "changed": synced.changed,
        "removed": synced.removed,
        "from": synced.from,
        "to": synced.to,
        "took_ms": u64::try_from(synced.took.as_millis()).unwrap_or(u64::MAX),
    })
}

fn structure() -> Value {
    let count = json!({"type": "integer"});
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {
            "notes": count, "added": count, "changed": count, "removed": count,
            "from": text, "to": text, "took_ms": count,
        },
        "required": ["notes", "added", "changed", "removed", "from", "to", "took_ms"],
    })
}
