//! The five tools: names, schemas and what each does in which order.

use std::sync::Arc;

use attache_server::protocol::{CallToolResult, Content, Json, ToolAnnotations};
use attache_server::{Context, Failure, Tool};
use attache_speckit::{Command, PLAN, SPEC, SpecFolder, TASKS, TaskList, markers, spec_at, today};
use serde::Deserialize;
use serde_json::{Value, json};

use super::clarify::{self, Asked};
use super::compose::{Stored, WRITTEN, compose, store};
use super::implement::{NO_AGENT, Run, as_steps};
use super::plain::{self, Feature, Layout};
use super::prompts::{self, Assignment};
use super::steps::Steps;
use super::{SpeckitSettings, Writer};

/// How far a document is when all is done.
const ALL: f64 = 100.0;
/// How far the steps of a document are apart at most.
const STRIDE: f64 = 70.0;
/// Where a project keeps its principles.
const CONSTITUTION: &str = ".specify/memory/constitution.md";
/// The most questions that are asked at a time.
const MOST_QUESTIONS: usize = 5;

type Settings = Arc<SpeckitSettings>;

/// All tools, in the order of the work.
pub(super) fn all(settings: Settings) -> Vec<Tool> {
    Command::ALL
        .into_iter()
        .map(|command| tool(command, Arc::clone(&settings)))
        .collect()
}

fn tool(command: Command, settings: Settings) -> Tool {
    let schema = Json::from(schema(command));
    Tool::raw(
        command.tool(),
        description(command),
        schema,
        move |context: Context, raw: Json| {
            let settings = Arc::clone(&settings);
            async move {
                let call = Call::new(command, settings, context, raw.decode()?)?;
                call.run().await
            }
        },
    )
    .annotations(ToolAnnotations {
        read_only: Some(false),
        // An agent may do anything to the project; documents keep what a person wrote.
        destructive: Some(command == Command::Implement),
        idempotent: Some(false),
        open_world: Some(true),
        ..ToolAnnotations::default()
    })
}

const fn description(command: Command) -> &'static str {
    match command {
        Command::Specify => "Create or update feature specification",
        Command::Clarify => "Clarify feature specification",
        Command::Plan => "Generate implementation plan",
        Command::Tasks => "Generate implementation tasks",
        Command::Implement => "Implement open tasks",
    }
}

/// The schemas of seed 003, word for word.
fn schema(command: Command) -> Value {
    let directory = json!({
        "type": "string",
        "description": "Absolute path to specification directory",
    });
    let mut properties = serde_json::Map::new();
    let mut required = vec!["spec_directory"];
    if command == Command::Specify {
        let description = "Natural language description of the feature";
        let field = json!({"type": "string", "description": description});
        properties.insert("feature_description".to_owned(), field);
        required.insert(0, "feature_description");
    }
    properties.insert("spec_directory".to_owned(), directory);
    let more = match command {
        Command::Clarify => Some((
            "questions",
            json!({
                "type": "array",
                "items": {"type": "string"},
                "description": "Specific questions to clarify (optional)",
            }),
        )),
        Command::Implement => Some((
            "task_filter",
            json!({
                "type": "string",
                "description": "Optional filter for specific tasks to implement",
            }),
        )),
        Command::Specify | Command::Plan | Command::Tasks => None,
    };
    properties.extend(more.map(|(name, field)| (name.to_owned(), field)));
    json!({"type": "object", "properties": properties, "required": required})
}

#[derive(Debug, Deserialize)]
struct Arguments {
    spec_directory: String,
    #[serde(default)]
    feature_description: String,
    #[serde(default)]
    questions: Vec<String>,
    task_filter: Option<String>,
}

/// One call of one tool.
struct Call {
    command: Command,
    settings: Settings,
    arguments: Arguments,
    folder: SpecFolder,
    feature: Feature,
    context: Context,
}

impl Call {
    fn new(
        command: Command,
        settings: Settings,
        context: Context,
        arguments: Arguments,
    ) -> Result<Self, Failure> {
        let folder = settings.project.spec(&arguments.spec_directory)?;
        let feature = Feature {
            name: folder.name(),
            shown: folder.shown(),
            date: today(),
        };
        Ok(Self {
            command,
            settings,
            arguments,
            folder,
            feature,
            context,
        })
    }

