//! Tools: what an author registers.
//!
//! Owns the description of a tool, its handler, and what a handler may answer with. Arguments are
//! checked against the schema before a handler sees them; handlers know nothing of the wire.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use attache_protocol::{
    self as protocol, CallToolResult, Content, Json, ToolAnnotations, ToolExecution,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::failure::{BuildError, Failure};
use crate::schema::{Compiled, MirroredArgument};

/// A future that a handler returns.
pub(crate) type HandlerFuture<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

type Handler = dyn Fn(Context, Json) -> HandlerFuture<CallToolResult> + Send + Sync;

/// Whether a call of a tool can become a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// It never does.
    #[default]
    Forbidden,
    /// It does if the client of 2025-11-25 asks for it, or a modern client knows the extension.
    Optional,
    /// It cannot be called otherwise.
    Required,
}

/// When a call becomes a task, if it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskStart {
    /// Before the handler runs.
    #[default]
    AtOnce,
    /// When the handler calls [`Context::detach`]; what it asks before that is settled first
    /// (S-TSKE-19). In 2025-11-25, where the client decides, still at once.
    WhenDetached,
}

/// A tool: a description and a handler.
///
/// ```
/// use attache_server::{Tool, schemars};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum { a: i64, b: i64 }
///
/// let add = Tool::new("add", "Adds two numbers.", |_, sum: Sum| async move {
///     Ok((sum.a + sum.b).to_string())
/// });
/// ```
#[derive(Clone)]
pub struct Tool {
    pub(crate) description: protocol::Tool,
    pub(crate) handler: Arc<Handler>,
    pub(crate) tasks: TaskSupport,
    pub(crate) task_start: TaskStart,
}

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
pub struct NoArguments {}

impl Tool {
    /// A tool whose arguments and schema are those of the type `A`.
    pub fn new<A, O, F, R>(name: impl Into<String>, description: &str, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        O: ToolOutput,
        F: Fn(Context, A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let mut tool = Self::raw(name, description, schema_of::<A>(), move |context, raw| {
            let handler = Arc::clone(&handler);
            async move {
                let arguments = raw.decode().map_err(Failure::misfit)?;
                handler(context, arguments).await?.into_result()
            }
        });
        tool.description.output_schema = O::schema();
        tool
    }

    /// A tool that computes or blocks: its handler runs on a thread of its own, where it can look
    /// at [`Context::is_cancelled`].
    pub fn blocking<A, O, F>(name: impl Into<String>, description: &str, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        O: ToolOutput,
        F: Fn(&Context, A) -> Result<O, Failure> + Send + Sync + 'static,
    {
        let handler = Arc::new(handler);
        Self::new(name, description, move |context: Context, arguments: A| {
            let handler = Arc::clone(&handler);
            async move {
                let work = move || handler(&context, arguments);
                match tokio::task::spawn_blocking(work).await {
                    Ok(outcome) => outcome,
                    Err(error) => match error.try_into_panic() {
                        // The call is answered where every other panic of a handler is.
                        Ok(panic) => std::panic::resume_unwind(panic),
                        Err(error) => Err(Failure::internal(error.to_string())),
                    },
                }
            }
        })
    }

    /// A tool with a schema of its own that gets its arguments as they came. They satisfy the
    /// schema when the handler is called.
    pub fn raw<O, F, R>(
        name: impl Into<String>,
        description: &str,
        input_schema: Json,
        handler: F,
    ) -> Self
    where
        O: ToolOutput,
        F: Fn(Context, Json) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let mut tool = protocol::Tool::new(name, input_schema);
        tool.description = Some(description.to_owned());
        Self {
            description: tool,
            handler: Arc::new(move |context, arguments| {
                let work = handler(context, arguments);
                Box::pin(async move { work.await?.into_result() })
            }),
            tasks: TaskSupport::Forbidden,
            task_start: TaskStart::AtOnce,
        }
    }

    /// Gives it a name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.description.title = Some(title.into());
        self
    }

