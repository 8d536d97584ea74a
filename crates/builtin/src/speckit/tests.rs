//! The tools over a real connection in memory, in both eras.

use std::sync::Arc;

use attache_client::protocol::{CallToolResult, Content, CreateMessageResult, ElicitResult, Json};
use attache_client::{Client, ElicitationModes, EraChoice, Refusal, SamplingTools};
use attache_speckit::{Project, TaskList};
use attache_testkit::scratch::Scratch;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{AgentCommand, SpeckitSettings, Writer, server};

const ERAS: [EraChoice; 2] = [EraChoice::Legacy, EraChoice::Modern];

struct Folder {
    scratch: Scratch,
    settings: SpeckitSettings,
}

impl Folder {
    fn new() -> Self {
        let scratch = Scratch::new("speckit").unwrap();
        let settings = SpeckitSettings::new(Project::open(scratch.path()).unwrap());
        Self { scratch, settings }
    }

    #[cfg(unix)]
    fn with_agent(script: &str) -> Self {
        let mut folder = Self::new();
        let words = ["sh", "-c", script].map(str::to_owned).to_vec();
        folder.settings.agent = Some(AgentCommand::new(words).unwrap());
        folder
    }

    fn text(&self, file: &str) -> String {
        let path = self.scratch.path().join("specs/001-a").join(file);
        std::fs::read_to_string(path).unwrap()
    }

    async fn connect(
        &self,
        era: EraChoice,
        with: impl FnOnce(attache_client::Server) -> attache_client::Server,
    ) -> Client {
        let (description, stream) = attache_client::Server::memory();
        let (read, write) = tokio::io::split(stream);
        let server = server(self.settings.clone()).unwrap();
        tokio::spawn(async move { server.serve(read, write).await });
        with(description.era(era)).connect().await.unwrap()
    }
}

async fn call(client: &Client, tool: &str, more: Value) -> CallToolResult {
    let mut arguments = json!({"spec_directory": "specs/001-a"});
    if let (Some(all), Value::Object(more)) = (arguments.as_object_mut(), more) {
        all.extend(more);
    }
    client.call(tool, Json::from(arguments)).await.unwrap()
}

async fn specify(client: &Client, description: &str) -> CallToolResult {
    call(
        client,
        "speckit.specify",
        json!({"feature_description": description}),
    )
    .await
}

/// The schemas and descriptions of seed 003.
#[tokio::test]
async fn seed_003_tools_are_listed_as_written() {
    let folder = Folder::new();
    let client = folder.connect(EraChoice::Legacy, |it| it).await;
    let directory =
        json!({"type": "string", "description": "Absolute path to specification directory"});
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let tools = client.list_tools().await.unwrap();
    let listed: Vec<(String, Value)> = tools
        .iter()
        .map(|it| {
            let schema = it.input_schema.as_ref().unwrap().as_str();
            (it.name.clone(), serde_json::from_str(schema).unwrap())
        })
        .collect();
    let only_directory = object(
        json!({"spec_directory": directory}),
        json!(["spec_directory"]),
    );
    assert_eq!(
        listed,
        [
            (
                "speckit.specify".to_owned(),
                object(
                    json!({
                        "feature_description": {
                            "type": "string",
                            "description": "Natural language description of the feature",
                        },
                        "spec_directory": directory,
                    }),
                    json!(["feature_description", "spec_directory"]),
                )
            ),
            (
                "speckit.clarify".to_owned(),
                object(
                    json!({
                        "spec_directory": directory,
                        "questions": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Specific questions to clarify (optional)",
                        },
                    }),
                    json!(["spec_directory"]),
                )
            ),
            ("speckit.plan".to_owned(), only_directory.clone()),
            ("speckit.tasks".to_owned(), only_directory),
            (
                "speckit.implement".to_owned(),
                object(
                    json!({
                        "spec_directory": directory,
                        "task_filter": {
                            "type": "string",
                            "description": "Optional filter for specific tasks to implement",
                        },
                    }),
                    json!(["spec_directory"]),
                )
            ),
        ]
    );
    let described: Vec<_> = tools
        .iter()
        .filter_map(|it| it.description.clone())
        .collect();
    assert_eq!(described[0], "Create or update feature specification");
    assert_eq!(described[2], "Generate implementation plan");
}

