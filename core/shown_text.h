// The one way to show text that others wrote: names, paths and manifests of captures, trace sets,
// runs and packages, on a console and in files that people or other programs read.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

// One line that shows what it is: control characters ("\n", "\t", "\x1b"), marks that reorder or
// hide text ("\u{202e}": bidirectional marks, zero-width characters, line separators, tags) and
// bytes that are not UTF-8 ("\xff") become escapes. Other text stays as it is, so that text without
// any of these is returned unchanged.
[[nodiscard]] std::string ShownText(std::string_view text);
// The same line by line: line ends stay. For text that we composed of lines.
[[nodiscard]] std::string ShownLines(std::string_view text);
// The same, and the sequences that MakeStyle gives (bold, dim, reset) stay, too.
[[nodiscard]] std::string ShownStyledLines(std::string_view text);

// ShownText as text of a Markdown page, also in a table's cell: markup is escaped.
[[nodiscard]] std::string MarkdownText(std::string_view text);

// ShownText as a field of CSV (RFC 4180): quoted where needed. A field that a spreadsheet would
// take for a formula (it begins with one of = + - @) gets a ' in front.
[[nodiscard]] std::string CsvField(std::string_view text);

}  // namespace reprise
