//! The root of the library stays small enough to be read.

/// The most items at the root.
const MOST_ITEMS: usize = 40;

#[test]
fn the_root_names_what_it_offers_and_that_is_not_much() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.lines().filter(|line| !line.starts_with("//"));
    let code = code.collect::<Vec<_>>().join(" ");
    let mut items = Vec::new();
    for statement in code.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap();
        assert!(!statement.contains('*'), "a glob hides what is offered");
        match statement.split_once('{') {
            Some((_, names)) => {
                let names = names.trim_end_matches('}').split(',').map(str::trim);
                items.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
            }
            None => items.push(statement.rsplit([' ', ':']).next().unwrap().to_owned()),
        }
    }
    assert!(items.iter().any(|item| item == "Server"), "{items:?}");
    assert!(items.len() <= MOST_ITEMS, "{}: {items:?}", items.len());
}
