//! Every instance of the official JSON Schema test suite survives the form.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_protocol::Json;
use attache_view::Value;
use attache_view::form::Form;

mod common;

use common::retyped;

struct Case {
    name: String,
    schema: Json,
    instance: Value,
}

fn cases() -> Vec<Case> {
    let folder = attache_testkit::real_servers::installed("json-schema/tests/draft2020-12");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let groups = Value::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for group in groups.as_array().unwrap() {
            for test in group.get("tests").unwrap().as_array().unwrap() {
                let word = |part: &Value| part.get("description").unwrap().plain();
                cases.push(Case {
                    name: format!("{file}: {}: {}", word(group), word(test)),
                    schema: group.get("schema").unwrap().to_json(),
                    instance: test.get("data").unwrap().clone(),
                });
            }
        }
    }
    assert!(cases.len() > 1_200, "only {} cases", cases.len());
    cases
}

#[test]
fn every_instance_survives_value_form_value() {
    for case in cases() {
        let form = Form::new(&case.schema);
        let again = retyped(&form, &case.instance);
        assert_eq!(
            again.to_string(),
            case.instance.to_string(),
            "{}",
            case.name
        );
    }
}
