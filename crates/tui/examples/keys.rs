//! Prints the keys of the UI as docs/ui.md has them.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(attache_tui::keys::markdown().as_bytes())
}
