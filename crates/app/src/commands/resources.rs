//! `attache resources`.

use attache::protocol::Json;
use serde::Serialize;

use super::listing::{self, RawResources, RawTemplates};
use crate::failure::Failure;
use crate::output::json::{self, ServerOutcome};
use crate::output::text::width;
use crate::output::{Format, Output, Text, human};
use crate::session::Session;

/// URIs longer than this break their column.
const WIDEST_URI: usize = 48;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    resources: Vec<Json>,
    resource_templates: Vec<Json>,
    servers: [ServerOutcome<'a>; 1],
}

pub(super) async fn run(session: &Session, output: &Output) -> Result<(), Failure> {
    let resources = listing::fetch::<RawResources>(session).await?;
    let templates = listing::fetch::<RawTemplates>(session).await?;
    resources.note_rejected::<RawResources>(&session.name, output);
    templates.note_rejected::<RawTemplates>(&session.name, output);
    if output.format == Format::Json {
        let rejected = resources.rejected.iter().chain(&templates.rejected);
        return output.document(&json::write(&Document {
            resources: resources.documents(&session.name),
            resource_templates: templates.documents(&session.name),
            servers: [listing::answered(&session.name, rejected)],
        }));
    }
    if resources.entries.is_empty() && templates.entries.is_empty() {
        return output.text(&listing::none(&session.name, "resources"));
    }
    let uris = resources.items().map(|resource| resource.uri.as_str());
    let patterns = templates
        .items()
        .map(|template| template.uri_template.as_str());
    let width = width(uris.chain(patterns), WIDEST_URI);
    let mut text = Text::new();
    for resource in resources.items() {
        let what = summary(
            resource.title.as_deref().unwrap_or(&resource.name),
            resource.description.as_deref(),
            resource.mime_type.as_deref(),
        );
        text.append(human::entry(&resource.uri, width, Some(&what), &[]));
    }
    for template in templates.items() {
        let what = summary(
            template.title.as_deref().unwrap_or(&template.name),
            template.description.as_deref(),
            template.mime_type.as_deref(),
        );
        text.append(human::entry(
            &template.uri_template,
            width,
            Some(&what),
            &[],
        ));
    }
    output.text(&text)
}

fn summary(name: &str, description: Option<&str>, mime_type: Option<&str>) -> String {
    let mut summary = name.to_owned();
    if let Some(mime_type) = mime_type {
        summary.push_str(&format!(" [{mime_type}]"));
    }
    if let Some(line) = description.and_then(|text| text.lines().next()) {
        summary.push_str(&format!(" – {line}"));
    }
    summary
}
