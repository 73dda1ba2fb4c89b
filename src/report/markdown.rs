//! The report as Markdown, for an issue tracker.

use super::text::status_words;
use crate::model::{BufferKind, Finding, Fits, Fix, OpByOp, Report, Severity};
use crate::plain::{plain, short, usual_shape};
use crate::units::{Bytes, Evidence};
use std::fmt::Write;

/// Rows of each table: what people read in an issue.
const MOST: usize = 10;

/// The report as Markdown. Names from the capture are escaped: they are text, never markup.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "## {}: {}\n\n{} *({})*\n",
        status_words(report.verdict.status),
        report.module.as_deref().map_or_else(|| text(&report.source.file), code),
        text(&report.verdict.sentence),
        class(report.verdict.evidence),
    );
    findings(&mut out, report);
    plan(&mut out, report);
    run(&mut out, report);
    if !report.warnings.is_empty() {
        let _ = writeln!(out, "### Warnings\n");
        for w in &report.warnings {
            let _ = writeln!(out, "* {}", text(&w.message));
        }
        out.push('\n');
    }
    if !report.limits.is_empty() {
        let _ = writeln!(out, "<details><summary>What this cannot tell</summary>\n");
        for l in &report.limits {
            let _ = writeln!(out, "* {}", text(&l.sentence));
        }
        let _ = writeln!(out, "\n</details>\n");
    }
    let _ = writeln!(
        out,
        "*{} {}, {} ({}). Every number is measured (an event said it), read (XLA's plan said it) or inferred.*",
        report.tool.name,
        report.tool.version,
        code(&report.source.file),
        report.source.size_bytes
    );
    out
}

fn findings(out: &mut String, report: &Report) {
    let mut told = Vec::new();
    for f in &report.findings {
        let _ = writeln!(out, "### {} {}\n", severity(f.severity), text(&f.title));
        let _ = writeln!(out, "{} *({})*\n", text(&f.sentence), class(f.evidence));
        if !f.cause.is_empty() {
            let _ = writeln!(out, "{}\n", text(&f.cause));
        }
        fixes(out, f, &mut told);
    }
    if let Some(check) = report.findings.iter().flat_map(|f| &f.fixes).find_map(|fix| fix.check.as_deref()) {
        let _ = writeln!(out, "What a fix really needs, before anything runs: {}\n", code(check));
    }
}

/// Less of other arrays is rounding.
const WORTH_A_WORD: Bytes = Bytes(16 << 20);

/// The fixes of a finding; of those `told` already, no code again.
fn fixes<'a>(out: &mut String, f: &'a Finding, told: &mut Vec<&'a Fix>) {
    if f.fixes.is_empty() {
        return;
    }
    out.push_str("| fix | cost | need after | fits |\n|---|---|---|---|\n");
    for fix in &f.fixes {
        let span = |least: Option<Bytes>, most: Option<Bytes>| match (least?, most?) {
            (a, b) if a == b => Some(a.to_string()),
            (a, b) => Some(format!("{a} to {b}")),
        };
        let need = span(fix.need_after_least_bytes, fix.need_after_most_bytes).unwrap_or_default();
        let others = span(fix.others_after_least_bytes, fix.others_after_most_bytes);
        let others = others.filter(|_| fix.others_after_most_bytes > Some(WORTH_A_WORD));
        let others = others.map_or_else(String::new, |others| format!(" beside {others} of other arrays"));
        let fits = match fix.fits_after {
            Some(Fits::Yes) => "yes",
            Some(Fits::No) => "no",
            Some(Fits::Maybe) => "maybe",
            None => "",
        };
        let mut cells =
            [&fix.text, &fix.cost, &format!("{need}{others}. {}", fix.how)].map(|cell| text(cell));
        // Only what there is.
        cells[2] = cells[2].trim_matches(['.', ' ']).to_owned();
        let _ = writeln!(out, "| {} | {fits} |", cells.join(" | "));
    }
    out.push('\n');
    for fix in &f.fixes {
        if told.contains(&fix) {
            continue;
        }
        told.push(fix);
        if let Some(code) = &fix.code {
            let lines: Vec<_> = code.lines().map(|line| plain(line).replace("```", "` ` `")).collect();
            let _ = writeln!(out, "```{}\n{}\n```\n", language(code), lines.join("\n"));
        }
    }
}