    /// Says what it does to the world.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.description.annotations = Some(annotations);
        self
    }

    /// Promises structured results of this schema; each is checked before it is sent.
    #[must_use]
    pub fn output_schema(mut self, schema: Json) -> Self {
        self.description.output_schema = Some(schema);
        self
    }

    /// Lets calls become tasks.
    #[must_use]
    pub fn tasks(mut self, support: TaskSupport) -> Self {
        self.tasks = support;
        self.description.execution = Some(ToolExecution {
            task_support: Some(support.as_str().to_owned()),
            ..ToolExecution::default()
        });
        self
    }

    /// Chooses when a call becomes a task.
    #[must_use]
    pub fn task_start(mut self, start: TaskStart) -> Self {
        self.task_start = start;
        self
    }

    /// Changes anything else of the description, such as icons and metadata. The name stays.
    #[must_use]
    pub fn describe(mut self, change: impl FnOnce(&mut protocol::Tool)) -> Self {
        let name = self.description.name.clone();
        change(&mut self.description);
        self.description.name = name;
        self
    }

    pub(crate) fn prepare(self) -> Result<PreparedTool, BuildError> {
        let name = &self.description.name;
        let is_allowed = |it: u8| it.is_ascii_alphanumeric() || b"_.-".contains(&it);
        if !(1..=128).contains(&name.len()) || !name.bytes().all(is_allowed) {
            return Err(BuildError::BadToolName(name.clone()));
        }
        let bad_schema = |reason: String| BuildError::BadSchema {
            tool: name.clone(),
            reason,
        };
        let input = self.description.input_schema.clone().unwrap_or_default();
        let arguments = Compiled::of_arguments(&input).map_err(bad_schema)?;
        let mirrored = MirroredArgument::of_schema(&input).map_err(bad_schema)?;
        let result = match &self.description.output_schema {
            Some(schema) => Some(Compiled::of_result(schema).map_err(bad_schema)?),
            None => None,
        };
        Ok(PreparedTool {
            arguments,
            result,
            mirrored: mirrored.into(),
            tool: self,
        })
    }
}

impl TaskSupport {
    fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

/// A tool whose schemas are compiled.
pub(crate) struct PreparedTool {
    pub(crate) tool: Tool,
    arguments: Compiled,
    result: Option<Compiled>,
    pub(crate) mirrored: Arc<[MirroredArgument]>,
}

impl PreparedTool {
    /// Checks arguments against the schema. Absent ones are an empty object.
    pub(crate) fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        self.arguments.check(arguments)
    }

    /// Checks a result against what the tool promised (S-TOOL-11).
    pub(crate) fn check_result(&self, result: &CallToolResult) -> Result<(), String> {
        let Some(schema) = self.result.as_ref().filter(|_| !result.is_error) else {
            return Ok(());
        };
        match result.structured() {
            Some(value) => schema.check(&value),
            None => Err("the structured content is missing".to_owned()),
        }
    }
}

impl Failure {
    /// The arguments satisfied the schema but not the type. Both come from the same type, so this
    /// is about what schemas cannot say, and the caller can do better.
    fn misfit(error: serde_json::Error) -> Self {
        Self::new(format!("the arguments do not fit: {error}"))
    }
}

fn schema_of<T: JsonSchema>() -> Json {
    Json::from(schemars::schema_for!(T).to_value())
}

/// What a tool's handler may answer with.
pub trait ToolOutput: Send + 'static {
    /// The schema of the structured content, if every answer has some.
    fn schema() -> Option<Json> {
        None
    }

    /// The answer on the wire.
    fn into_result(self) -> Result<CallToolResult, Failure>;
}

impl ToolOutput for CallToolResult {
    fn into_result(self) -> Result<CallToolResult, Failure> {
        Ok(self)
    }
}

impl ToolOutput for Vec<Content> {
    fn into_result(self) -> Result<CallToolResult, Failure> {
        Ok(CallToolResult {
            content: self,
            ..CallToolResult::default()
        })
    }
}

impl ToolOutput for Content {
    fn into_result(self) -> Result<CallToolResult, Failure> {
        vec![self].into_result()
    }
}

impl ToolOutput for String {
    fn into_result(self) -> Result<CallToolResult, Failure> {
        Content::text(self).into_result()
    }
}

impl ToolOutput for &'static str {
    fn into_result(self) -> Result<CallToolResult, Failure> {
        Content::text(self).into_result()
    }
}

impl ToolOutput for () {
    fn into_result(self) -> Result<CallToolResult, Failure> {
        Ok(CallToolResult::default())
    }
}

/// A structured answer: the value under `structuredContent`, and the same as text for clients that
/// do not know it (S-TOOL-11). Its schema becomes the tool's `outputSchema`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structured<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> ToolOutput for Structured<T> {
    fn schema() -> Option<Json> {
        Some(schema_of::<T>())
    }

    fn into_result(self) -> Result<CallToolResult, Failure> {
        let json = Json::from_serialize(&self.0)?;
        Ok(CallToolResult {
            content: vec![Content::text(json.as_str())],
            structured_content: Some(json),
            ..CallToolResult::default()
        })
    }
}
