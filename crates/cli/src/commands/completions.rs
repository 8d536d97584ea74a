//! `attache completions`: scripts that make shells ask us what could come next.
//!
//! The scripts know nothing themselves; every answer comes from `complete`. Answers hold text of
//! servers, so no script may have the shell evaluate one: bash and zsh insert answers as they are,
//! which `complete` has quoted, and fish quotes them itself (S25).

use clap::ValueEnum;

use super::{Context, Known, Typed, Verb};
use crate::failure::Failure;

/// Print a script that makes a shell complete servers, tools and arguments
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  attache completions bash > ~/.local/share/bash-completion/completions/attache
  attache completions zsh > ~/.zfunc/_attache
  attache completions fish > ~/.config/fish/completions/attache.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Bash breaks words at `=` and `:`, so the words are taken from the line itself, and of each
/// answer only what follows the last such mark is given back.
const BASH: &str = r#"_attache() {
    local line=${COMP_LINE:0:COMP_POINT} current answer broken
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[-1]}
    broken=${current##*[=:]}
    COMPREPLY=()
    while IFS= read -r answer; do
        COMPREPLY+=("${answer:$((${#current} - ${#broken}))}")
        [[ $answer == *[=/] ]] && compopt -o nospace
    done < <(command "${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _attache attache
"#;

const ZSH: &str = r#"#compdef attache
_attache() {
    local -a answers whole partial
    answers=("${(@f)$(command ${words[1]} __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    answers=(${answers:#})
    partial=(${(M)answers:#*[=/]})
    whole=(${answers:#*[=/]})
    (( ${#partial} )) && compadd -Q -S '' -- $partial
    (( ${#whole} )) && compadd -Q -- $whole
    (( ${#answers} )) || _files
}
# A file in fpath is this function when it is first called, and must answer then.
if [[ ${funcstack[1]} == _attache ]]; then
    _attache "$@"
else
    compdef _attache attache
fi
"#;

const FISH: &str = r#"function __attache_complete
    set -l words (commandline -opc)
    set -l answers ($words[1] __complete --plain -- $words[2..-1] (commandline -ct) 2>/dev/null)
    if set -q answers[1]
        printf '%s\n' $answers
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c attache -f -a '(__attache_complete)'
"#;

impl Verb for Completions {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        context.output.ready_made(match self.shell {
            Shell::Bash => BASH,
            Shell::Zsh => ZSH,
            Shell::Fish => FISH,
        })
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}
