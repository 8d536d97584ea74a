//! Working through the open tasks with an agent, ticking each off when it is done.

use std::collections::BTreeSet;
use std::sync::Arc;

use attache_server::Failure;
use attache_server::protocol::{CallToolResult, Content};
use attache_speckit::{SpecFolder, TASKS, Task, TaskList, Wave};
use tokio::task::JoinSet;

use super::agent::{self, AgentCommand};
use super::compose::tell;
use super::plain::Feature;
use super::steps::Steps;
use super::{PARALLEL_TASKS, prompts};

/// What is said when there is no agent to do the work.
pub(super) const NO_AGENT: &str = "\
there is no agent to do this. Name one, a program that reads a prompt on stdin: in your own \
attache.toml as\n\n[speckit]\nagent = [\"claude\", \"-p\"]\n\nor on the command line as `attache \
serve speckit -- claude -p`. A file that came with a project cannot name one.";

/// What became of one task.
enum Outcome {
    Done,
    Failed(String),
    /// It was not begun.
    Skipped(String),
}

/// A run over some tasks.
pub(super) struct Run {
    pub(super) agent: AgentCommand,
    pub(super) folder: SpecFolder,
    pub(super) feature: Feature,
    pub(super) list: TaskList,
    pub(super) steps: Steps,
}

impl Run {
    /// Runs the waves one after the other. A sequential task that fails ends the run; one marked
    /// `[P]` ends it before the next phase, which builds on this one.
    pub(super) async fn work(self, waves: Vec<Wave>) -> Result<CallToolResult, Failure> {
        let run = Arc::new(self);
        let mut outcomes: Vec<(Task, Outcome)> = Vec::new();
        let mut open: BTreeSet<String> = run.open_ids();
        let mut stopped: Option<Stop> = None;
        let mut done = 0;
        for wave in waves {
            if let Some(stop) = &stopped
                && stop.holds(&wave)
            {
                let reason = stop.reason();
                let skipped = wave
                    .into_iter()
                    .map(|it| (it, Outcome::Skipped(reason.clone())));
                outcomes.extend(skipped);
                continue;
            }
            let (ready, waiting): (Vec<Task>, Vec<Task>) = wave
                .into_iter()
                .partition(|it| it.after.iter().all(|first| !open.contains(first)));
            for task in waiting {
                let first = task.after.iter().find(|it| open.contains(*it));
                let reason = format!("{} is not done", first.map_or("", String::as_str));
                outcomes.push((task, Outcome::Skipped(reason)));
            }
            for (task, outcome) in run.wave(ready, done).await? {
                match &outcome {
                    Outcome::Done => {
                        done += 1;
                        open.remove(&task.id);
                    }
                    Outcome::Failed(_) if stopped.is_none() => stopped = Some(Stop::by(&task)),
                    Outcome::Failed(_) | Outcome::Skipped(_) => {}
                }
                outcomes.push((task, outcome));
            }
        }
        Ok(report(&outcomes))
    }

    fn open_ids(&self) -> BTreeSet<String> {
        let open = self.list.tasks.iter().filter(|it| !it.is_done);
        open.map(|it| it.id.clone()).collect()
    }

    /// Runs tasks that may run together, some at a time. Dropping it ends all of them.
    async fn wave(
        self: &Arc<Self>,
        tasks: Vec<Task>,
        mut done: usize,
    ) -> Result<Vec<(Task, Outcome)>, Failure> {
        let mut waiting = tasks.into_iter();
        let mut running = JoinSet::new();
        let mut outcomes = Vec::new();
        loop {
            while running.len() < PARALLEL_TASKS
                && let Some(task) = waiting.next()
            {
                let run = Arc::clone(self);
                running.spawn(async move {
                    let outcome = run.one(&task).await;
                    (task, outcome)
                });
            }
            let Some(ended) = running.join_next().await else {
                return Ok(outcomes);
            };
            let (task, outcome) = ended?;
            if let Outcome::Done = outcome {
                done += 1;
                self.tick(&task)?;
                self.steps
                    .reach(as_steps(done), &format!("{} is done", task.id));
            }
            outcomes.push((task, outcome));
        }
    }

    async fn one(&self, task: &Task) -> Outcome {
        let program = self.agent.program();
        self.steps.creep(&format!("{}: {}", task.id, task.text));
        let prompt = prompts::task(&self.feature, task);
        let root = self.folder.project().root().to_path_buf();
        let told = |said: agent::Said<'_>| tell(&self.steps, program, &said);
        match agent::run(&self.agent, root, prompt, told).await {
            Ok(_) => Outcome::Done,
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    /// Ticks a task off in the file as it is now: the agent or a person may have changed it.
    fn tick(&self, task: &Task) -> Result<(), Failure> {
        let text = self.folder.read(TASKS)?.unwrap_or_default();
        if let Some(ticked) = TaskList::tick(&text, &task.id) {
            self.folder.write_edit(TASKS, &ticked)?;
        }
        Ok(())
    }
}

/// Why later tasks are not begun.
struct Stop {
    id: String,
    /// The phase that still goes on, if the failed task ran beside others.
    phase: Option<usize>,
}

impl Stop {
    fn by(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            phase: task.is_parallel.then_some(task.phase_number),
        }
    }

    fn holds(&self, wave: &[Task]) -> bool {
        let phase = wave.first().map(|it| it.phase_number);
        self.phase.is_none() || self.phase != phase
    }

    fn reason(&self) -> String {
        format!("{} failed", self.id)
    }
}

fn report(outcomes: &[(Task, Outcome)]) -> CallToolResult {
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, it)| is(it)).count();
    let done = count(|it| matches!(it, Outcome::Done));
    let failed = count(|it| matches!(it, Outcome::Failed(_)));
    let skipped = outcomes.len() - done - failed;
    let mut lines = vec![format!(
        "{done} tasks done, {failed} failed, {skipped} not begun"
    )];
    for (task, outcome) in outcomes {
        lines.push(match outcome {
            Outcome::Done => format!("{} done: {}", task.id, task.text),
            Outcome::Failed(reason) => format!("{} failed: {reason}", task.id),
            Outcome::Skipped(reason) => format!("{} not begun: {reason}", task.id),
        });
    }
    let is_error = done < outcomes.len();
    if is_error {
        lines.push("Run this again to go on with the open tasks.".to_owned());
    }
    CallToolResult {
        content: vec![Content::text(lines.join("\n"))],
        is_error,
        ..CallToolResult::default()
    }
}

/// Progress counts tasks.
pub(super) fn as_steps(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
