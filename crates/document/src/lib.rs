//! A document of headings, paragraphs, tables and pictures, as one HTML file without anything from outside, and as
//! Markdown.
#![forbid(unsafe_code)]

use std::fmt::Write;

use picture::Picture;
use text::markup;

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Level 1 is the title.
    Heading(u8, String),
    /// Backquotes set what is typed.
    Paragraph(String),
    /// The first column is words, the others figures.
    Table {
        /// Names of the columns.
        header: Vec<String>,
        /// The rows, as many cells each.
        rows: Vec<Vec<String>>,
    },
    /// A picture, in HTML only: what it shows is in a table too. With words for those who do not see it.
    Picture {
        /// The picture that is shown.
        picture: Picture,
        /// The content of the picture, in words.
        words: String,
    },
    /// Text as it is.
    Listing(String),
}

/// A paragraph of this text.
pub fn paragraph(text: impl Into<String>) -> Block {
    Block::Paragraph(text.into())
}

/// A heading of this level.
pub fn heading(level: u8, text: impl Into<String>) -> Block {
    Block::Heading(level, text.into())
}

/// A table with these names above its columns.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> Block {
    Block::Table { header: header.iter().map(|&name| name.to_owned()).collect(), rows }
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#2b2f36;--shade:#6b7280;--line:#e3e6ea;--paper:#fff}\
@media(prefers-color-scheme:dark){:root{--ink:#e5e7eb;--shade:#9ca3af;--line:#374151;--paper:#111827}}\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1,h2,h3{line-height:1.2;margin:2rem 0 .5rem}table{border-collapse:collapse;margin:1rem 0;font-size:.9rem}\
.wide{overflow-x:auto}th,td{padding:.25rem .75rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\
th:first-child,td:first-child{text-align:left}th{color:var(--shade);font-weight:600}\
code,pre{font-family:ui-monospace,monospace;font-size:.9em}pre{overflow-x:auto;border:1px solid var(--line);padding:.75rem}\
figure{margin:1rem 0;overflow-x:auto}svg{max-width:100%;height:auto;background:#fff}";

/// One file, which needs nothing from elsewhere.
#[must_use]
pub fn to_html(title: &str, blocks: &[Block]) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n",
        markup(title)
    );
    for block in blocks {
        write_html(&mut html, block).expect("a String takes everything");
    }
    html + "</body>\n</html>\n"
}

fn write_html(html: &mut String, block: &Block) -> std::fmt::Result {
    match block {
        Block::Heading(level, text) => writeln!(html, "<h{level}>{}</h{level}>", with_code(text)),
        Block::Paragraph(text) => writeln!(html, "<p>{}</p>", with_code(text)),
        Block::Listing(text) => writeln!(html, "<pre>{}</pre>", markup(text)),
        Block::Picture { picture, words } => {
            let words = markup(words);
            writeln!(html, "<figure role=\"img\" aria-label=\"{words}\">\n{}</figure>", picture.to_svg())
        }
        Block::Table { header, rows } => {
            let cells = |tag: &str, row: &[String]| {
                row.iter().map(|cell| format!("<{tag}>{}</{tag}>", with_code(cell))).collect::<String>()
            };
            writeln!(html, "<div class=\"wide\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>", cells("th", header))?;
            rows.iter().try_for_each(|row| writeln!(html, "<tr>{}</tr>", cells("td", row)))?;
            writeln!(html, "</tbody></table></div>")
        }
    }
}

/// Escaped, and what stands in backquotes as code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(idx, part)| if idx % 2 == 1 { format!("<code>{}</code>", markup(part)) } else { markup(part) })
        .collect()
}

/// Returns the blocks as Markdown, without the pictures.
#[must_use]
pub fn to_markdown(blocks: &[Block]) -> String {
    let mut markdown = String::new();
    for block in blocks {
        let text = match block {
            Block::Heading(level, text) => format!("{} {text}\n\n", "#".repeat(usize::from(*level))),
            Block::Paragraph(text) => format!("{text}\n\n"),
            Block::Listing(text) => format!("```\n{}\n```\n\n", text.trim_end()),
            Block::Picture { .. } => String::new(),
            Block::Table { header, rows } => {
                let line = |row: &[String]| {
                    let cells: Vec<String> =
                        row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
                    format!("| {} |\n", cells.join(" | "))
                };
                let rule: String = (1..header.len()).map(|_| "---:|").collect();
                let rows: String = rows.iter().map(|row| line(row)).collect();
                format!("{}|---|{rule}\n{rows}\n", line(header))
            }
        };
        markdown.push_str(&text);
    }
    markdown.truncate(markdown.trim_end().len());
    markdown + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Vec<Block> {
        vec![
            heading(1, "A & B"),
            paragraph("Use `AR(16)`, p < 0.05."),
            table(&["model", "n"], vec![vec!["`a|b`".into(), "1".into()]]),
            Block::Listing("x = \"<y>\"\n".into()),
        ]
    }

    #[test]
    fn html_escapes_what_it_shows() {
        let html = to_html("A & B", &blocks());
        for part in [
            "<title>A &amp; B</title>",
            "<p>Use <code>AR(16)</code>, p &lt; 0.05.</p>",
            "<td><code>a|b</code></td><td>1</td>",
            "<pre>x = &quot;&lt;y&gt;&quot;\n</pre>",
        ] {
            assert!(html.contains(part), "{part}");
        }
    }

    #[test]
    fn markdown_has_the_same_words() {
        let expected = "# A & B\n\nUse `AR(16)`, p < 0.05.\n\n| model | n |\n|---|---:|\n| `a\\|b` | 1 |\n\n```\nx = \"<y>\"\n```\n";
        assert_eq!(to_markdown(&blocks()), expected);
    }
}
