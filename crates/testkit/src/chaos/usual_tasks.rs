//! How a correct server answers about tasks, in both forms.
//!
//! Owns the methods under `tasks/` and the result that creates a task. Refuses
//! to know how a task lives (`tasks`).

use std::time::Duration;

use serde_json::{Value, json};

use super::action::{Action, AfterAsking, Ask};
use super::engine::Engine;
use super::play::Step;
use super::reply::{RpcError, TaskPlan};
use super::request::{RELATED_TASK_KEY, Request, TASKS_EXTENSION, Wire};
use super::tasks::Standing;
use super::usual::{
    Usual, ask_again_after, complete, invalid_params, required_text, unknown_method, unseen_task,
};

/// How often a blocked `tasks/result` looks at a task without a known end.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Creates a task if this request may have one, and does the work unseen
/// otherwise.
pub(super) fn create(engine: &Engine, request: &Request, plan: &TaskPlan) -> Usual {
    let wanted = match request.wire {
        Wire::Legacy => request.params.get("task").is_some(),
        Wire::Modern => request.declares_tasks(),
    };
    if !wanted {
        return unseen_task(engine, request, plan);
    }
    let ttl = request.params["task"]["ttl"].clone();
    engine.session(|session| {
        let id = session.tasks.create(plan.clone(), ttl);
        match request.wire {
            Wire::Legacy => {
                let task = session.tasks.legacy_object(&id).unwrap_or_default();
                Usual::Result(json!({"task": task}))
            }
            Wire::Modern => {
                let mut task = session.tasks.modern_object(&id).unwrap_or_default();
                task["resultType"] = json!("task");
                Usual::Result(task)
            }
        }
    })
}

/// The methods of 2025-11-25.
pub(super) fn legacy(engine: &Engine, request: &Request) -> Result<Usual, RpcError> {
    if request.method == "tasks/list" {
        let tasks = engine.session(|session| session.tasks.legacy_objects());
        return Ok(Usual::Result(json!({"tasks": tasks})));
    }
    let (id, standing) = named_task(engine, request)?;
    match request.method.as_str() {
        "tasks/get" => {}
        "tasks/cancel" if standing.is_terminal() => {
            return Err(invalid_params("The task has ended already"));
        }
        "tasks/cancel" => engine.session(|session| session.tasks.cancel(id)),
        "tasks/result" => return Ok(legacy_result(id, standing)),
        _ => return Err(unknown_method(request)),
    }
    let task = engine.session(|session| session.tasks.legacy_object(id));
    Ok(Usual::Result(task.unwrap_or_default()))
}

/// Blocks until the task has ended, asking for input as a request meanwhile.
fn legacy_result(id: &str, standing: Standing) -> Usual {
    let related = json!({RELATED_TASK_KEY: {"taskId": id}});
    match standing {
        Standing::Working(time) => ask_again_after(time.unwrap_or(LOOK_INTERVAL)),
        Standing::InputRequired(missing) => {
            let mut steps = Vec::new();
            for (key, entry) in missing {
                let mut params = entry["params"].clone();
                if params.is_null() {
                    params = json!({});
                }
                params["_meta"] = related.clone();
                steps.push(Step::Act(Action::Ask(Ask {
                    method: entry["method"].as_str().unwrap_or_default().to_owned(),
                    params,
                    then: AfterAsking::AwaitAnswer,
                })));
                steps.push(Step::GiveTaskInput {
                    task: id.to_owned(),
                    key,
                });
            }
            steps.push(Step::Act(Action::usual()));
            Usual::Steps(steps)
        }
        Standing::Completed(mut result) => {
            result["_meta"] = related;
            Usual::Result(result)
        }
        Standing::Failed(error) => Usual::Error(error),
        Standing::Cancelled => {
            Usual::Error(RpcError::new(-32603, "The task was cancelled", Value::Null))
        }
    }
}

/// The methods of the extension.
pub(super) fn modern(engine: &Engine, request: &Request) -> Result<Usual, RpcError> {
    if !["tasks/get", "tasks/update", "tasks/cancel"].contains(&request.method.as_str()) {
        return Err(unknown_method(request));
    }
    if !request.declares_tasks() {
        let required = json!({"extensions": {TASKS_EXTENSION: {}}});
        let data = json!({"requiredCapabilities": required});
        return Err(RpcError::new(-32021, "The tasks extension is needed", data));
    }
    let (id, _) = named_task(engine, request)?;
    let result = engine.session(|session| match request.method.as_str() {
        "tasks/get" => session.tasks.modern_object(id).unwrap_or_default(),
        "tasks/cancel" => {
            session.tasks.cancel(id);
            json!({})
        }
        _ => {
            let given = request.params["inputResponses"].as_object();
            for (key, value) in given.into_iter().flatten() {
                session.tasks.give_input(id, key, value.clone());
            }
            json!({})
        }
    });
    Ok(complete(engine, request, result))
}

fn named_task<'a>(engine: &Engine, request: &'a Request) -> Result<(&'a str, Standing), RpcError> {
    let id = required_text(request, "taskId")?;
    engine
        .session(|session| session.tasks.standing(id))
        .map(|standing| (id, standing))
        .ok_or_else(|| invalid_params("Unknown task"))
}
