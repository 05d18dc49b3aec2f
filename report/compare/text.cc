#include <fmt/format.h>

#include <algorithm>

#include "report/compare/compare.h"
#include "report/compare/present.h"
#include "report/table.h"

namespace reprise {
namespace {

// The first side and two others fit beside each other.
constexpr std::size_t kBeside = 2;

// What would be markup or end a cell is text.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      out += ' ';
      continue;
    }
    if (std::string_view("\\`*_{}[]<>#|!").find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

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

std::string Aligned(const PresentedTable& presented, const Style& style) {
  Table table(presented.header);
  for (const auto& row : presented.rows) {
    table.Add(row);
  }
  return Heading(style, presented.title, presented.more) + table.Text();
}

std::string MarkdownTable(const PresentedTable& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) {
      text += " " + Escaped(cell) + " |";
    }
    return text + "\n";
  };
  std::string text = fmt::format("\n### {}\n\n", Escaped(table.title));
  if (!table.more.empty()) {
    text += Escaped(table.more) + ".\n\n";
  }
  text += line(table.header) + "|";
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    text += c == 0 ? " --- |" : " ---: |";
  }
  text += "\n";
  for (const auto& row : table.rows) {
    text += line(row);
  }
  return text;
}

}  // namespace

std::string ComparisonText(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                           bool colour) {
  const Style style = MakeStyle(colour);
  std::string text;
  for (const std::string& verdict : comparison.verdicts) {
    text += style.bold + Wrap(verdict, kConsoleWidth, 2) + style.reset;
  }
  for (const std::string& warning : comparison.warnings) {
    text += Wrap("warning: " + warning, kConsoleWidth, 9);
  }
  const std::string tight = sides.size() > kBeside ? " ~: no difference shown." : "";
  text += style.dim + Wrap(HowMeasured(comparison) + tight, kConsoleWidth, 0) + style.reset;
  for (const auto& positions : SidesTogether(sides.size(), kBeside)) {
    for (const PresentedTable& table : PresentTables(sides, comparison, positions, Room::kLine)) {
      text += Aligned(table, style);
    }
  }
  return text;
}

std::string ComparisonMarkdown(const std::vector<ComparedSide>& sides,
                               const Comparison& comparison) {
  std::string text = "## Comparison of runs\n\n";
  for (const std::string& verdict : comparison.verdicts) {
    text += "- **" + Escaped(verdict) + "**\n";
  }
  for (const std::string& warning : comparison.warnings) {
    text += "- warning: " + Escaped(warning) + "\n";
  }
  text += "\n" + Escaped(HowMeasured(comparison)) + "\n";
  for (const auto& positions : SidesTogether(sides.size(), sides.size())) {
    for (const PresentedTable& table : PresentTables(sides, comparison, positions, Room::kAny)) {
      text += MarkdownTable(table);
    }
  }
  return text;
}

}  // namespace reprise
