//! What the operation consists of: the command, the change, the data.

use std::cmp::Reverse;

use openoxide_protocol::{ApprovalRequest, Finding, FindingKind, Obligation, PresentationKind};

use super::{
    options::COVERS,
    render::{Page, RenderOptions},
};
use openoxide_protocol::escape::{Glyph, Lines, Shown, glyphs};

use crate::{
    style::Tone,
    wrap::{Row, columns, rows},
};

/// More rows than these are shown on demand.
const ROWS: usize = 12;
/// More findings or further data than these are shown on demand.
pub(crate) const ITEMS: usize = 6;
/// The columns before the content: a margin and a mark.
const GUTTER: usize = 4;
/// Marks a row that goes on with the line above. No content can stand in its column.
const GOES_ON: &str = "  \\ ";

/// Adds the content, the findings where they were made, and the directory.
pub(crate) fn show(request: &ApprovalRequest, options: &RenderOptions<'_>, page: &mut Page) {
    let content = &request.presentation.content;
    let content = content.strip_suffix('\n').unwrap_or(content);
    let placed = show_rows(request, content, options.whole, page);
    show_escapes(content, page);
    show_elsewhere(request, &placed, options.whole, page);
    show_metadata(request, options.whole, page);
    if request.presentation.kind == PresentationKind::Command || options.whole {
        show_cwd(request, page);
    }
}

/// Adds the rows and returns the findings that were pointed at.
fn show_rows<'a>(
    request: &'a ApprovalRequest,
    content: &str,
    whole: bool,
    page: &mut Page,
) -> Vec<&'a Finding> {
    let kind = request.presentation.kind;
    let mut placed = Vec::new();
    let mut all = rows(content, page.width - GUTTER);
    let findings = pointed_at(request, whole);
    for (at, row) in all.by_ref().take(if whole { usize::MAX } else { ROWS }).enumerate() {
        show_row(&row, gutter(kind, at, row.begins), kind, page);
        point(&row, &findings, &mut placed, page);
    }
    more(all.count(), "lines", page);
    placed
}

/// Returns the findings that carets may point at: those of commands, for of nothing else do they know the place; and
/// only the gravest, lest many small ones push the command out of sight.
fn pointed_at(request: &ApprovalRequest, whole: bool) -> Vec<&Finding> {
    if request.presentation.kind != PresentationKind::Command {
        return Vec::new();
    }
    gravest_first(&request.decision.findings).take(if whole { usize::MAX } else { ITEMS }).collect()
}

fn gravest_first(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    let mut findings: Vec<_> = findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.kind));
    findings.into_iter()
}

const fn gutter(kind: PresentationKind, at: usize, begins: bool) -> &'static str {
    match kind {
        _ if !begins => GOES_ON,
        PresentationKind::Command if at == 0 => "  $ ",
        PresentationKind::Command => "  > ",
        _ => "  | ",
    }
}

fn show_row(row: &Row, gutter: &str, kind: PresentationKind, page: &mut Page) {
    let tone = line_tone(row, kind);
    let mut pieces = vec![(Tone::Faint, gutter.to_owned())];
    for glyph in &row.glyphs {
        let tone = if is_escaped(glyph) { Tone::Escaped } else { tone };
        match pieces.last_mut() {
            Some((last, piece)) if *last == tone => glyph.shown.write(piece),
            _ => {
                let mut piece = String::new();
                glyph.shown.write(&mut piece);
                pieces.push((tone, piece));
            }
        }
    }
    let pieces: Vec<_> = pieces.iter().map(|(tone, piece)| (*tone, piece.as_str())).collect();
    page.row(&pieces);
}

fn line_tone(row: &Row, kind: PresentationKind) -> Tone {
    match (kind, row.glyphs.first().map(|glyph| &glyph.shown)) {
        (PresentationKind::Diff, Some(Shown::Char('+'))) if row.begins => Tone::Good,
        (PresentationKind::Diff, Some(Shown::Char('-'))) if row.begins => Tone::Bad,
        (PresentationKind::Command, _) => Tone::Strong,
        _ => Tone::Body,
    }
}

const fn is_escaped(glyph: &Glyph) -> bool {
    matches!(glyph.shown, Shown::Escaped(_))
}

