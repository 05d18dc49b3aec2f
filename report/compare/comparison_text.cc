#include <fmt/format.h>

#include <algorithm>

#include "core/shown_text.h"
#include "report/compare/compare.h"
#include "report/compare/present.h"
#include "report/text/table.h"

namespace reprise {
namespace {

// The first side and two others fit beside each other.
constexpr std::size_t kBeside = 2;

std::vector<std::vector<std::size_t>> SidesTogether(std::size_t sides, std::size_t beside) {
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t s = 1; s < sides; s += beside) {
    out.push_back({0});
    for (std::size_t k = s; k < std::min(sides, s + beside); ++k) {
      out.back().push_back(k);
    }
  }
  return out.empty() ? std::vector<std::vector<std::size_t>>{{0}} : out;
}

std::size_t LinesOf(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The first rows, which come largest first where they have an order. Whether any was left out.
bool ShortenTable(Table& table) {
  constexpr std::size_t kMaxRows = 6;
  const bool cut = table.Rows() > kMaxRows;
  table.KeepFirst(kMaxRows);
  return cut;
}

void AddMessages(const std::vector<std::string>& messages, const std::string& head,
                 const std::string& before, const Style& style, bool full, std::string& text) {
  constexpr std::size_t kMaxMessages = 5;
  const std::size_t shown = full ? messages.size() : std::min(messages.size(), kMaxMessages);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t indent = head.empty() ? 2 : head.size();
    text += before;
    text += Wrap(head + messages[i], kConsoleWidth, indent);
    text += before.empty() ? "" : style.reset;
  }
  if (shown < messages.size()) {
    text += fmt::format("{}{} more; -v shows them\n", head, messages.size() - shown);
  }
}

// Verdicts, warnings and tables of quantities.
std::string QuantitiesText(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                           const Style& style, bool full) {
  const std::string tight =
      sides.size() > kBeside && comparison.repeats_are_runs ? " ~: no difference shown." : "";
  std::string text;
  AddMessages(comparison.verdicts, "", style.bold, style, full, text);
  AddMessages(comparison.warnings, "warning: ", "", style, full, text);
  text += style.dim + Wrap(HowMeasured(comparison) + tight, kConsoleWidth, 0) + style.reset;
  std::size_t left_out = 0;
  for (const auto& positions : SidesTogether(sides.size(), kBeside)) {
    for (auto& [title, more, table] : PresentTables(sides, comparison, positions, Room::kLine)) {
      const bool cut = !full && ShortenTable(table);
      const std::string aligned = TitledTable(style, title, more, table);
      const bool fits = full || LinesOf(text) + LinesOf(aligned) < kComparisonLines;
      text += fits ? aligned : "";
      left_out += cut || !fits ? 1 : 0;
    }
  }
  if (left_out > 0) {
    text += fmt::format("-v shows {} more or longer table{}\n", left_out, left_out == 1 ? "" : "s");
  }
  return text;
}

std::string QuantitiesMarkdown(const std::vector<ComparedSide>& sides,
                               const Comparison& comparison) {
  std::string text =
      fmt::format("## Comparison of {}\n\n", comparison.recorded ? "recordings" : "runs");
  for (const std::string& verdict : comparison.verdicts) {
    text += "- **" + MarkdownText(verdict) + "**\n";
  }
  for (const std::string& warning : comparison.warnings) {
    text += "- warning: " + MarkdownText(warning) + "\n";
  }
  text += "\n" + MarkdownText(HowMeasured(comparison)) + "\n";
  for (const auto& positions : SidesTogether(sides.size(), sides.size())) {
    for (const auto& [title, more, table] :
         PresentTables(sides, comparison, positions, Room::kAny)) {
      text += TitledTable(MarkdownStyle(), title, more, table);
    }
  }
  return text;
}

}  // namespace

std::string ComparisonText(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                           bool colour, bool full) {
  const Style style = MakeStyle(colour);
  if (sides.size() == 1 && !comparison.ranks.empty()) {
    return RanksText(*MiddleRun(sides.front()).operations, comparison.ranks.front(), style, full);
  }
  if (!AreAligned(sides)) {
    return QuantitiesText(sides, comparison, style, full);
  }
  if (!comparison.repeats_are_runs) {
    return DifferencesText(sides, style, full);
  }
  return QuantitiesText(sides, comparison, style, full) +
         (full ? "\n" + DifferencesText(sides, style, full)
               : "-v also shows the operations of the middle run of each side\n");
}

std::string ComparisonMarkdown(const std::vector<ComparedSide>& sides,
                               const Comparison& comparison) {
  const Style style = MarkdownStyle();
  if (sides.size() == 1 && !comparison.ranks.empty()) {
    return "## Ranks\n\n" +
           RanksText(*MiddleRun(sides.front()).operations, comparison.ranks.front(), style, true);
  }
  if (!AreAligned(sides)) {
    return QuantitiesMarkdown(sides, comparison);
  }
  return (comparison.repeats_are_runs ? QuantitiesMarkdown(sides, comparison) + "\n" : "") +
         DifferencesText(sides, style, true);
}

}  // namespace reprise
