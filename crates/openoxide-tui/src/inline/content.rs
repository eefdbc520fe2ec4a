//! Display of the content of the operation: the command, the change, the data.

use std::cmp::Reverse;

use openoxide_protocol::{ApprovalRequest, Finding, FindingKind, Obligation, PresentationKind};

use openoxide_protocol::escape::{DisplayGlyph, GlyphContent, LineMode, escaped_glyphs};

use crate::{
    inline::{prompt_options::COVERS_KEY, render_options::RenderOptions, text_page::TextPage},
    style::TextTone,
    text_wrap::{WrappedRow, display_width, wrap_rows},
};

/// The maximum number of rows. More are shown on request.
const MAX_ROWS: usize = 12;
/// The maximum number of findings or metadata items. More are shown on request.
pub(crate) const MAX_ITEMS: usize = 6;
/// The width of the gutter before the content: a margin and a mark.
const GUTTER_WIDTH: usize = 4;
/// The gutter of a row that continues the line above. No content can appear in its column.
const CONTINUATION_GUTTER: &str = "  \\ ";

/// Adds the content, the findings at their positions, and the directory.
pub(crate) fn show_content(
    request: &ApprovalRequest,
    options: &RenderOptions<'_>,
    page: &mut TextPage,
) {
    let summary = request.presentation.summary.as_ref().filter(|_| !options.show_all);
    let content = summary.unwrap_or(&request.presentation.content);
    let content = content.strip_suffix('\n').unwrap_or(content);
    let whole = options.show_all || summary.is_some();
    let placed = show_rows(request, content, whole, page);
    show_escapes(content, page);
    show_other_findings(request, &placed, whole, page);
    show_metadata(request, options.show_all, page);
    if request.presentation.kind == PresentationKind::Command || options.show_all {
        show_cwd(request, page);
    }
}

/// Returns whether the question omits rows of the content.
pub(crate) fn is_content_cut(request: &ApprovalRequest, options: &RenderOptions<'_>) -> bool {
    let content = &request.presentation.content;
    let content = content.strip_suffix('\n').unwrap_or(content);
    wrap_rows(content, TextPage::new(options).width - GUTTER_WIDTH).nth(MAX_ROWS).is_some()
}

/// Adds the rows and returns the findings that carets point at.
fn show_rows<'a>(
    request: &'a ApprovalRequest,
    content: &str,
    whole: bool,
    page: &mut TextPage,
) -> Vec<&'a Finding> {
    let kind = request.presentation.kind;
    let mut placed = Vec::new();
    let mut all = wrap_rows(content, page.width - GUTTER_WIDTH);
    let findings = annotated_findings(request, whole);
    for (at, row) in all.by_ref().take(if whole { usize::MAX } else { MAX_ROWS }).enumerate() {
        show_row(&row, row_gutter(kind, at, row.starts_line), kind, page);
        show_carets(&row, &findings, &mut placed, page);
    }
    show_omitted_count(all.count(), "lines", page);
    placed
}

/// Returns the findings that carets can point at. Only findings of commands have a position in the
/// text. Unless `whole` is set, only the most severe are returned, so that many minor findings do
/// not push the command off the screen.
fn annotated_findings(request: &ApprovalRequest, whole: bool) -> Vec<&Finding> {
    if request.presentation.kind != PresentationKind::Command {
        return Vec::new();
    }
    sort_by_severity(&request.decision.findings)
        .take(if whole { usize::MAX } else { MAX_ITEMS })
        .collect()
}

fn sort_by_severity(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    let mut findings: Vec<_> = findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.kind));
    findings.into_iter()
}

const fn row_gutter(kind: PresentationKind, at: usize, begins: bool) -> &'static str {
    match kind {
        _ if !begins => CONTINUATION_GUTTER,
        PresentationKind::Command if at == 0 => "  $ ",
        PresentationKind::Command => "  > ",
        _ => "  | ",
    }
}

fn show_row(row: &WrappedRow, gutter: &str, kind: PresentationKind, page: &mut TextPage) {
    let tone = line_tone(row, kind);
    let mut pieces = vec![(TextTone::Dim, gutter.to_owned())];
    for glyph in &row.glyphs {
        let tone = if is_escaped(glyph) { TextTone::Escaped } else { tone };
        match pieces.last_mut() {
            Some((last, piece)) if *last == tone => glyph.content.write_to(piece),
            _ => {
                let mut piece = String::new();
                glyph.content.write_to(&mut piece);
                pieces.push((tone, piece));
            }
        }
    }
    let pieces: Vec<_> = pieces.iter().map(|(tone, piece)| (*tone, piece.as_str())).collect();
    page.push_row(&pieces);
}

fn line_tone(row: &WrappedRow, kind: PresentationKind) -> TextTone {
    match (kind, row.glyphs.first().map(|glyph| &glyph.content)) {
        (PresentationKind::Diff, Some(GlyphContent::Char('+'))) if row.starts_line => {
            TextTone::Success
        }
        (PresentationKind::Diff, Some(GlyphContent::Char('-'))) if row.starts_line => {
            TextTone::Error
        }
        (PresentationKind::Command, _) => TextTone::Strong,
        _ => TextTone::Body,
    }
}

