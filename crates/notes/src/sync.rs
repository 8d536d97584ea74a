//! Bringing a folder up to date with its repository.
//!
//! Fetch, fast-forward or nothing, and have the difference looked at. Every refusal says in words
//! what is the matter, and leaves everything as it was. Calls at the same time share one sync; it is
//! given up when the last of them is, but not between the first changed file and the last.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::git::{Git, GitError};
use crate::identity::is_note_name;
use crate::vault::Vault;

/// How long fetching may take, and anything that git does without the network.
const FETCH_LIMIT: Duration = Duration::from_secs(300);
const LOCAL_LIMIT: Duration = Duration::from_secs(60);
/// How long a sync waits until all notes are searchable.
const INDEX_LIMIT: Duration = Duration::from_secs(60);
/// How many files a refusal names.
const MOST_NAMED: usize = 5;
/// Of so many files and bytes of their names git is asked for each; of more it looks at all it has,
/// which takes longer in a large folder than everything else.
const MOST_ASKED: usize = 500;
const LONGEST_ASKED: usize = 64 * 1024;

/// Where notes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The name of the remote.
    pub remote: String,
    /// The branch; the one that is checked out, if none is named.
    pub branch: Option<String>,
}

impl Default for Upstream {
    fn default() -> Self {
        Self {
            remote: "origin".to_owned(),
            branch: None,
        }
    }
}

impl Upstream {
    /// Whether both names can be handed to git.
    pub fn is_plain(&self) -> bool {
        let is_plain = |name: &str| {
            let is_allowed = |it: char| it.is_alphanumeric() || "/_.-+@#".contains(it);
            !name.is_empty()
                && !name.starts_with(['-', '/', '.'])
                && !name.contains("..")
                && !name.ends_with(['/', '.'])
                && name.chars().all(is_allowed)
        };
        is_plain(&self.remote) && self.branch.as_deref().is_none_or(is_plain)
    }
}

/// What a sync did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Synced {
    pub(crate) notes: usize,
    pub(crate) added: usize,
    pub(crate) changed: usize,
    pub(crate) removed: usize,
    /// The commits before and after.
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) took: Duration,
    /// How many notes are not searchable yet.
    pub(crate) pending: usize,
}

/// Why nothing was synced, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refusal(String);

impl From<GitError> for Refusal {
    fn from(error: GitError) -> Self {
        Self(format!("The repository was not synced: {error}."))
    }
}

/// How far a sync is.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    Working(&'static str),
    Done(Result<Synced, Refusal>),
}

/// Syncs one folder.
#[derive(Clone)]
pub(crate) struct Syncing {
    vault: Vault,
    upstream: Upstream,
    running: Arc<Mutex<Weak<Running>>>,
}

/// A sync at work, as long as some caller waits for it.
pub(crate) struct Running {
    stage: watch::Receiver<Stage>,
    task: AbortHandle,
}

impl Running {
    pub(crate) fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Syncing {
    pub(crate) fn new(vault: Vault, upstream: Upstream) -> Self {
        Self {
            vault,
            upstream,
            running: Arc::default(),
        }
    }

    /// The sync that runs, or a new one.
    pub(crate) fn join(&self) -> Arc<Running> {
        let mut running = self.running.lock();
        let is_open = |it: &Arc<Running>| matches!(*it.stage.borrow(), Stage::Working(_));
        if let Some(open) = running.upgrade().filter(is_open) {
            return open;
        }
        let (stage, receiver) = watch::channel(Stage::Working("looking at the repository"));
        let work = Work {
            vault: self.vault.clone(),
            git: Git::new(self.vault.path()),
            upstream: self.upstream.clone(),
            stage,
        };
        let task = tokio::spawn(work.run()).abort_handle();
        let begun = Arc::new(Running {
            stage: receiver,
            task,
        });
        *running = Arc::downgrade(&begun);
        begun
    }
}

struct Work {
    vault: Vault,
    git: Git,
    upstream: Upstream,
    stage: watch::Sender<Stage>,
}

impl Work {
    async fn run(self) {
        let outcome = self.sync().await;
        self.stage.send_replace(Stage::Done(outcome));
    }

    fn tell(&self, what: &'static str) {
        self.stage.send_replace(Stage::Working(what));
    }

    async fn local(&self, words: &[&str]) -> Result<String, GitError> {
        self.git.run(words, LOCAL_LIMIT).await
    }