#[tokio::test]
async fn a_person_clarifies_through_elicitation_and_the_answers_stay() {
    for era in ERAS {
        let folder = Folder::new();
        let client = folder
            .connect(era, |it| {
                it.on_elicitation(ElicitationModes::Form, |params| async move {
                    let schema = params.requested_schema.unwrap();
                    let is_asked = ["fast", "Who pays?"].map(|it| schema.as_str().contains(it));
                    assert!(is_asked.contains(&true), "{schema:?}");
                    ElicitResult::accept(Json::from(json!({"q1": "below 50 ms", "q2": "  "})))
                })
            })
            .await;
        specify(&client, "Readers can search. It is fast.").await;
        let answered = call(&client, "speckit.clarify", json!({})).await;
        assert!(
            answered.text().starts_with("Wrote 1 answers"),
            "{answered:?}"
        );
        let check = |spec: &str| {
            assert!(spec.contains("(US2) below 50 ms\n"), "{spec}");
            assert!(
                spec.contains("## Clarifications\n\n### Session 20"),
                "{spec}"
            );
            assert!(spec.contains("\u{2192} A: below 50 ms"), "{spec}");
        };
        check(&folder.text("spec.md"));
        specify(
            &client,
            "Readers can search. It is fast. Readers can export.",
        )
        .await;
        check(&folder.text("spec.md"));
        assert!(folder.text("spec.md").contains("Readers can export"));
        let asked = json!({"questions": ["Who pays?"]});
        let asked = call(&client, "speckit.clarify", asked).await;
        assert!(asked.text().starts_with("Wrote 1 answers"), "{asked:?}");
    }
}

#[tokio::test]
async fn questions_are_returned_where_nobody_can_be_asked() {
    let folder = Folder::new();
    let client = folder.connect(EraChoice::Legacy, |it| it).await;
    specify(&client, "It is fast").await;
    let before = folder.text("spec.md");
    let asked = call(&client, "speckit.clarify", json!({})).await;
    assert!(
        asked.text().contains("1. what does \"fast\" mean"),
        "{asked:?}"
    );
    assert_eq!(folder.text("spec.md"), before);
}

#[tokio::test]
async fn the_clients_model_writes_and_the_plain_writer_stands_in() {
    for era in ERAS {
        let folder = Folder::new();
        let prompts = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&prompts);
        let client = folder
            .connect(era, |it| {
                it.on_sampling(SamplingTools::Refused, move |params| {
                    let prompt = params.messages.iter().next().unwrap().content[0].clone();
                    seen.lock().push(prompt.as_text().unwrap().to_owned());
                    let is_first = seen.lock().len() == 1;
                    async move {
                        if !is_first {
                            // A person in place of a model; in legacy sessions a no will do as well.
                            return match era {
                                EraChoice::Modern => {
                                    Ok(CreateMessageResult::new("person", Content::text("-")))
                                }
                                _ => Err(Refusal::new("not now")),
                            };
                        }
                        let document = "Sure:\n```md\n# Feature Specification: By a model\n\n- \
                                        **FR-001**: MUST work\n- **SC-001**: 1 s\n```\n";
                        Ok(CreateMessageResult::new("m", Content::text(document)))
                    }
                })
            })
            .await;
        let written = specify(&client, "Readers can search").await;
        assert!(
            written.text().contains("the client's model m"),
            "{written:?}"
        );
        assert_eq!(
            folder.text("spec.md"),
            "# Feature Specification: By a model\n\n- **FR-001**: MUST work\n- **SC-001**: 1 s\n"
        );
        assert!(prompts.lock()[0].contains("Readers can search"));
        let planned = call(&client, "speckit.plan", json!({})).await;
        assert!(
            planned.text().contains("the plain writer, because"),
            "{planned:?}"
        );
        assert!(folder.text("plan.md").contains("| FR-001 |"));
    }
}

#[tokio::test]
async fn prerequisites_are_said_and_foreign_documents_are_left() {
    let folder = Folder::new();
    let client = folder.connect(EraChoice::Legacy, |it| it).await;
    let refused = call(&client, "speckit.tasks", json!({})).await;
    assert!(refused.is_error);
    assert_eq!(refused.text(), "there is no spec.md yet; run specify first");
    folder
        .scratch
        .write("specs/001-a/spec.md", "# By hand\n")
        .unwrap();
    let written = specify(&client, "Readers can search").await;
    assert!(
        written.text().contains("proposed successfully at"),
        "{written:?}"
    );
    assert_eq!(folder.text("spec.md"), "# By hand\n");
    assert!(
        folder
            .text("spec.proposed.md")
            .contains("Readers can search")
    );
    let active = folder.settings.project.active();
    assert_eq!(active.as_deref(), Some("specs/001-a"));
}

#[tokio::test]
async fn without_an_agent_implement_says_what_to_configure() {
    let mut folder = Folder::new();
    folder
        .scratch
        .write("specs/001-a/tasks.md", "- [ ] T001 a in b.rs\n")
        .unwrap();
    let client = folder.connect(EraChoice::Legacy, |it| it).await;
    let refused = call(&client, "speckit.implement", json!({})).await;
    assert!(refused.is_error);
    assert!(
        refused.text().contains("agent = [\"claude\", \"-p\"]"),
        "{refused:?}"
    );
    folder.settings.writer = Writer::Agent;
    let client = folder.connect(EraChoice::Legacy, |it| it).await;
    assert!(specify(&client, "x").await.is_error);
}