    async fn run(self) -> Result<CallToolResult, Failure> {
        self.command.check(&spec_at(&self.folder))?;
        let _working = self.folder.work()?;
        match self.command {
            Command::Specify => self.specify().await,
            Command::Clarify => self.clarify().await,
            Command::Plan => self.plan().await,
            Command::Tasks => self.tasks().await,
            Command::Implement => self.implement().await,
        }
    }

    fn steps(&self, message: &str) -> Steps {
        let steps = Steps::new(&self.context, ALL, STRIDE);
        steps.reach(10.0, message);
        steps
    }

    async fn specify(self) -> Result<CallToolResult, Failure> {
        let description = self.arguments.feature_description.trim();
        if description.is_empty() {
            return Err(Failure::new(
                "feature_description is empty; say what is wanted",
            ));
        }
        let steps = self.steps("Analyzing requirements...");
        let draft = plain::specification(&self.feature, description);
        let there = self.folder.read(SPEC)?.unwrap_or_default();
        let work = prompts::specify();
        let mut assignment = Assignment {
            feature: &self.feature,
            work: &work,
            draft: &draft,
            sources: vec![("description", description)],
        };
        if !there.is_empty() {
            assignment.sources.push(("present", &there));
        }
        let composed = compose(&self.settings, &self.folder, &steps, SPEC, &assignment).await?;
        self.context.redeem()?;
        let mut stored = store(&self.folder, SPEC, composed)?;
        steps.reach(WRITTEN, "spec.md is written");
        let list = plain::checklist(&self.feature, &stored.text);
        self.folder
            .write_below("checklists", "requirements.md", &list)?;
        self.settings.project.set_active(&self.folder)?;
        let open = markers(&stored.text);
        if !open.is_empty() {
            stored.remarks.push(format!(
                "Open questions, for speckit.clarify:\n{}",
                numbered(&open)
            ));
        }
        Ok(answer("Specification", stored))
    }

    async fn clarify(self) -> Result<CallToolResult, Failure> {
        let steps = self.steps("Looking for open questions...");
        let spec = self.folder.read(SPEC)?.unwrap_or_default();
        let named = self
            .arguments
            .questions
            .iter()
            .map(|it| it.trim().to_owned());
        let mut questions: Vec<String> = named.filter(|it| !it.is_empty()).collect();
        if questions.is_empty() {
            questions = plain::questions(&spec);
        }
        let left = questions.len().saturating_sub(MOST_QUESTIONS);
        questions.truncate(MOST_QUESTIONS);
        if questions.is_empty() {
            return Ok(text("Nothing in spec.md is open.".to_owned()));
        }
        let path = self.folder.path().join(SPEC);
        let answers = match clarify::ask(&self.context, &self.feature.name, &questions).await? {
            Asked::Answers(answers) => answers,
            Asked::Declined => {
                return Ok(text(format!(
                    "No answers were given; {} questions stay open.",
                    questions.len()
                )));
            }
            Asked::Unasked => {
                return Ok(text(format!(
                    "These questions are open, and the client cannot ask a person:\n{}\n\nWrite the \
                     answers into {} in place of the marks, and under \"## Clarifications\" / \
                     \"### Session {}\" as \"- Q: question \u{2192} A: answer\".",
                    numbered(&questions),
                    path.display(),
                    self.feature.date
                )));
            }
        };
        self.context.redeem()?;
        if answers.is_empty() {
            return Ok(text(format!(
                "All {} questions stay open.",
                questions.len()
            )));
        }
        let clarified = clarify::with_answers(&spec, &self.feature.date, &answers);
        // Answers are a person's words: they are kept like an edit when the document is written
        // again.
        self.folder.write_edit(SPEC, &clarified)?;
        steps.reach(ALL, "spec.md is written");
        let open = questions.len() - answers.len() + left;
        Ok(text(format!(
            "Wrote {} answers into {}; {open} questions stay open.",
            answers.len(),
            path.display()
        )))
    }

