//! The complete question as text.

use openoxide_protocol::ApprovalRequest;

use crate::{
    inline::{
        content, decision_reasons, prompt_options::PromptOptions, render_options::RenderOptions,
        text_page::TextPage,
    },
    style::TextTone,
};

/// Returns the question as text: the operation, the reason for the question, and the keys that
/// answer.
///
/// The text contains no terminal control sequences except for colours, if `options` request them.
/// The number of omitted lines and items is shown.
#[must_use]
pub fn render_prompt(request: &ApprovalRequest, options: &RenderOptions<'_>) -> String {
    let offers = PromptOptions::from_request(request, options.batch);
    let mut page = TextPage::new(options);
    show_body(request, options, &mut page);
    page.push_blank_row();
    offers.show_keys(options.input, &mut page);
    page.text
}

/// Returns the question without the keys, for a request that is answered elsewhere.
#[must_use]
pub fn render_request(request: &ApprovalRequest, options: &RenderOptions<'_>) -> String {
    let mut page = TextPage::new(options);
    show_body(request, options, &mut page);
    page.text
}

/// Adds everything except the keys.
pub(crate) fn show_body(
    request: &ApprovalRequest,
    options: &RenderOptions<'_>,
    page: &mut TextPage,
) {
    let place = options
        .batch
        .map(|batch| format!(" ({} of {})", batch.index, batch.total))
        .unwrap_or_default();
    let title = format!("OpenOxide asks{place}: {} ({})", request.title, request.tool);
    page.push_block(TextTone::Strong, ["", "  "], &title);
    page.push_blank_row();
    content::show_content(request, options, page);
    page.push_blank_row();
    decision_reasons::show_reasons(request, options, page);
}

#[cfg(test)]
mod tests;
