// Text tables and units for people. Widths count bytes: cells are ASCII, names are cut to fit.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/shown_text.h"

namespace reprise {

// Bytes of a line, at most.
inline constexpr std::size_t kConsoleWidth = 100;

// ANSI sequences, or nothing where the output is no terminal. `markdown`: a page's text instead.
struct Style {
  std::string bold, dim, reset;
  bool markdown = false;
};
[[nodiscard]] Style MakeStyle(bool colour);
[[nodiscard]] Style MarkdownStyle();
// Of a section, after a blank line; `more` explains it.
[[nodiscard]] std::string Heading(const Style& style, const std::string& title,
                                  const std::string& more);

// The heads of columns; a column without one is left out, and so are its cells.
using Columns = std::vector<std::optional<std::string>>;
// The head of a column that is there where `condition` holds.
[[nodiscard]] inline std::optional<std::string> If(bool condition, const std::string& head) {
  return condition ? std::optional(head) : std::nullopt;
}

// First column to the left, the others to the right; two blanks between columns. Cells and notes
// are shown as core/shown_text.h has it.
class Table {
 public:
  explicit Table(const Columns& columns) : rows_(1) {
    for (const auto& head : columns) {
      left_out_.push_back(!head);
      if (head) {
        rows_.front().push_back(*head);
      }
    }
  }
  // A template, so that a list in braces is Columns.
  template <std::same_as<std::vector<std::string>> Heads>
  explicit Table(const Heads& heads) : Table(Columns(heads.begin(), heads.end())) {}
  // `note` goes below the row, where there is one.
  void Add(const std::vector<std::string>& cells, const std::string& note = {}) {
    auto& row = rows_.emplace_back();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c >= left_out_.size() || !left_out_[c]) {
        row.push_back(ShownText(cells[c]));
      }
    }
    notes_.resize(rows_.size());
    notes_.back() = ShownText(note);
  }
  // The first `left` columns are set to the left.
  [[nodiscard]] std::string Text(std::size_t left = 1) const;
  // The same for a page, without the notes of rows.
  [[nodiscard]] std::string Markdown() const;
  [[nodiscard]] std::size_t Rows() const { return rows_.size() - 1; }
  [[nodiscard]] bool Empty() const { return Rows() == 0; }
  void KeepFirst(std::size_t rows) { rows_.resize(std::min(rows_.size(), rows + 1)); }

 private:
  std::vector<bool> left_out_;  // by column as given
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> notes_ = {""};  // by row
};

[[nodiscard]] std::string TableText(const Style& style, const Table& table, std::size_t left = 1);
// Below its heading; empty without rows.
[[nodiscard]] std::string TitledTable(const Style& style, const std::string& title,
                                      const std::string& more, const Table& table,
                                      std::size_t left = 1);
// A sentence: an item of a list on a page, else lines with `indent` blanks from the second on.
[[nodiscard]] std::string Message(const Style& style, const std::string& text, std::size_t indent);

// The most rows that a table of ranks shows.
inline constexpr std::size_t kMaxRankRows = 32;
// The line below a table of so many ranks; empty where all are in it.
[[nodiscard]] std::string RanksLeftOut(std::size_t ranks);

// At most `width` bytes, the middle left out: "a-rather-lo..ng-name".
[[nodiscard]] std::string Fit(const std::string& text, std::size_t width);
// A device that stands for `devices` equal ones: "device-0 x 8".
[[nodiscard]] std::string DeviceText(const std::string& device, std::int64_t devices,
                                     std::size_t width);
// "812 ns", "4.57 us", "12.3 ms", "2.04 s"; "-" for nothing.
[[nodiscard]] std::string DurationText(std::optional<std::int64_t> ns);
// "+105 ms", "-2.00 us".
[[nodiscard]] std::string SignedDurationText(std::int64_t ns);
// "512 B", "1.05 MB": powers of 1000.
[[nodiscard]] std::string BytesText(std::int64_t bytes);
// "74.51": in GiB, 2^30 bytes. The GB of a device's memory in data sheets are these.
inline constexpr double kGibibyte = 1073741824;
[[nodiscard]] std::string GibibytesText(double bytes);
// "3.21 mJ", "48.0 J"; "-" for nothing.
[[nodiscard]] std::string JoulesText(std::optional<double> joules);
// Three significant digits, "-" for nothing.
[[nodiscard]] std::string NumberText(std::optional<double> value);
// "+3.1 %", "-" for nothing.
[[nodiscard]] std::string ErrorText(std::optional<double> fraction);
// Lines of at most `width`, those after the first begin with `indent` blanks.
[[nodiscard]] std::string Wrap(const std::string& text, std::size_t width, std::size_t indent);

}  // namespace reprise
