//! Tasks of a well-behaved server, in both forms.
//!
//! Owns the life of a task (2025-11-25 and the extension of 2026-07-28): its
//! state follows from the plan, the time since its creation, the input given
//! and whether it was cancelled. Refuses to know who asks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::reply::{RpcError, TaskEnding, TaskPlan};

/// The tasks of one process, by id.
#[derive(Default)]
pub(super) struct Tasks {
    by_id: BTreeMap<String, Task>,
    made: u64,
}

struct Task {
    plan: TaskPlan,
    ttl: Value,
    created: Instant,
    created_at: String,
    given: Map<String, Value>,
    cancelled: bool,
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// For this long, as far as is known.
    Working(Option<Duration>),
    /// The entries not yet given.
    InputRequired(Map<String, Value>),
    Completed(Value),
    Failed(RpcError),
    Cancelled,
}

impl Standing {
    pub(super) fn is_terminal(&self) -> bool {
        !matches!(self, Self::Working(_) | Self::InputRequired(_))
    }

    /// The status word. Under 2025-11-25 a tool error is `failed`
    /// (X-TSKX-15), in the extension it is `completed` (S-TSKE-13).
    fn status(&self, tool_error: &'static str) -> &'static str {
        match self {
            Self::Working(_) => "working",
            Self::InputRequired(_) => "input_required",
            Self::Completed(result) if result["isError"] == true => tool_error,
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Tasks {
    /// Creates a task and returns its id.
    pub(super) fn create(&mut self, plan: TaskPlan, ttl: Value) -> String {
        self.made += 1;
        let id = format!("task-{}-{}", std::process::id(), self.made);
        let task = Task {
            plan,
            ttl,
            created: Instant::now(),
            created_at: timestamp(SystemTime::now()),
            given: Map::new(),
            cancelled: false,
        };
        self.by_id.insert(id.clone(), task);
        id
    }

    pub(super) fn standing(&self, id: &str) -> Option<Standing> {
        Some(self.by_id.get(id)?.standing())
    }

    /// Gives one piece of input. Unknown tasks and keys are ignored.
    pub(super) fn give_input(&mut self, id: &str, key: &str, value: Value) {
        if let Some(task) = self.by_id.get_mut(id)
            && task.plan.input.get(key).is_some()
        {
            task.given.insert(key.to_owned(), value);
        }
    }

    pub(super) fn cancel(&mut self, id: &str) {
        if let Some(task) = self.by_id.get_mut(id)
            && !task.standing().is_terminal()
        {
            task.cancelled = true;
        }
    }

    /// The task object of 2025-11-25.
    pub(super) fn legacy_object(&self, id: &str) -> Option<Value> {
        let task = self.by_id.get(id)?;
        let mut object = task.common(id, "failed");
        object["ttl"] = task.ttl.clone();
        object["pollInterval"] = json!(task.plan.poll_interval_ms);
        Some(object)
    }

    /// The task fields of the 2026-07-28 extension, without `resultType`.
    pub(super) fn modern_object(&self, id: &str) -> Option<Value> {
        let task = self.by_id.get(id)?;
        let mut object = task.common(id, "completed");
        object["ttlMs"] = task.ttl.clone();
        object["pollIntervalMs"] = json!(task.plan.poll_interval_ms);
        match task.standing() {
            Standing::InputRequired(requests) => object["inputRequests"] = requests.into(),
            Standing::Completed(result) => object["result"] = result,
            Standing::Failed(error) => object["error"] = error.to_value(),
            Standing::Working(_) | Standing::Cancelled => {}
        }
        Some(object)
    }

    pub(super) fn legacy_objects(&self) -> Vec<Value> {
        let ids = self.by_id.keys();
        ids.filter_map(|id| self.legacy_object(id)).collect()
    }
}

impl Task {
    fn standing(&self) -> Standing {
        if self.cancelled {
            return Standing::Cancelled;
        }
        let age = self.created.elapsed();
        if age < self.plan.working {
            return Standing::Working(Some(self.plan.working - age));
        }
        let wanted = self.plan.input.as_object().cloned().unwrap_or_default();
        let missing: Map<_, _> = wanted
            .into_iter()
            .filter(|(key, _)| !self.given.contains_key(key))
            .collect();
        if !missing.is_empty() {
            return Standing::InputRequired(missing);
        }
        match &self.plan.ending {
            TaskEnding::Completed(result) => {
                let mut result = result.clone();
                if !self.given.is_empty() && result.is_object() {
                    result["structuredContent"] = json!({"inputResponses": self.given});
                }
                Standing::Completed(result)
            }
            TaskEnding::Failed(error) => Standing::Failed(error.clone()),
            TaskEnding::Never => Standing::Working(None),
        }
    }

    fn common(&self, id: &str, tool_error: &'static str) -> Value {
        json!({
            "taskId": id,
            "status": self.standing().status(tool_error),
            "createdAt": self.created_at,
            "lastUpdatedAt": timestamp(SystemTime::now()),
        })
    }
}

/// A time as `2025-11-25T10:30:00Z`, by the proleptic Gregorian calendar.
fn timestamp(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    while days >= days_in_year(year) {
        days -= days_in_year(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_in_month(year, month) {
        days -= days_in_month(year, month);
        month += 1;
    }
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let day = days + 1;
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z",
        second % 60
    )
}

fn days_in_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_calendar_dates() {
        let check = |seconds, expected| {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(timestamp(time), expected);
        };
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_785_196_799, "2026-07-27T23:59:59Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
    }

    #[test]
    fn a_task_works_then_needs_input_then_completes() {
        let mut tasks = Tasks::default();
        let plan = TaskPlan::completing(Duration::ZERO, json!({"content": []}))
            .needing(json!({"name": {"method": "roots/list"}}));
        let id = tasks.create(plan, Value::Null);
        assert_eq!(
            tasks.modern_object(&id).unwrap()["status"],
            "input_required"
        );
        tasks.give_input(&id, "unknown", json!(1));
        assert!(!tasks.standing(&id).unwrap().is_terminal());
        tasks.give_input(&id, "name", json!({"roots": []}));
        assert_eq!(tasks.modern_object(&id).unwrap()["status"], "completed");
        tasks.cancel(&id);
        assert_eq!(tasks.legacy_object(&id).unwrap()["status"], "completed");
    }

    #[test]
    fn a_tool_error_is_failed_in_one_form_and_completed_in_the_other() {
        let mut tasks = Tasks::default();
        let result = json!({"content": [], "isError": true});
        let id = tasks.create(TaskPlan::completing(Duration::ZERO, result), json!(5));
        assert_eq!(tasks.legacy_object(&id).unwrap()["status"], "failed");
        assert_eq!(tasks.modern_object(&id).unwrap()["status"], "completed");
    }

    #[test]
    fn an_endless_task_ends_by_cancel_only() {
        let mut tasks = Tasks::default();
        let id = tasks.create(TaskPlan::endless(), Value::Null);
        assert_eq!(tasks.standing(&id), Some(Standing::Working(None)));
        tasks.cancel(&id);
        assert_eq!(tasks.standing(&id), Some(Standing::Cancelled));
        assert_eq!(tasks.standing("task-0-0"), None);
    }
}