const fn is_escaped(glyph: &DisplayGlyph) -> bool {
    matches!(glyph.content, GlyphContent::Escaped(_))
}

/// Adds carets under the part of this row that each finding refers to. The description is added in
/// the row in which the finding ends.
fn show_carets<'a>(
    row: &WrappedRow,
    findings: &[&'a Finding],
    placed: &mut Vec<&'a Finding>,
    page: &mut TextPage,
) {
    for finding in findings {
        let Some((before, carets)) = caret_columns(row, finding) else { continue };
        if placed.contains(finding) {
            continue; // A duplicate finding.
        }
        let carets = format!("{}{}", " ".repeat(GUTTER_WIDTH + before), "^".repeat(carets));
        if finding.span.end as usize <= row.end {
            placed.push(finding);
            show_label(&carets, finding, page);
        } else {
            page.push_row(&[(TextTone::Warning, &carets)]);
        }
    }
}

/// Adds carets followed by the finding, or adds the finding below them if there is not enough room.
fn show_label(carets: &str, finding: &Finding, page: &mut TextPage) {
    let text = describe_finding(finding);
    if display_width(carets) + 1 + display_width(&text) <= page.width {
        page.push_marked_block(
            (TextTone::Warning, &format!("{carets} ")),
            "",
            TextTone::Warning,
            &text,
        );
    } else {
        page.push_row(&[(TextTone::Warning, carets)]);
        page.push_block(TextTone::Warning, ["    ", "    "], &text);
    }
}

/// Returns the number of columns of `row` before the finding and within it.
fn caret_columns(row: &WrappedRow, finding: &Finding) -> Option<(usize, usize)> {
    let (mut before, mut within) = (0, 0);
    for glyph in &row.glyphs {
        match glyph.start {
            at if at < finding.span.start as usize => before += glyph.content.width(),
            at if at < finding.span.end as usize => within += glyph.content.width(),
            _ => break,
        }
    }
    (within > 0).then_some((before, within))
}

fn describe_finding(finding: &Finding) -> String {
    let note = if finding.kind == FindingKind::Note { " (note)" } else { "" };
    format!("{}{note} {}", finding.code, finding.message)
}

/// Adds a note that some characters are shown escaped. Without this line, `\x1b` in the content is
/// four literal characters.
fn show_escapes(content: &str, page: &mut TextPage) {
    let text = match escaped_glyphs(content, LineMode::MultiLine).filter(is_escaped).count() {
        0 => return,
        1 => "1 hidden or control character is shown escaped".to_owned(),
        n => format!("{n} hidden or control characters are shown escaped"),
    };
    page.push_marked_block((TextTone::Warning, "  ! "), "    ", TextTone::Warning, &text);
}

/// Adds the findings that no caret points at.
fn show_other_findings(
    request: &ApprovalRequest,
    placed: &[&Finding],
    whole: bool,
    page: &mut TextPage,
) {
    let findings = sort_by_severity(&request.decision.findings);
    let elsewhere = findings.filter(|finding| !placed.contains(finding));
    show_limited(elsewhere, whole, "findings", page, |finding, page| {
        page.push_marked_block(
            (TextTone::Warning, "  ! "),
            "    ",
            TextTone::Warning,
            &describe_finding(finding),
        );
    });
}

/// Adds the metadata of the content. It comes from the agent and may be wrong.
fn show_metadata(request: &ApprovalRequest, whole: bool, page: &mut TextPage) {
    let agents = request.presentation.metadata.iter().filter(|(name, _)| *name != COVERS_KEY);
    show_limited(agents, whole, "entries", page, |(name, value), page| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        page.push_block(TextTone::Body, ["  ", "    "], &format!("the agent's {name}: {value}"));
    });
}

fn show_cwd(request: &ApprovalRequest, page: &mut TextPage) {
    let confined = request.decision.obligations.contains(&Obligation::Sandboxed);
    let how = if confined { ", confined by the sandbox" } else { "" };
    page.push_block(TextTone::Body, ["  ", "    "], &format!("in {}{how}", request.cwd));
}

/// Adds the first of `items` and the number of those left out, or all of them if `whole`.
pub(crate) fn show_limited<T>(
    mut items: impl Iterator<Item = T>,
    whole: bool,
    name: &str,
    page: &mut TextPage,
    mut show: impl FnMut(T, &mut TextPage),
) {
    let limit = if whole { usize::MAX } else { MAX_ITEMS };
    items.by_ref().take(limit).for_each(|item| show(item, page));
    show_omitted_count(items.count(), name, page);
}

/// Adds the number of omitted items.
fn show_omitted_count(count: usize, name: &str, page: &mut TextPage) {
    if count > 0 {
        page.push_block(
            TextTone::Warning,
            ["  ", "  "],
            &format!("… {count} more {name} (v to view)"),
        );
    }
}