/// Documents come from the agent's answer, whatever it chats around it.
#[cfg(unix)]
#[tokio::test]
async fn an_agent_writes_documents_and_its_lines_are_progress() {
    let folder = Folder::with_agent(
        "cat >prompt; echo thinking >&2; echo 'Here:'; echo '# Feature Specification: A'; echo; \
         echo '- **FR-001**: MUST'; echo '- **SC-001**: 1 s'",
    );
    let client = folder.connect(EraChoice::Legacy, |it| it).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let arguments = json!({"spec_directory": "specs/001-a", "feature_description": "search"});
    let written = client
        .call("speckit.specify", Json::from(arguments))
        .on_progress(move |it| heard.lock().push((it.progress, it.message.clone())))
        .await
        .unwrap();
    assert!(!written.is_error, "{written:?}");
    assert!(
        folder
            .text("spec.md")
            .starts_with("# Feature Specification: A\n")
    );
    let told = told.lock().clone();
    let has = |line: &str| told.iter().any(|(_, it)| it.as_deref() == Some(line));
    assert!(has("thinking") && has("Here:"), "{told:?}");
    assert!(told.windows(2).all(|it| it[0].0 < it[1].0), "{told:?}");
    let prompt = std::fs::read_to_string(folder.scratch.path().join("prompt")).unwrap();
    assert!(
        prompt.contains("<description>\nsearch\n</description>"),
        "{prompt}"
    );

    let silent = Folder::with_agent("cat >/dev/null; echo done");
    let client = silent.connect(EraChoice::Legacy, |it| it).await;
    let failed = specify(&client, "search").await;
    assert!(
        failed.is_error && failed.text().contains("done"),
        "{failed:?}"
    );
}

const TASKS: &str = "\
## Phase 1: Setup
- [ ] T001 Make a.txt
- [ ] T002 [P] Make b.txt
- [ ] T003 [P] Make c.txt
- [ ] T004 [P] Make b.txt again
## Phase 2: Story
- [ ] T005 [US1] Use c.txt (depends on T003)
- [ ] T006 [US1] Use d.txt
";

/// Sequential tasks stop at a failure, `[P]` ones go on, and the next phase is not begun.
#[cfg(unix)]
#[tokio::test]
async fn a_failed_parallel_task_holds_back_the_next_phase_only() {
    let folder = Folder::with_agent(
        "prompt=$(cat); case $prompt in *'T003 Make'*) echo 'no c' >&2; exit 3;; esac",
    );
    folder.scratch.write("specs/001-a/tasks.md", TASKS).unwrap();
    let client = folder.connect(EraChoice::Legacy, |it| it).await;
    let run = call(&client, "speckit.implement", json!({})).await;
    assert!(run.is_error);
    let lines = run.text();
    assert!(
        lines.starts_with("3 tasks done, 1 failed, 2 not begun"),
        "{lines}"
    );
    assert!(
        lines.contains("T003 failed: the agent sh exited with code 3"),
        "{lines}"
    );
    assert!(lines.contains("no c"), "{lines}");
    assert!(lines.contains("T005 not begun: T003 failed"), "{lines}");
    let list = TaskList::parse(&folder.text("tasks.md"));
    let done: Vec<_> = list
        .tasks
        .iter()
        .filter(|it| it.is_done)
        .map(|it| it.id.as_str())
        .collect();
    assert_eq!(done, ["T001", "T002", "T004"]);

    let only = json!({"task_filter": "T006"});
    let run = call(&client, "speckit.implement", only).await;
    assert!(!run.is_error, "{run:?}");
    let waits = call(&client, "speckit.implement", json!({"task_filter": "T005"})).await;
    assert!(
        waits.text().contains("T005 not begun: T003 is not done"),
        "{waits:?}"
    );
    let none = call(
        &client,
        "speckit.implement",
        json!({"task_filter": "nothing"}),
    )
    .await;
    assert!(
        none.text().contains("no open task matches \"nothing\""),
        "{none:?}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_failed_sequential_task_ends_the_run() {
    let folder = Folder::with_agent("cat >/dev/null; exit 1");
    folder.scratch.write("specs/001-a/tasks.md", TASKS).unwrap();
    let client = folder.connect(EraChoice::Legacy, |it| it).await;
    let run = call(&client, "speckit.implement", json!({})).await;
    assert!(
        run.text()
            .starts_with("0 tasks done, 1 failed, 5 not begun"),
        "{run:?}"
    );
}