/// Adds carets under what the findings mean in this row. The row in which a finding ends says what it is.
fn point<'a>(row: &Row, findings: &[&'a Finding], placed: &mut Vec<&'a Finding>, page: &mut Page) {
    for finding in findings {
        let Some((before, carets)) = caret_columns(row, finding) else { continue };
        if placed.contains(finding) {
            continue; // It was found twice.
        }
        let carets = format!("{}{}", " ".repeat(GUTTER + before), "^".repeat(carets));
        if finding.span.end as usize <= row.end {
            placed.push(finding);
            label(&carets, finding, page);
        } else {
            page.row(&[(Tone::Careful, &carets)]);
        }
    }
}

/// Adds carets with the finding behind them, or below them where there is no room.
fn label(carets: &str, finding: &Finding, page: &mut Page) {
    let text = describe(finding);
    if columns(carets) + 1 + columns(&text) <= page.width {
        page.marked((Tone::Careful, &format!("{carets} ")), "", Tone::Careful, &text);
    } else {
        page.row(&[(Tone::Careful, carets)]);
        page.block(Tone::Careful, ["    ", "    "], &text);
    }
}

/// Returns how many columns of `row` lie before the finding, and how many in it.
fn caret_columns(row: &Row, finding: &Finding) -> Option<(usize, usize)> {
    let (mut before, mut within) = (0, 0);
    for glyph in &row.glyphs {
        match glyph.at {
            at if at < finding.span.start as usize => before += glyph.shown.width(),
            at if at < finding.span.end as usize => within += glyph.shown.width(),
            _ => break,
        }
    }
    (within > 0).then_some((before, within))
}

fn describe(finding: &Finding) -> String {
    let note = if finding.kind == FindingKind::Note { " (note)" } else { "" };
    format!("{}{note} {}", finding.code, finding.message)
}

/// Says that some characters are not shown as they are. Without this line, `\x1b` in the content is four letters.
fn show_escapes(content: &str, page: &mut Page) {
    let text = match glyphs(content, Lines::Many).filter(is_escaped).count() {
        0 => return,
        1 => "1 hidden or control character is shown escaped".to_owned(),
        n => format!("{n} hidden or control characters are shown escaped"),
    };
    page.marked((Tone::Careful, "  ! "), "    ", Tone::Careful, &text);
}

/// Adds the findings that no caret points at.
fn show_elsewhere(request: &ApprovalRequest, placed: &[&Finding], whole: bool, page: &mut Page) {
    let findings = gravest_first(&request.decision.findings);
    let elsewhere = findings.filter(|finding| !placed.contains(finding));
    shorten(elsewhere, whole, "findings", page, |finding, page| {
        page.marked((Tone::Careful, "  ! "), "    ", Tone::Careful, &describe(finding));
    });
}

/// Adds what else came with the content. It is the agent that says so, and it may be wrong.
fn show_metadata(request: &ApprovalRequest, whole: bool, page: &mut Page) {
    let agents = request.presentation.metadata.iter().filter(|(name, _)| *name != COVERS);
    shorten(agents, whole, "entries", page, |(name, value), page| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        page.block(Tone::Body, ["  ", "    "], &format!("the agent's {name}: {value}"));
    });
}

fn show_cwd(request: &ApprovalRequest, page: &mut Page) {
    let confined = request.decision.obligations.contains(&Obligation::Confine);
    let how = if confined { ", confined by the sandbox" } else { "" };
    page.block(Tone::Body, ["  ", "    "], &format!("in {}{how}", request.cwd));
}

/// Adds the first of `items`, and says how many more there are; all of them if `whole`.
pub(crate) fn shorten<T>(
    mut items: impl Iterator<Item = T>,
    whole: bool,
    name: &str,
    page: &mut Page,
    mut show: impl FnMut(T, &mut Page),
) {
    let limit = if whole { usize::MAX } else { ITEMS };
    items.by_ref().take(limit).for_each(|item| show(item, page));
    more(items.count(), name, page);
}

/// Says how much was left out.
fn more(count: usize, name: &str, page: &mut Page) {
    if count > 0 {
        page.block(Tone::Careful, ["  ", "  "], &format!("… {count} more {name} (v to view)"));
    }
}
