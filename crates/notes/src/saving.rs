//! Committing one saved note, and nothing else.

use std::time::Duration;

use crate::git::{Git, GitError};

const LIMIT: Duration = Duration::from_secs(30);

/// Who commits, whatever the user's settings are: it was no person.
const AUTHOR: [&str; 4] = [
    "-c",
    "user.name=Attaché notes",
    "-c",
    "user.email=notes@attache.invalid",
];

/// Commits the file at `path` only, whatever else is staged. `None` outside of a repository.
pub(crate) async fn commit(git: &Git, path: &str) -> Result<Option<String>, GitError> {
    let inside = git
        .run(&["rev-parse", "--is-inside-work-tree"], LIMIT)
        .await;
    match inside {
        Ok(inside) if inside.trim() == "true" => {}
        Ok(_) | Err(GitError::Failed(_)) => return Ok(None),
        Err(error) => return Err(error),
    }
    git.run(&["add", "--", path], LIMIT).await?;
    let message = format!("Save {path}");
    let mut words = AUTHOR.to_vec();
    words.extend([
        "commit",
        "--quiet",
        "--no-verify",
        "-m",
        &message,
        "--only",
        "--",
        path,
    ]);
    git.run(&words, LIMIT).await?;
    let commit = git.run(&["rev-parse", "HEAD"], LIMIT).await?;
    Ok(Some(commit.trim().to_owned()))
}