/// What a fix's code is written in: variables of the environment are set in a shell.
fn language(code: &str) -> &'static str {
    let sets = |line: &str| {
        let name = line.split('=').next().unwrap_or_default();
        line.contains('=') && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    if code.lines().all(sets) { "sh" } else { "python" }
}

fn plan(out: &mut String, report: &Report) {
    let Some(module) = report.modules.iter().find(|m| Some(&m.name) == report.module.as_ref()) else {
        return;
    };
    let Some(space) = module.spaces.iter().find(|s| s.space == 0) else { return };
    let _ = writeln!(out, "### Plan of {} *(read)*\n", code(&module.name));
    out.push_str(
        "| parameters | of them donated | outputs | temp | constants | need |\n|---|---|---|---|---|---|\n",
    );
    let cells = [
        space.parameters_bytes,
        space.donated_bytes,
        space.outputs_bytes,
        space.temp_bytes,
        space.constants_bytes,
        space.need_bytes,
    ];
    let _ = writeln!(out, "|{}\n", cells.iter().map(|b| format!(" {b} |")).collect::<String>());
    let Some(peak) = report.plan.as_ref().and_then(|p| p.peak.as_ref()) else { return };
    let shares: Vec<String> =
        peak.roles.iter().map(|r| format!("{} {:.0} %", r.role.key(), r.share * 100.0)).collect();
    let _ = writeln!(out, "Heap peak {}: {}.\n", peak.bytes, shares.join(", "));
    out.push_str("| bytes | shape | role | instruction | where |\n|---|---|---|---|---|\n");
    for b in peak.buffers.iter().filter(|b| b.kind == BufferKind::Temp).take(MOST) {
        let place = b.source.as_ref().map_or_else(String::new, |s| {
            let file = s.file.rsplit('/').next().unwrap_or(&s.file);
            code(&s.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
        });
        let count = if b.count > 1 { format!(" ×{}", b.count) } else { String::new() };
        let _ = writeln!(
            out,
            "| {}{count} | {} | {} | {} | {place} |",
            b.bytes,
            code(&usual_shape(&b.shape)),
            b.role.key(),
            code(&b.instruction)
        );
    }
    out.push('\n');
}

fn run(out: &mut String, report: &Report) {
    if !report.allocators.is_empty() {
        out.push_str(
            "### Allocators *(measured)*\n\n| | capacity | start | peak | end |\n|---|---|---|---|---|\n",
        );
        for a in report.allocators.iter().take(MOST) {
            let cells = [a.capacity_bytes, a.in_use_start_bytes, a.peak_bytes, a.in_use_end_bytes];
            let _ = writeln!(
                out,
                "| {} |{}",
                code(&a.name),
                cells.iter().map(|b| format!(" {} |", unknown(*b))).collect::<String>()
            );
        }
        out.push('\n');
    }
    if let Some(ops) = &report.op_by_op {
        op_by_op(out, ops);
    } else if !report.live_at_last_start.is_empty() {
        out.push_str("### Live when the last execution started *(measured)*\n\n| bytes | arrays | origin |\n|---|---|---|\n");
        for g in report.live_at_last_start.iter().take(MOST) {
            let count = g.count.map_or_else(String::new, |n| n.to_string());
            let _ = writeln!(out, "| {} | {count} | {} |", g.bytes, text(&short(&g.origin, 120)));
        }
        out.push('\n');
    }
}

/// A program that runs op by op, as sums in place of its many arrays.
fn op_by_op(out: &mut String, ops: &OpByOp) {
    let _ = writeln!(
        out,
        "### Op by op: {} executions of {} modules, summed *(measured)*\n\n| by | modules | runs | asked for | alive | bytes alive |\n\
         |---|---|---|---|---|---|",
        ops.executions, ops.modules
    );
    for sum in ops.by_line.iter().take(MOST).chain(ops.by_function.iter().take(MOST)) {
        let name = sum.name.as_deref().map_or_else(|| "unknown".into(), |n| code(&short(n, 80)));
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} |",
            sum.modules, sum.executions, sum.requested_bytes, sum.live_arrays, sum.live_bytes
        );
    }
    out.push('\n');
}