    async fn plan(self) -> Result<CallToolResult, Failure> {
        let steps = self.steps("Reading the specification...");
        let spec = self.folder.read(SPEC)?.unwrap_or_default();
        let root = self.settings.project.root();
        let principles = principles(root);
        let draft = plain::plan(&self.feature, &spec, Layout::of(root), &principles);
        let assignment = Assignment {
            feature: &self.feature,
            work: prompts::PLAN,
            draft: &draft,
            sources: vec![("specification", &spec)],
        };
        let composed = compose(&self.settings, &self.folder, &steps, PLAN, &assignment).await?;
        self.context.redeem()?;
        let mut stored = store(&self.folder, PLAN, composed)?;
        steps.reach(WRITTEN, "plan.md is written");
        let open = markers(&spec).len();
        if open > 0 {
            stored.remarks.push(format!(
                "spec.md still marks {open} questions; speckit.clarify asks them."
            ));
        }
        Ok(answer("Implementation plan", stored))
    }

    async fn tasks(self) -> Result<CallToolResult, Failure> {
        let steps = self.steps("Reading the plan...");
        let spec = self.folder.read(SPEC)?.unwrap_or_default();
        let plan = self.folder.read(PLAN)?.unwrap_or_default();
        let former = self.folder.read(TASKS)?.unwrap_or_default();
        let layout = Layout::of(self.settings.project.root());
        let draft = plain::tasks(&self.feature, &spec, &plan, layout, &former);
        let mut assignment = Assignment {
            feature: &self.feature,
            work: prompts::TASKS,
            draft: &draft,
            sources: vec![("specification", &spec), ("plan", &plan)],
        };
        if !former.is_empty() {
            assignment.sources.push(("present", &former));
        }
        let composed = compose(&self.settings, &self.folder, &steps, TASKS, &assignment).await?;
        self.context.redeem()?;
        let mut stored = store(&self.folder, TASKS, composed)?;
        steps.reach(WRITTEN, "tasks.md is written");
        let list = TaskList::parse(&stored.text);
        match list.waves(&list.open(None)) {
            Ok(_) => stored.remarks.push(format!("{} tasks.", list.tasks.len())),
            Err(error) => stored
                .remarks
                .push(format!("They cannot run yet: {error}.")),
        }
        Ok(answer("Task list", stored))
    }

    async fn implement(self) -> Result<CallToolResult, Failure> {
        let agent = self.settings.agent.clone();
        let agent = agent.filter(|_| self.settings.writer != Writer::Plain);
        let agent = agent.ok_or_else(|| Failure::new(NO_AGENT))?;
        let tasks = self.folder.read(TASKS)?.unwrap_or_default();
        let list = TaskList::parse(&tasks);
        let filter = self.arguments.task_filter.as_deref();
        let open = list.open(filter);
        if open.is_empty() {
            let all = list.tasks.len();
            return match (filter, list.done()) {
                (_, done) if done == all => Ok(text(format!("All {all} tasks are done."))),
                (filter, _) => Err(Failure::new(format!(
                    "no open task matches \"{}\"; name tasks like T003, T003-T007, US1, or words \
                     of them",
                    filter.unwrap_or_default()
                ))),
            };
        }
        let waves = list.waves(&open)?;
        let steps = Steps::new(&self.context, as_steps(open.len()), 1.0);
        let run = Run {
            agent,
            folder: self.folder.clone(),
            feature: self.feature.clone(),
            list,
            steps,
        };
        run.work(waves).await
    }
}

/// The principles of a project: the headings of its constitution.
fn principles(root: &std::path::Path) -> Vec<String> {
    let path = root.join(CONSTITUTION);
    let is_plain = path.symlink_metadata().is_ok_and(|it| it.is_file());
    let text = is_plain
        .then(|| std::fs::read_to_string(path).ok())
        .flatten();
    let text = text.unwrap_or_default();
    let headings = text.lines().filter_map(|it| it.strip_prefix("### "));
    headings.map(|it| it.trim().to_owned()).take(50).collect()
}

fn numbered(questions: &[String]) -> String {
    let lines = questions.iter().enumerate();
    let lines: Vec<String> = lines.map(|(at, it)| format!("{}. {it}", at + 1)).collect();
    lines.join("\n")
}

fn text(text: String) -> CallToolResult {
    CallToolResult {
        content: vec![Content::text(text)],
        ..CallToolResult::default()
    }
}

/// The seed's sentence, then what else there is to say.
fn answer(what: &str, stored: Stored) -> CallToolResult {
    let Stored {
        became,
        path,
        remarks,
        ..
    } = stored;
    CallToolResult {
        content: vec![
            Content::text(format!("{what} {became} successfully at {path}")),
            Content::text(remarks.join("\n")),
        ],
        ..CallToolResult::default()
    }
}
