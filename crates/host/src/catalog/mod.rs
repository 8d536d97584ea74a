mod kinds;
pub use kinds::{ListKind, Listable};