    async fn sync(&self) -> Result<Synced, Refusal> {
        let begun = Instant::now();
        let branch = self.branch().await?;
        let from = self.commit("HEAD").await?;
        self.tell("fetching");
        self.fetch(&branch).await?;
        let tracking = format!("refs/remotes/{}/{branch}", self.upstream.remote);
        let upstream = self.commit(&tracking).await?;
        self.tell("comparing");
        let to = match self.distance(&from, &upstream).await? {
            (_, 0) => from.clone(),
            (0, _) => {
                self.check_files(&from, &upstream).await?;
                self.tell("updating files");
                self.forward(&upstream).await?;
                upstream
            }
            (here, there) => {
                return Err(Refusal(format!(
                    "The repository was not synced, and nothing was changed: the folder and {}/{branch} \
                     have diverged. The folder has {}, {} has {} of its own. Merge or rebase by hand, \
                     then sync again.",
                    self.upstream.remote,
                    commits(here),
                    self.upstream.remote,
                    commits(there),
                )));
            }
        };
        self.tell("updating the index");
        let (added, changed, removed) = self.difference(&from, &to).await?;
        let paths = [&added, &changed, &removed].into_iter().flatten();
        self.vault.touch(paths.cloned());
        self.vault.scanned().await;
        let is_settled = self.vault.settled(INDEX_LIMIT).await;
        let pending = self.vault.freshness().pending;
        Ok(Synced {
            notes: self.vault.len(),
            added: added.len(),
            changed: changed.len(),
            removed: removed.len(),
            from,
            to,
            took: begun.elapsed(),
            pending: if is_settled { 0 } else { pending },
        })
    }

    /// The branch to sync, which must be the one that is checked out.
    async fn branch(&self) -> Result<String, Refusal> {
        let place = self.vault.path().display().to_string();
        match self.local(&["rev-parse", "--is-inside-work-tree"]).await {
            Ok(inside) if inside.trim() == "true" => {}
            Ok(_) | Err(GitError::Failed(_)) => {
                return Err(Refusal(format!(
                    "The repository was not synced: {place} is in no git repository. Make one with \
                     `git init`, or clone one."
                )));
            }
            Err(error) => return Err(error.into()),
        }
        let remote = &self.upstream.remote;
        let url = format!("remote.{remote}.url");
        if self.local(&["config", "--get", &url]).await.is_err() {
            return Err(Refusal(format!(
                "The repository was not synced: it has no remote \"{remote}\". Add one with `git \
                 remote add {remote} URL`."
            )));
        }
        let head = self
            .local(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .await;
        let Ok(head) = head else {
            return Err(Refusal(
                "The repository was not synced: no branch is checked out. Check one out with `git \
                 switch BRANCH`."
                    .to_owned(),
            ));
        };
        let head = head.trim().to_owned();
        match &self.upstream.branch {
            Some(branch) if *branch != head => Err(Refusal(format!(
                "The repository was not synced: the branch {head} is checked out, and {branch} is \
                 to be synced. Check it out with `git switch {branch}`."
            ))),
            _ => Ok(head),
        }
    }

    async fn commit(&self, name: &str) -> Result<String, Refusal> {
        let name = format!("{name}^{{commit}}");
        let found = self
            .local(&["rev-parse", "--verify", "--quiet", &name])
            .await;
        match found {
            Ok(commit) => Ok(commit.trim().to_owned()),
            Err(GitError::Failed(_)) => Err(Refusal(
                "The repository was not synced: it has no commit yet. Commit or pull once by hand."
                    .to_owned(),
            )),
            Err(error) => Err(error.into()),
        }
    }

    async fn fetch(&self, branch: &str) -> Result<(), Refusal> {
        let remote = self.upstream.remote.as_str();
        let refspec = format!("+refs/heads/{branch}:refs/remotes/{remote}/{branch}");
        let words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--",
            remote,
            &refspec,
        ];
        match self.git.run(&words, FETCH_LIMIT).await {
            Ok(_) => Ok(()),
            Err(GitError::Failed(said)) => Err(fetch_refusal(remote, branch, &said)),
            Err(error) => Err(error.into()),
        }
    }