fn unknown(bytes: Option<Bytes>) -> String {
    bytes.map_or_else(|| "unknown".into(), |b| b.to_string())
}

fn class(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Measured => "measured",
        Evidence::Read => "read",
        Evidence::Inferred => "inferred",
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error:",
        Severity::Warning => "Warning:",
        Severity::Note => "Note:",
        Severity::Ok => "OK:",
    }
}

/// Ends a word for what makes links of plain text after the Markdown was read: addresses, mentions, numbers of issues. An escape
/// does not keep these from it.
const APART: &str = "<!-- -->";

/// Text with Markdown's and HTML's own characters escaped, on one line; what stands between two backticks stays code.
fn text(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    let mut rest = s;
    while let Some((before, (inside, after))) =
        rest.split_once('`').and_then(|(before, behind)| Some((before, behind.split_once('`')?)))
    {
        out += &escaped(before);
        // Two backticks without anything between them begin a longer piece of code.
        if !inside.is_empty() {
            out += &format!("`{}`", plain(inside).replace('|', "¦"));
        }
        rest = after;
    }
    out + &escaped(rest)
}

/// Text without code, as [`text`].
fn escaped(s: &str) -> String {
    let s = plain(s);
    let mut out = String::with_capacity(s.len());
    for (i, c) in s.char_indices() {
        match c {
            // A list begins with these at the beginning alone.
            '-' | '+' if i == 0 => {
                out.push('\\');
                out.push(c);
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '#' => {
                out.push_str("\\#");
                out.push_str(APART);
            }
            '@' => {
                out.push('@');
                out.push_str(APART);
            }
            ':' if s[i..].starts_with("://") => {
                out.push(':');
                out.push_str(APART);
            }
            '.' if ends_in_www(&s[..i]) => {
                out.push_str(APART);
                out.push('.');
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
    out
}

fn ends_in_www(text: &str) -> bool {
    text.as_bytes().last_chunk::<3>().is_some_and(|end| end.eq_ignore_ascii_case(b"www"))
}

/// A name as code. A backtick inside cannot be escaped there and becomes an apostrophe, a bar would end a table's cell.
fn code(s: &str) -> String {
    match short(s, 120) {
        // Two backticks without anything between them begin a longer piece of code.
        s if s.is_empty() => "(no name)".into(),
        s => format!("`{}`", s.replace('`', "'").replace('|', "¦")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(text("<img src=x> *a* |b| $x$"), "&lt;img src=x&gt; \\*a\\* \\|b\\| \\$x\\$");
        assert_eq!(text("- ![a](b)\n# c"), "\\- !\\[a\\](b)\\\\u{a}\\#<!-- --> c");
        assert_eq!(text("pass `a*b|c` to `f`"), "pass `a*b¦c` to `f`");
        assert_eq!(text("`<b>` <b> ``<b>`` a ` <b>"), "`<b>` &lt;b&gt; &lt;b&gt; a \\` &lt;b&gt;");
        assert_eq!(code("a`b|c"), "`a'b¦c`");
        assert_eq!(code(""), "(no name)");
    }

    #[test]
    fn names_cannot_become_links() {
        let links = "https://a.example www.b.example @all c@d.example #1 e/f#2";
        let escaped = text(links);
        for link in ["://", "www.", "@a", "@d", "#1", "#2"] {
            assert!(links.contains(link) && !escaped.contains(link), "{link} in {escaped}");
        }
        // What is seen is the same.
        assert_eq!(escaped.replace(APART, "").replace('\\', ""), links);
    }
}
