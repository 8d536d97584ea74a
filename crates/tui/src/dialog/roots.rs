//! Folders as a server is told them.

use std::path::Path;

use attache::protocol::{Json, Root};
use attache_view::Value;
use attache_view::form::Form;

/// A form for a list of folders.
pub(super) fn form(here: Option<&Path>) -> Form {
    let example = here.map(|here| Value::String(here.display().to_string()).to_string());
    let schema = format!(
        r#"{{"type":"array","title":"folders","description":"Folders that the server may work in.",
            "items":{{"type":"string","title":"folder","minLength":1,
            "description":"A folder on this machine, with its whole path.","examples":[{}]}}}}"#,
        example.unwrap_or_default()
    );
    Json::parse(&schema).map_or_else(|_| Form::any(), |schema| Form::new(&schema))
}

/// The folders of a filled-in form; an error tells what is wrong with one.
pub(super) fn of(value: Option<&Value>) -> Result<Vec<Root>, String> {
    let folders = value.and_then(Value::as_array).unwrap_or_default();
    let folders = folders.iter().filter_map(Value::as_str);
    folders
        .map(|folder| match Path::new(folder).is_absolute() {
            true => Ok(Root::new(address(folder))),
            false => Err(format!(
                "\"{}\" is not a whole path: it begins with /",
                attache_view::safe_text::one_line(folder)
            )),
        })
        .collect()
}

/// The `file` address of a path (C-ROOT-02).
fn address(path: &str) -> String {
    let mut address = String::from("file://");
    let forward = match std::path::MAIN_SEPARATOR {
        '\\' => format!("/{}", path.replace('\\', "/")),
        _ => path.to_owned(),
    };
    for byte in forward.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b':' => {
                address.push(char::from(byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn folders_become_addresses() {
        let value = Value::parse(r#"["/home/ada/my notes","/ü"]"#).unwrap();
        let roots = of(Some(&value)).unwrap();
        let addresses: Vec<&str> = roots.iter().map(|root| root.uri.as_str()).collect();
        assert_eq!(addresses, ["file:///home/ada/my%20notes", "file:///%C3%BC"]);
        assert_eq!(of(None), Ok(Vec::new()));
        let value = Value::parse(r#"["notes"]"#).unwrap();
        assert!(of(Some(&value)).unwrap_err().contains("whole path"));
    }
}