    /// How many commits only the folder has, and how many only the remote.
    async fn distance(&self, from: &str, upstream: &str) -> Result<(usize, usize), Refusal> {
        let range = format!("{from}...{upstream}");
        let counted = self
            .local(&["rev-list", "--left-right", "--count", &range, "--"])
            .await?;
        let mut numbers = counted.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(here)), Some(Ok(there))) => Ok((here, there)),
            _ => Err(Refusal(format!(
                "The repository was not synced: git counted \"{}\".",
                counted.trim()
            ))),
        }
    }

    /// Refuses if a file with changes of its own would be replaced.
    async fn check_files(&self, from: &str, to: &str) -> Result<(), Refusal> {
        let coming = self
            .local(&["diff", "--name-only", "--no-renames", "-z", from, to, "--"])
            .await?;
        let coming: BTreeSet<&str> = coming.split('\0').filter(|it| !it.is_empty()).collect();
        let mut state = vec![
            "status",
            "--porcelain=v1",
            "--untracked-files=all",
            "--no-renames",
            "-z",
            "--",
        ];
        let length: usize = coming.iter().map(|it| it.len()).sum();
        if coming.len() <= MOST_ASKED && length <= LONGEST_ASKED {
            state.extend(&coming);
        }
        let top = self.top().await?;
        let own = top.run(&state, LOCAL_LIMIT).await?;
        // Each entry is two letters, a space and the path from the top of the repository.
        let own = own.split('\0').filter_map(|it| it.get(3..));
        let both: Vec<&str> = own.filter(|it| coming.contains(it)).collect();
        if both.is_empty() {
            return Ok(());
        }
        let mut named: Vec<&str> = both.iter().take(MOST_NAMED).copied().collect();
        let rest = format!("and {} more", both.len().saturating_sub(MOST_NAMED));
        if both.len() > MOST_NAMED {
            named.push(&rest);
        }
        Err(Refusal(format!(
            "The repository was not synced, and nothing was changed: these files have changes of \
             their own that the sync would touch: {}. Commit or stash them, then sync again.",
            named.join(", ")
        )))
    }

    /// Git at the top of the repository, where the paths it prints begin.
    async fn top(&self) -> Result<Git, Refusal> {
        let up = self.local(&["rev-parse", "--show-cdup"]).await?;
        Ok(Git::new(&self.vault.path().join(up.trim())))
    }

    /// Moves the branch and the files. Git goes on when the caller does not: half of a change would
    /// be worse.
    async fn forward(&self, to: &str) -> Result<(), Refusal> {
        let (git, to) = (self.git.clone(), to.to_owned());
        let merge = async move {
            git.run(
                &["merge", "--ff-only", "--quiet", "--no-stat", &to],
                LOCAL_LIMIT,
            )
            .await
        };
        match tokio::spawn(merge).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(GitError::Failed(said))) if is_locked(&said) => Err(locked()),
            Ok(Err(error)) => Err(error.into()),
            Err(error) => Err(Refusal(format!("The repository was not synced: {error}."))),
        }
    }

    /// The notes that came, changed and went, as paths in the folder.
    async fn difference(&self, from: &str, to: &str) -> Result<Difference, Refusal> {
        if from == to {
            return Ok(Difference::default());
        }
        // The folder may be beneath the top of the repository.
        let words = [
            "diff",
            "--relative",
            "--name-status",
            "--no-renames",
            "-z",
            from,
            to,
            "--",
            ".",
        ];
        let told = self.local(&words).await?;
        let mut difference = Difference::default();
        let mut parts = told.split('\0');
        while let (Some(kind), Some(path)) = (parts.next(), parts.next()) {
            let is_hidden = path.split('/').any(|it| it.starts_with('.'));
            if is_hidden || !is_note_name(path.rsplit('/').next().unwrap_or(path)) {
                continue;
            }
            let list = match kind {
                "A" => &mut difference.0,
                "D" => &mut difference.2,
                _ => &mut difference.1,
            };
            list.push(path.to_owned());
        }
        Ok(difference)
    }
}

type Difference = (Vec<String>, Vec<String>, Vec<String>);

fn commits(count: usize) -> String {
    match count {
        1 => "1 commit".to_owned(),
        _ => format!("{count} commits"),
    }
}

fn is_locked(said: &str) -> bool {
    said.contains(".lock") && said.contains("File exists")
}

fn locked() -> Refusal {
    Refusal(
        "The repository was not synced: another git is at work in it, or one was killed and left a \
         lock. Sync again in a moment; if nothing runs, remove the file `.git/index.lock`."
            .to_owned(),
    )
}

/// Why fetching failed, from what git says in English.
fn fetch_refusal(remote: &str, branch: &str, said: &str) -> Refusal {
    let has = |words: &[&str]| words.iter().any(|it| said.contains(it));
    let (why, remedy) = if is_locked(said) {
        return locked();
    } else if has(&[
        "could not read Username",
        "Authentication failed",
        "Permission denied",
        "terminal prompts disabled",
    ]) {
        (
            "wants credentials",
            "Give git a credential helper or an SSH key, then sync again.",
        )
    } else if has(&["couldn't find remote ref"]) {
        ("has no such branch", "Name another one with --branch.")
    } else if has(&[
        "Could not resolve host",
        "Failed to connect",
        "Connection refused",
        "Could not read from remote",
        "unable to access",
        "does not appear to be a git repository",
        "timed out",
    ]) {
        (
            "cannot be reached",
            "Check the network and the remote's address.",
        )
    } else {
        ("cannot be fetched from", "See what git says.")
    };
    let said = said
        .lines()
        .find(|it| it.starts_with("fatal") || it.starts_with("error"));
    let said = said.unwrap_or_default();
    Refusal(format!(
        "The repository was not synced: {remote}/{branch} {why}. {remedy} ({})",
        crate::identity::one_line(said)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s16_names_that_are_options_are_no_names() {
        let plain = |remote: &str, branch: Option<&str>| {
            let branch = branch.map(str::to_owned);
            let remote = remote.to_owned();
            Upstream { remote, branch }.is_plain()
        };
        assert!(plain("origin", None) && plain("a/b", Some("feature/x-1.2")));
        for bad in [
            "",
            "-u",
            "--upload-pack=x",
            "a b",
            "a:b",
            "..",
            "a..b",
            "/x",
            "x/",
            "a\nb",
            "+x~",
        ] {
            assert!(!plain(bad, None), "{bad}");
            assert!(!plain("origin", Some(bad)), "{bad}");
        }
    }
}
