//! One page that needs nothing else: no script, no font, no address. Everything that came from the
//! server is escaped.

use crate::check::{Outcome, Verdict};
use crate::report::{Report, escaped};

const STYLE: &str = "
:root { color-scheme: light dark; --good: #1a7f37; --bad: #cf222e; --warn: #9a6700; --faint: #6e7781; }
@media (prefers-color-scheme: dark) {
  :root { --good: #3fb950; --bad: #f85149; --warn: #d29922; --faint: #8b949e; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
.counts span { margin-right: 1.2rem; font-weight: 600; }
.fail { color: var(--bad); } .warn { color: var(--warn); } .pass { color: var(--good); }
.not-offered, .not-testable, .faint { color: var(--faint); }
details { border-bottom: 1px solid color-mix(in srgb, var(--faint) 30%, transparent); padding: .25rem 0; }
summary { cursor: pointer; display: grid; grid-template-columns: 7rem 1fr; gap: .6rem; }
pre { overflow-x: auto; background: color-mix(in srgb, var(--faint) 12%, transparent);
  padding: .6rem; border-radius: 6px; font-size: 13px; white-space: pre-wrap; word-break: break-all; }
";

/// The report as one page.
pub fn html(report: &Report) -> String {
    let counts = report.counts;
    let server = report.server.as_deref().unwrap_or("the server");
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{name}: attache verify</title><style>{STYLE}</style></head><body>\n\
         <h1>{name}</h1><p class=\"faint\"><code>{target}</code></p>\n",
        name = escaped(server),
        target = escaped(&report.target),
    );
    page.push_str(&format!(
        "<p class=\"counts\"><span class=\"fail\">{} failed</span><span class=\"warn\">{} warnings\
         </span><span class=\"pass\">{} passed</span><span class=\"faint\">{} not offered</span>\
         <span class=\"faint\">{} not testable</span></p>\n<p>{} checks of {} duties, {:.1} s</p>\n",
        counts.fail,
        counts.warn,
        counts.pass,
        counts.not_offered,
        counts.not_testable,
        report.checks,
        report.duties,
        f64::from(u32::try_from(report.took_ms).unwrap_or(u32::MAX)) / 1000.0,
    ));
    for era in &report.eras {
        let text = match (&era.revision, &era.why_not) {
            (Some(revision), _) => format!("{}: {revision}", era.era),
            (None, Some(why)) => format!("{}: not spoken ({why})", era.era),
            (None, None) => continue,
        };
        page.push_str(&format!("<p class=\"faint\">{}</p>\n", escaped(&text)));
    }
    let mut group = "";
    for outcome in sorted(report) {
        let name = heading(outcome);
        if name != group {
            page.push_str(&format!("<h2>{name}</h2>\n"));
            group = name;
        }
        entry(&mut page, outcome);
    }
    page.push_str("</body></html>\n");
    page
}

/// Broken ones first, then in the order of the checks.
fn sorted(report: &Report) -> Vec<&Outcome> {
    let mut outcomes: Vec<&Outcome> = report.outcomes.iter().collect();
    outcomes.sort_by_key(|outcome| match outcome.verdict {
        Verdict::Fail => 0,
        Verdict::Warn => 1,
        _ => 2,
    });
    outcomes
}

fn heading(outcome: &Outcome) -> &'static str {
    match outcome.verdict {
        Verdict::Fail => "Failures",
        Verdict::Warn => "Warnings",
        _ => outcome.group.name(),
    }
}

fn entry(page: &mut String, outcome: &Outcome) {
    let class = outcome.verdict.name().replace(' ', "-");
    let open = match outcome.verdict {
        Verdict::Fail => " open",
        _ => "",
    };
    let known = match outcome.known {
        true => " (known)",
        false => "",
    };
    page.push_str(&format!(
        "<details{open}><summary><b class=\"{class}\">{}{known}</b><span>{}<br>\
         <span class=\"faint\">{} · {}</span></span></summary>\n",
        outcome.verdict.name(),
        escaped(&outcome.question),
        escaped(&outcome.key()),
        escaped(&outcome.found),
    ));
    page.push_str(&format!(
        "<p class=\"faint\">{} ({})</p>\n",
        escaped(&outcome.duties.join(", ")),
        outcome.level.name()
    ));
    for (title, lines) in [("sent", &outcome.sent), ("came", &outcome.came)] {
        if !lines.is_empty() {
            let text = escaped(&lines.join("\n"));
            page.push_str(&format!(
                "<p class=\"faint\">{title}</p><pre>{text}</pre>\n"
            ));
        }
    }
    let reproduce = escaped(&outcome.reproduce);
    page.push_str(&format!(
        "<p class=\"faint\">reproduce</p><pre>{reproduce}</pre></details>\n"
    ));
}
