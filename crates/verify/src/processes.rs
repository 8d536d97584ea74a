//! The processes below another, as the system lists them.

/// A process, told from a later one with the same id by its start.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) name: String,
    started: String,
}

/// What one line of the system's table says.
struct Row {
    process: Process,
    parent: u32,
    is_zombie: bool,
}

fn row(id: u32) -> Option<Row> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    let (head, tail) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    Some(Row {
        process: Process {
            id,
            name,
            started: (*fields.get(19)?).to_owned(),
        },
        parent: fields.get(1)?.parse().ok()?,
        is_zombie: matches!(fields.first(), Some(&("Z" | "X"))),
    })
}

/// The living processes below one, or nothing where the system does not tell.
pub(crate) fn descendants(root: u32) -> Option<Vec<Process>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let rows: Vec<Row> = ids.filter_map(row).collect();
    rows.iter().find(|row| row.process.id == root)?;
    let mut known = vec![root];
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(parent) = known.get(next).copied() {
        next += 1;
        for row in rows.iter().filter(|row| row.parent == parent) {
            known.push(row.process.id);
            if !row.is_zombie {
                found.push(row.process.clone());
            }
        }
    }
    Some(found)
}

impl Process {
    /// Whether it is still there.
    pub(crate) fn is_alive(&self) -> bool {
        row(self.id).is_some_and(|row| !row.is_zombie && row.process.started == self.started)
    }
}
